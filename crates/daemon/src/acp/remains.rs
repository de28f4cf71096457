//! What an adapter that has ended had to say: it may have ended while no daemon was there to hear it, even after it had
//! answered.

use super::hosting::heard;
use crate::daemon::Daemon;
use crate::refusal::Refusal;
use std::path::Path;
use std::sync::Arc;
use tenure_acp::conversation::Asked;
use tenure_acp::driver;
use tenure_acp::host::{Host, Output, Over, Reply};
use tenure_core::ids::RunId;
use tenure_core::session::SessionKey;
use tenure_core::talk::{Advance, Advanced, Line, OpenTalk};
use tenure_os::clock;
use tenure_output::Reader;
use tokio::sync::Mutex;
use tokio::task::block_in_place;

/// How much is read at a time.
const CHUNK: usize = 256 << 10;

/// The output of a run that has ended, and the record of its conversation.
struct Remains {
    daemon: Arc<Daemon>,
    key: SessionKey,
    run: RunId,
    reading: Mutex<(Reader, Vec<u8>)>,
}

impl Daemon {
    /// Hears what an adapter that has ended said and nobody has heard. Its conversation is over then.
    pub(super) async fn hear_out(self: &Arc<Self>, open: &OpenTalk) -> Result<(), Refusal> {
        let run = &open.talk.run;
        if let Some(row) = self.registry.run(run.clone()).await? {
            let reader = Reader::new(&Path::new(&row.directory).join("output"));
            let reading = Mutex::new((reader, vec![0; CHUNK]));
            let (daemon, key) = (Arc::clone(self), open.talk.session.clone());
            let remains = Remains { daemon, key, run: run.clone(), reading };
            let (_handle, driving) = driver::go_on(Arc::new(remains), open, self.history_of(open).await?);
            driving.await;
        }
        self.adapters.forget(&open.talk.session, run);
        self.registry.end_talk(run.clone(), clock::unix_ms()).await?;
        Ok(())
    }

    /// The same, unless somebody has done so.
    pub(super) async fn hear_out_of(self: &Arc<Self>, key: &SessionKey, run: &RunId) -> Result<(), Refusal> {
        let _gate = self.adapters.gates.turn(key.as_str()).await;
        match self.registry.open_talk(key.clone()).await?.filter(|open| open.talk.run == *run) {
            Some(open) => self.hear_out(&open).await,
            None => Ok(()),
        }
    }
}

impl Host for Remains {
    async fn output(&self, from: u64) -> Output {
        let (reader, buffer) = &mut *self.reading.lock().await;
        match block_in_place(|| reader.read(from, buffer)) {
            Ok(piece) => heard(&piece, buffer).unwrap_or(Output::Over),
            Err(error) => {
                tracing::warn!(run = %self.run, %error, "what an adapter said at last cannot be read");
                Output::Over
            }
        }
    }

    async fn input_taken(&self) -> Result<u64, Over> {
        Err(Over)
    }

    async fn give(&self, _: u64, _: String) -> Result<(), Over> {
        Err(Over)
    }

    async fn lines_from(&self, _: u64) -> Result<Vec<Line>, Over> {
        Err(Over)
    }

    async fn record(&self, step: Advance) -> Result<Advanced, Over> {
        self.daemon.record_step(&self.key, &self.run, step).await
    }

    /// Nobody waits for an answer.
    async fn answer(&self, _: Asked) -> Reply {
        std::future::pending().await
    }

    fn question(&self, _: &Asked) -> Option<RunId> {
        None
    }

    fn now_ms(&self) -> u64 {
        clock::unix_ms()
    }
}
