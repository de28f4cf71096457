//! A daemon's end of a connection to a keeper: frames, without anybody waiting for anybody.

use bytes::{Buf, BytesMut};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io;
use tenure_core::wire::{self, Ask, Holder, Role, Tell, refusal};
use tenure_keeper::rundir::RunDir;
use tenure_os::socket::Conn;
use tenure_os::stream::Stream;
use tokio::io::AsyncWriteExt;
use tokio::time::{Duration, timeout};

/// How long a keeper may take to answer. It does nothing that takes long, so this is for a machine that swaps.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// One connection to a keeper.
#[derive(Debug)]
pub(crate) struct Link {
    stream: Stream,
    incoming: BytesMut,
    /// The version of the wire that the keeper speaks.
    version: u32,
}

impl Link {
    pub(crate) fn new(conn: Conn) -> io::Result<Self> {
        Ok(Self { stream: Stream::new(conn)?, incoming: BytesMut::new(), version: wire::VERSION })
    }

    /// Connects to a run's keeper and says who we are; `holder` is given to ask for the run itself. A keeper of an
    /// older Tenure answers with its older wire version. A refusal is an error of kind `PermissionDenied`.
    pub(crate) async fn dial(dir: &RunDir, role: Role, holder: Option<Holder>) -> io::Result<Self> {
        let mut link = Self::new(dir.dial()?)?;
        let mut version = wire::VERSION;
        // The keeper asks the present holder first, which may take as long as a lease.
        let patience = PATIENCE
            + holder.as_ref().map_or(Duration::ZERO, |holder| Duration::from_millis(holder.lease_ttl_ms));
        loop {
            let hello = Ask::Hello { version, role, holder: holder.clone() };
            match link.ask_for(&hello, &[], patience).await? {
                Tell::Welcome { .. } => {
                    link.version = version;
                    return Ok(link);
                }
                Tell::Refused { why } if version > 1 && refusal::is_other_version(&why) => {
                    version -= 1;
                }
                Tell::Refused { why } => return Err(io::Error::new(io::ErrorKind::PermissionDenied, why)),
                other => return Err(unexpected(&other)),
            }
        }
    }

    /// Says something to the keeper in the words that it has; what it has none for is not said.
    pub(crate) async fn say(&mut self, ask: Ask) -> io::Result<()> {
        match ask.for_version(self.version) {
            Some(ask) => self.send(&ask, &[]).await,
            None => Ok(()),
        }
    }

    pub(crate) async fn send<T: Serialize>(&mut self, head: &T, body: &[u8]) -> io::Result<()> {
        self.stream.write_all(&wire::encode(head, body)).await
    }

    /// The next frame; `None` once the other side is gone. Nothing is lost if the wait is given up.
    pub(crate) async fn next<T: DeserializeOwned>(&mut self) -> io::Result<Option<(T, Vec<u8>)>> {
        loop {
            if let Some((head, body, taken)) = wire::decode(&self.incoming).map_err(io::Error::other)? {
                let body = body.to_vec();
                self.incoming.advance(taken);
                if self.incoming.is_empty() {
                    self.incoming = BytesMut::new(); // an idle connection holds no memory
                }
                return Ok(Some((head, body)));
            }
            if !self.stream.read_onto(&mut self.incoming).await? {
                return Ok(None);
            }
        }
    }

    /// Asks one thing and waits for the answer; hints that come in between are dropped.
    pub(crate) async fn ask(&mut self, ask: &Ask, body: &[u8]) -> io::Result<Tell> {
        self.ask_for(ask, body, PATIENCE).await
    }

    async fn ask_for(&mut self, ask: &Ask, body: &[u8], patience: Duration) -> io::Result<Tell> {
        if ask.since() > self.version {
            let why = "the run's keeper was started by an older Tenure, which cannot do this";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        let answer = async {
            self.send(ask, body).await?;
            loop {
                match self.next::<Tell>().await? {
                    Some((
                        Tell::Grown { .. } | Tell::Leaving { .. } | Tell::Noted | Tell::Started { .. },
                        _,
                    )) => {}
                    Some((tell, _)) => return Ok(tell),
                    None => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the keeper is gone")),
                }
            }
        };
        let late = || io::Error::new(io::ErrorKind::TimedOut, "the keeper does not answer");
        timeout(patience, answer).await.map_err(|_| late())?
    }
}

pub(crate) fn unexpected(tell: &Tell) -> io::Error {
    io::Error::other(format!("the keeper answered something else: {tell:?}"))
}
