//! The daemon's end of a connection to a keeper: frames over async I/O.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io;
use tenure_core::wire::{Connection, Holder, KeeperMessage, KeeperRequest, Role};
use tenure_keeper::rundir::RunDir;
use tenure_os::socket::Conn;
use tenure_os::stream::Stream;
use tokio::io::AsyncWriteExt;
use tokio::time::{Duration, timeout};

/// Time limit for a keeper's response. A keeper does nothing that takes long, so this is for a machine that swaps.
pub const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection to a keeper.
#[derive(Debug)]
pub struct Link {
    stream: Stream,
    connection: Connection,
}

impl Link {
    /// Wraps a connection.
    pub fn new(conn: Conn) -> io::Result<Self> {
        Ok(Self { stream: Stream::new(conn)?, connection: Connection::default() })
    }

    /// Connects to a run's keeper and says hello; `holder` requests the run itself. A keeper of an older Tenure
    /// answers with its older wire version. A refusal is an error of kind `PermissionDenied`.
    pub(crate) async fn connect(dir: &RunDir, role: Role, holder: Option<Holder>) -> io::Result<Self> {
        let mut link = Self::new(dir.connect()?)?;
        // The keeper asks the present holder first, which may take as long as a lease.
        let limit = RESPONSE_TIMEOUT
            + holder.as_ref().map_or(Duration::ZERO, |holder| Duration::from_millis(holder.lease_ttl_ms));
        loop {
            let hello = link.connection.hello(role, holder.clone());
            let answer = link.ask_for(&hello, &[], limit).await?;
            if link.connection.steps_down(&answer) {
                continue;
            }
            match answer {
                KeeperMessage::Welcome { .. } => return Ok(link),
                KeeperMessage::Refused { why } => {
                    return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
                }
                other => return Err(unexpected(&other)),
            }
        }
    }

    /// Sends a request that needs no response. It is translated for an older keeper, or dropped if that keeper has no
    /// word for it.
    pub async fn say(&mut self, ask: KeeperRequest) -> io::Result<()> {
        match ask.for_version(self.connection.version()) {
            Some(ask) => self.send(&ask, &[]).await,
            None => Ok(()),
        }
    }

    /// Sends a frame. If the call is cancelled, the next call sends the rest first.
    pub async fn send<T: Serialize>(&mut self, head: &T, body: &[u8]) -> io::Result<()> {
        self.connection.push(head, body);
        while !self.connection.unsent().is_empty() {
            match self.stream.write(self.connection.unsent()).await? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                count => self.connection.sent(count),
            }
        }
        Ok(())
    }

    /// Returns the next frame; `None` once the other side is gone. Cancelling the call loses nothing.
    pub async fn next<T: DeserializeOwned>(&mut self) -> io::Result<Option<(T, Vec<u8>)>> {
        loop {
            if let Some(frame) = self.connection.next_frame().map_err(io::Error::other)? {
                return Ok(Some(frame));
            }
            if !self.stream.read_onto(self.connection.incoming()).await? {
                return Ok(None);
            }
        }
    }

    /// Sends a request and waits for the response; reports that come in between are dropped.
    pub async fn ask(&mut self, ask: &KeeperRequest, body: &[u8]) -> io::Result<KeeperMessage> {
        self.ask_for(ask, body, RESPONSE_TIMEOUT).await
    }

    async fn ask_for(
        &mut self,
        ask: &KeeperRequest,
        body: &[u8],
        limit: Duration,
    ) -> io::Result<KeeperMessage> {
        if !self.connection.understands(ask) {
            let why = "the run's keeper was started by an older Tenure, which cannot do this";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        let answer = async {
            self.send(ask, body).await?;
            loop {
                match self.next::<KeeperMessage>().await? {
                    Some((
                        KeeperMessage::Grown { .. }
                        | KeeperMessage::Leaving { .. }
                        | KeeperMessage::Noted
                        | KeeperMessage::Started { .. },
                        _,
                    )) => {}
                    Some((message, _)) => return Ok(message),
                    None => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the keeper is gone")),
                }
            }
        };
        let late = || io::Error::new(io::ErrorKind::TimedOut, "the keeper does not answer");
        timeout(limit, answer).await.map_err(|_| late())?
    }
}

pub(crate) fn unexpected(message: &KeeperMessage) -> io::Error {
    io::Error::other(format!("the keeper sent an unexpected response:  {message:?}"))
}
