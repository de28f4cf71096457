//! Reads the unread output of an adapter that has ended: it may have answered and ended while no daemon was running.

use super::host::output_piece;
use crate::Agents;
use crate::acp::adapter_join;
use crate::acp::host;
use std::path::Path;
use std::sync::Arc;
use tenure_acp::conversation::AgentRequest;
use tenure_acp::driver;
use tenure_acp::host::{Host, Output, Over, Reply};
use tenure_core::ids::RunId;
use tenure_core::session::SessionKey;
use tenure_core::talk::{ConversationStep, Line, OpenConversation, RecordedStep};
use tenure_os::clock;
use tenure_output::Reader;
use tenure_supervisor::Refusal;
use tokio::sync::Mutex;
use tokio::task::block_in_place;

/// Bytes to read at a time.
const CHUNK: usize = 256 << 10;

/// Output and record of an adapter that has ended, for a driver.
struct EndedAdapter {
    agents: Arc<Agents>,
    key: SessionKey,
    run: RunId,
    reading: Mutex<(Reader, Vec<u8>)>,
}

/// Reads and records the unread output of an adapter that has ended, and ends its conversation.
pub(crate) async fn drain(agents: &Arc<Agents>, open: &OpenConversation) -> Result<(), Refusal> {
    let run = &open.talk.run;
    if let Some(row) = agents.supervisor.registry.run(run.clone()).await? {
        let reader = Reader::new(&Path::new(&row.directory).join("output"));
        let reading = Mutex::new((reader, vec![0; CHUNK]));
        let (agents, key) = (Arc::clone(agents), open.talk.session.clone());
        let host = EndedAdapter { agents: agents.clone(), key, run: run.clone(), reading };
        let (_handle, driving) =
            driver::resume(Arc::new(host), open, adapter_join::history_of(&agents, open).await?);
        driving.await;
    }
    agents.adapters.forget(&open.talk.session, run);
    agents.supervisor.registry.end_talk(run.clone(), clock::unix_ms()).await?;
    Ok(())
}

/// Does the same as [`drain`], if the run's conversation is still open.
pub(crate) async fn drain_run(agents: &Arc<Agents>, key: &SessionKey, run: &RunId) -> Result<(), Refusal> {
    let _gate = agents.adapters.gates.turn(key.as_str()).await;
    match agents.supervisor.registry.open_talk(key.clone()).await?.filter(|open| open.talk.run == *run) {
        Some(open) => drain(agents, &open).await,
        None => Ok(()),
    }
}

impl Host for EndedAdapter {
    async fn output(&self, from: u64) -> Output {
        let (reader, buffer) = &mut *self.reading.lock().await;
        match block_in_place(|| reader.read(from, buffer)) {
            Ok(piece) => output_piece(&piece, buffer).unwrap_or(Output::Over),
            Err(error) => {
                tracing::warn!(run = %self.run, %error, "last output of an ended adapter not readable");
                Output::Over
            }
        }
    }

    async fn input_taken(&self) -> Result<u64, Over> {
        Err(Over)
    }

    async fn write_line(&self, _: u64, _: String) -> Result<(), Over> {
        Err(Over)
    }

    async fn lines_from(&self, _: u64) -> Result<Vec<Line>, Over> {
        Err(Over)
    }

    async fn record(&self, step: ConversationStep) -> Result<RecordedStep, Over> {
        host::record_step(&self.agents, &self.key, &self.run, step).await
    }

    /// Never answers: the adapter that sent the request has ended.
    async fn answer(&self, _: AgentRequest) -> Reply {
        std::future::pending().await
    }

    fn question(&self, _: &AgentRequest) -> Option<RunId> {
        None
    }

    fn now_ms(&self) -> u64 {
        clock::unix_ms()
    }
}
