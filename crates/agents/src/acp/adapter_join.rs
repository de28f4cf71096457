//! Connects to a live adapter: continues its recorded conversation, and opens it if it is not open yet.

use super::adapter::Adapter;
use super::adapter_start::{permissions_of, root_of};
use super::host::AdapterHost;
use super::requests::Bounds;
use crate::Agents;
use crate::acp::adapter_start;
use crate::acp::adapter_stop;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tenure_acp::driver;
use tenure_acp::handle::Handle;
use tenure_acp::history::History;
use tenure_acp::open::{self, OpenError, OpenParams, OpenSession};
use tenure_acp::replay::Messages;
use tenure_core::ids::RunId;
use tenure_core::session::{AgentId, SessionRow};
use tenure_core::talk::OpenConversation;
use tenure_store::{Session, Side};
use tenure_supervisor::Refusal;
use tenure_supervisor::RunHandle;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

/// Time limit for opening a conversation.
const OPEN_LIMIT: Duration = Duration::from_mins(2);
/// Maximum number of recorded entries to load for a resumed conversation.
const LOADED_ENTRIES: usize = 500;

/// The reason why an adapter is unusable.
pub(crate) enum JoinError {
    /// The agent's session cannot be loaded: another adapter may create a new one.
    NotLoaded(String),
    /// Any other failure.
    Refused(Refusal),
}

impl<T: Into<Refusal>> From<T> for JoinError {
    fn from(refusal: T) -> Self {
        Self::Refused(refusal.into())
    }
}

/// Starts a driver for a live adapter, and opens its conversation if it is not open.
pub(crate) async fn join(
    agents: &Arc<Agents>,
    session: &Session,
    open: &OpenConversation,
    held: Arc<RunHandle>,
) -> Result<Arc<Adapter>, JoinError> {
    let row = &session.row;
    let description = adapter_start::description_of(agents, row)?;
    let root = root_of(row);
    let bounds = Bounds {
        permissions: permissions_of(row, &description),
        root: root.clone(),
        description: description.clone(),
    };
    let recorded = messages_of(agents, session).await?;
    let params = OpenParams {
        cwd: &root,
        resume: session.resume.as_deref(),
        recorded: &recorded,
        model: row.work.model.as_deref().or(description.session.model.as_deref()),
        mode: description.session.mode.as_deref(),
        login: description.session.auth.as_deref(),
        serves_files: description.serves_files,
    };
    let last_output = Arc::new(Mutex::new(Instant::now()));
    let host = AdapterHost::new(Arc::clone(agents), row.key.clone(), held, bounds, Arc::clone(&last_output));
    let (handle, over) = drive(agents, row, open, host).await?;
    let opened = timeout(OPEN_LIMIT, open::open(&handle, open, params)).await;
    let OpenSession { session: agent_session, notes } = match opened {
        Ok(Ok(opened)) => opened,
        Ok(Err(why)) => return Err(stop_unopened(agents, row, &open.talk.run, &why).await),
        Err(_) => {
            let why =
                OpenError::Refused(format!("it did not answer within {} seconds", OPEN_LIMIT.as_secs()));
            return Err(stop_unopened(agents, row, &open.talk.run, &why).await);
        }
    };
    if adapter_stop::abilities_of(agents, &row.key).await.loads_badly {
        agents.adapters.note_bad_load(row.agent.as_ref());
    }
    if session.resume.as_deref() != Some(&*agent_session.0) {
        agents.supervisor.registry.set_resume(row.key.clone(), Some(agent_session.0.to_string())).await?;
    }
    let adapter = Arc::new(Adapter {
        run: open.talk.run.clone(),
        handle,
        session: agent_session,
        over,
        last_output,
        idle_since: Mutex::new(Instant::now()),
        idle: description.idle,
        owes_an_answer: AtomicBool::new(false),
        notes: Mutex::new(notes),
    });
    agents.adapters.put(row.key.clone(), Arc::clone(&adapter));
    Ok(adapter)
}

/// Starts a driver that resumes a conversation. It stops when the adapter ends or the last handle is dropped.
async fn drive(
    agents: &Arc<Agents>,
    row: &SessionRow,
    open: &OpenConversation,
    host: AdapterHost,
) -> Result<(Handle, watch::Receiver<bool>), Refusal> {
    let history = history_of(agents, open).await?;
    let (handle, driving) = driver::resume(Arc::new(host), open, history);
    let (stopped, over) = watch::channel(false);
    let (agents, key, run) = (Arc::clone(agents), row.key.clone(), open.talk.run.clone());
    tokio::spawn(async move {
        driving.await;
        stopped.send_replace(true);
        adapter_stop::after_driver_stop(&agents, &key, &run).await;
    });
    Ok((handle, over))
}

/// Returns the last recorded messages of the session that the agent is to load.
async fn messages_of(agents: &Agents, session: &Session) -> Result<Messages, Refusal> {
    if session.resume.is_none() {
        return Ok(Messages::default());
    }
    let newest = Side::Before(u64::MAX);
    let page =
        agents.supervisor.registry.entries(session.row.key.clone(), newest, LOADED_ENTRIES, u64::MAX).await?;
    Ok(Messages::recorded(page.entries.iter().rev().map(|entry| (&*entry.kind, &*entry.body))))
}

/// Returns the entries of the running turn, which may still change.
pub(crate) async fn history_of(agents: &Agents, open: &OpenConversation) -> Result<History, Refusal> {
    let key = open.talk.session.clone();
    let newest =
        agents.supervisor.registry.entries(key, Side::Before(u64::MAX), LOADED_ENTRIES, u64::MAX).await?;
    let turn = open.questions.iter().find_map(|line| line.asks.as_ref()?.turn.as_ref());
    let of_turn = newest.entries.iter().rev().filter(|entry| turn.is_some() && entry.turn.as_ref() == turn);
    Ok(History::resumed(of_turn.map(|entry| (entry.number, entry.kind.as_str(), entry.body.as_str()))))
}

/// Explains why a conversation was not opened, and stops the adapter.
async fn stop_unopened(agents: &Arc<Agents>, row: &SessionRow, run: &RunId, why: &OpenError) -> JoinError {
    let name = row.agent.as_ref().map_or("the agent", AgentId::as_str);
    let message = match why {
        OpenError::Over(_) => adapter_stop::describe_end(agents, run, name).await.1,
        OpenError::Refused(_) | OpenError::NoModel(_) => format!("{name}: {why}"),
        OpenError::NotLoaded(why) => why.clone(),
    };
    if let Err(refusal) =
        adapter_stop::stop_adapter(agents, &row.key, run, "its conversation was not opened").await
    {
        tracing::warn!(%run, why = refusal.detail, "unusable adapter not stopped");
    }
    match why {
        OpenError::NotLoaded(_) => JoinError::NotLoaded(message),
        OpenError::NoModel(_) => Refusal::unknown_model(message).into(),
        OpenError::Over(_) | OpenError::Refused(_) => Refusal::wrong_state(message).into(),
    }
}
