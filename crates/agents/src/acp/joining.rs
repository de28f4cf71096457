//! Joining an adapter that is there: going on where the record is, and opening its conversation if it is not open.

use super::adapter::Adapter;
use super::adapter_start::{permissions_of, root_of};
use super::host::Hosting;
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
use tenure_acp::opening::{self, NotOpened, Opened, Wanted};
use tenure_acp::replay::Messages;
use tenure_core::ids::RunId;
use tenure_core::session::{AgentId, SessionRow};
use tenure_core::talk::OpenTalk;
use tenure_store::{Session, Side};
use tenure_supervisor::Refusal;
use tenure_supervisor::RunHandle;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

/// How long an adapter may take until its conversation is open.
const OPENING: Duration = Duration::from_mins(2);
/// How many entries a turn that is gone on with may have left open, at most.
const OPEN: usize = 500;

/// Why an adapter is of no use.
pub(crate) enum NotJoined {
    /// It does not load the session's conversation.
    NotLoaded(String),
    Refused(Refusal),
}

impl<T: Into<Refusal>> From<T> for NotJoined {
    fn from(refusal: T) -> Self {
        Self::Refused(refusal.into())
    }
}

/// Speaks with an adapter from now on: goes on where the record is, and opens the conversation if it is not.
pub(crate) async fn join(
    agents: &Arc<Agents>,
    session: &Session,
    open: &OpenTalk,
    held: Arc<RunHandle>,
) -> Result<Arc<Adapter>, NotJoined> {
    let row = &session.row;
    let description = adapter_start::description_of(agents, row)?;
    let root = root_of(row);
    let bounds = Bounds {
        permissions: permissions_of(row, &description),
        root: root.clone(),
        description: description.clone(),
    };
    let recorded = messages_of(agents, session).await?;
    let wanted = Wanted {
        cwd: &root,
        resume: session.resume.as_deref(),
        recorded: &recorded,
        model: row.work.model.as_deref().or(description.session.model.as_deref()),
        mode: description.session.mode.as_deref(),
        login: description.session.auth.as_deref(),
        serves_files: description.serves_files,
    };
    let spoke = Arc::new(Mutex::new(Instant::now()));
    let host = Hosting::new(Arc::clone(agents), row.key.clone(), held, bounds, Arc::clone(&spoke));
    let (handle, over) = drive(agents, row, open, host).await?;
    let opened = timeout(OPENING, opening::open(&handle, open, wanted)).await;
    let Opened { session: agent_session, notes } = match opened {
        Ok(Ok(opened)) => opened,
        Ok(Err(why)) => return Err(not_opened(agents, row, &open.talk.run, &why).await),
        Err(_) => {
            let why = NotOpened::Refused(format!("it did not answer within {} seconds", OPENING.as_secs()));
            return Err(not_opened(agents, row, &open.talk.run, &why).await);
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
        spoke,
        idle_since: Mutex::new(Instant::now()),
        idle: description.idle,
        owes_an_answer: AtomicBool::new(false),
        notes: Mutex::new(notes),
    });
    agents.adapters.put(row.key.clone(), Arc::clone(&adapter));
    Ok(adapter)
}

/// Has a driver go on with a conversation; it stops when the adapter ends, or nobody has its handle any more.
async fn drive(
    agents: &Arc<Agents>,
    row: &SessionRow,
    open: &OpenTalk,
    host: Hosting,
) -> Result<(Handle, watch::Receiver<bool>), Refusal> {
    let history = history_of(agents, open).await?;
    let (handle, driving) = driver::go_on(Arc::new(host), open, history);
    let (stopped, over) = watch::channel(false);
    let (agents, key, run) = (Arc::clone(agents), row.key.clone(), open.talk.run.clone());
    tokio::spawn(async move {
        driving.await;
        stopped.send_replace(true);
        adapter_stop::adapter_is_over(&agents, &key, &run).await;
    });
    Ok((handle, over))
}

/// The last messages of the conversation that a session's agent is to load.
async fn messages_of(agents: &Agents, session: &Session) -> Result<Messages, Refusal> {
    if session.resume.is_none() {
        return Ok(Messages::default());
    }
    let newest = Side::Before(u64::MAX);
    let page = agents.supervisor.registry.entries(session.row.key.clone(), newest, OPEN, u64::MAX).await?;
    Ok(Messages::recorded(page.entries.iter().rev().map(|entry| (&*entry.kind, &*entry.body))))
}

/// What can still change of the history of the turn that a conversation is in.
pub(crate) async fn history_of(agents: &Agents, open: &OpenTalk) -> Result<History, Refusal> {
    let key = open.talk.session.clone();
    let newest = agents.supervisor.registry.entries(key, Side::Before(u64::MAX), OPEN, u64::MAX).await?;
    let turn = open.questions.iter().find_map(|line| line.asks.as_ref()?.turn.as_ref());
    let of_turn = newest.entries.iter().rev().filter(|entry| turn.is_some() && entry.turn.as_ref() == turn);
    Ok(History::resumed(of_turn.map(|entry| (entry.number, entry.kind.as_str(), entry.body.as_str()))))
}

/// Why there is no conversation, in words that help. The adapter is of no use then.
async fn not_opened(agents: &Arc<Agents>, row: &SessionRow, run: &RunId, why: &NotOpened) -> NotJoined {
    let name = row.agent.as_ref().map_or("the agent", AgentId::as_str);
    let said = match why {
        NotOpened::Over(_) => adapter_stop::how_it_ended(agents, run, name).await.1,
        NotOpened::Refused(_) | NotOpened::NoModel(_) => format!("{name}: {why}"),
        NotOpened::NotLoaded(why) => why.clone(),
    };
    if let Err(refusal) =
        adapter_stop::let_go_of(agents, &row.key, run, "its conversation was not opened").await
    {
        tracing::warn!(%run, why = refusal.detail, "an adapter of no use goes on");
    }
    match why {
        NotOpened::NotLoaded(_) => NotJoined::NotLoaded(said),
        NotOpened::NoModel(_) => Refusal::unknown_model(said).into(),
        NotOpened::Over(_) | NotOpened::Refused(_) => Refusal::wrong_state(said).into(),
    }
}
