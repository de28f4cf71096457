//! Provides the adapter of a session: the live one if it is usable, else a new one. Never two: a new adapter is recorded
//! before it starts, in the session's scope, and only after the earlier one is gone.

use super::adapter::Adapter;
use super::adapter_join::JoinError;
use crate::Adapter as Description;
use crate::Agents;
use crate::acp::adapter_join;
use crate::acp::adapter_stop;
use crate::acp::drain_ended;
use crate::sessions::set_environment;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tenure_acp::open::new_session_note;
use tenure_core::ids::RunId;
use tenure_core::session::{AgentId, Backend, Permissions, SessionRow};
use tenure_core::talk::OpenConversation;
use tenure_os::{clock, random};
use tenure_store::Session;
use tenure_supervisor::Refusal;
use tenure_supervisor::Requester;
use tenure_supervisor::RunHandle;
use tenure_supervisor::start_request::{self, StartRequest};
use tenure_supervisor::sync::lock;
use tokio::time::{Instant, sleep};

/// Time limit for this daemon to reconnect to an adapter's run after its start.
const RECONNECT_LIMIT: Duration = Duration::from_secs(30);
/// Interval of checks whether it has reconnected.
const RECONNECT_CHECK: Duration = Duration::from_millis(100);

/// Returns the scope of a session's adapter.
fn scope(row: &SessionRow) -> String {
    format!("acp:{}", row.key)
}

/// Returns the working directory of a session's agent.
pub(crate) fn root_of(row: &SessionRow) -> PathBuf {
    PathBuf::from(row.work.cwd.clone().unwrap_or_else(start_request::home))
}

/// Returns the policy for the permission requests of a session's agent.
pub(crate) fn permissions_of(row: &SessionRow, description: &Description) -> Permissions {
    row.work.permissions.unwrap_or(description.permissions())
}

impl Agents {
    /// Returns the agents with an adapter, and the file names of their programs.
    pub fn adapters_described(&self) -> Vec<(AgentId, String)> {
        let all = self.adapters.described(&self.supervisor.settings).values().flatten();
        let bare = |command: &str| command.rsplit('/').next().unwrap_or(command).to_owned();
        all.map(|description| (description.name.clone(), bare(&description.command))).collect()
    }
}

/// Returns true if a person decides about the permission requests of a session's agent.
pub(crate) fn asks_person(agents: &Agents, row: &SessionRow) -> bool {
    description_of(agents, row).is_ok_and(|it| permissions_of(row, &it) == Permissions::Ask)
}

/// Returns the description of an agent's adapter.
pub(crate) fn adapter_of(agents: &Agents, name: &AgentId) -> Result<Description, Refusal> {
    let all = agents.adapters.described(&agents.supervisor.settings);
    if let Some(described) = all.get(name.as_str()) {
        return described.clone().map_err(Refusal::invalid);
    }
    let known = all.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    Err(Refusal::invalid(format!(
        "there is no agent {name} with an ACP adapter: the configured ones are {known}; describe it in config.toml as \
             [agents.{name}.acp]"
    )))
}

/// Returns true if an agent's adapter is described, even if the description is invalid.
pub(crate) fn has_adapter(agents: &Agents, name: &AgentId) -> bool {
    agents.adapters.described(&agents.supervisor.settings).contains_key(name.as_str())
}

/// Returns the adapter of a session, with its conversation open. If the caller stops waiting, the next caller uses it.
pub(crate) async fn ensure_adapter(agents: &Arc<Agents>, session: Session) -> Result<Arc<Adapter>, Refusal> {
    let agents = Arc::clone(agents);
    let ensuring = tokio::spawn(async move {
        let _gate = agents.adapters.gates.turn(session.row.key.as_str()).await;
        find_or_start(&agents, &session).await
    });
    ensuring.await.map_err(Refusal::internal)?
}

async fn find_or_start(agents: &Arc<Agents>, session: &Session) -> Result<Arc<Adapter>, Refusal> {
    let key = &session.row.key;
    let known = agents.adapters.get(key).filter(|adapter| !adapter.is_over());
    if let Some(adapter) = known.as_ref().filter(|it| !it.owes_an_answer.load(Ordering::Relaxed)) {
        adapter.touch();
        return Ok(Arc::clone(adapter));
    }
    let Some(open) = agents.supervisor.registry.open_talk(key.clone()).await? else {
        return start_adapter(agents, session).await;
    };
    if owes_old_answer(agents, &open).await? {
        adapter_stop::stop_adapter(agents, key, &open.talk.run, "it has not answered an earlier prompt")
            .await?;
        return start_adapter(agents, session).await;
    }
    if let Some(adapter) = known.filter(|adapter| adapter.run == open.talk.run) {
        adapter.owes_an_answer.store(false, Ordering::Relaxed);
        adapter.touch();
        return Ok(adapter);
    }
    if let Some(held) = adapter_run(agents, &open.talk.run).await? {
        let joined = adapter_join::join(agents, session, &open, held).await;
        return or_new_session(agents, session, joined).await;
    }
    drain_ended::drain(agents, &open).await?;
    start_adapter(agents, session).await
}

/// Returns true if an adapter owes the answer to a turn that is over.
async fn owes_old_answer(agents: &Agents, open: &OpenConversation) -> Result<bool, Refusal> {
    let turns = open.questions.iter().filter_map(|line| line.asks.as_ref()?.turn.as_ref());
    let active =
        agents.supervisor.registry.active_turn(open.talk.session.clone()).await?.map(|turn| turn.asked.id);
    Ok(turns.into_iter().any(|turn| Some(turn) != active.as_ref()))
}

/// Returns the live run of an adapter; waits until this daemon has reconnected to it.
pub(crate) async fn adapter_run(agents: &Agents, run: &RunId) -> Result<Option<Arc<RunHandle>>, Refusal> {
    let deadline = Instant::now() + RECONNECT_LIMIT;
    loop {
        if let Some(held) = agents.supervisor.runs.get(run).filter(|held| !held.status().is_over()) {
            return Ok(Some(held));
        }
        match agents.supervisor.registry.run(run.clone()).await? {
            None => return Ok(None),
            Some(row) if row.ending.is_some() => return Ok(None),
            Some(row) if row.hold.instance != agents.supervisor.instance => {
                return Err(Refusal::held_elsewhere(format!(
                    "the adapter {run} belongs to another instance"
                )));
            }
            Some(_) if Instant::now() > deadline => {
                return Err(Refusal::keeper_silent(format!(
                    "the adapter {run} is alive, but its keeper does not answer: `tenure why {run}` tells more"
                )));
            }
            Some(_) => sleep(RECONNECT_CHECK).await,
        }
    }
}

/// Starts an adapter for a session that has none.
async fn start_adapter(agents: &Arc<Agents>, session: &Session) -> Result<Arc<Adapter>, Refusal> {
    let joined = start_and_join(agents, session).await;
    or_new_session(agents, session, joined).await
}

/// Creates a new session in another process if the agent exited or hung while it loaded the earlier one.
async fn or_new_session(
    agents: &Arc<Agents>,
    session: &Session,
    joined: Result<Arc<Adapter>, JoinError>,
) -> Result<Arc<Adapter>, Refusal> {
    let why = match joined {
        Ok(ensured) => return Ok(ensured),
        Err(JoinError::Refused(refusal)) => return Err(refusal),
        Err(JoinError::NotLoaded(why)) => why,
    };
    let anew = Session { resume: None, ..session.clone() };
    match start_and_join(agents, &anew).await {
        Ok(adapter) => {
            adapter.handle.note_bad_load();
            agents.adapters.note_bad_load(session.row.agent.as_ref());
            lock(&adapter.notes).insert(0, new_session_note(Some(&why)));
            Ok(adapter)
        }
        Err(JoinError::Refused(refusal)) => Err(refusal),
        Err(JoinError::NotLoaded(why)) => Err(Refusal::wrong_state(why)),
    }
}

async fn start_and_join(agents: &Arc<Agents>, session: &Session) -> Result<Arc<Adapter>, JoinError> {
    let row = &session.row;
    let description = description_of(agents, row)?;
    let run = RunId::from_random(random::bytes().map_err(Refusal::internal)?);
    let asked = adapter_request(agents, session, &description, run.clone())?;
    if !agents.supervisor.registry.begin_talk(run.clone(), row.key.clone(), clock::unix_ms()).await? {
        let why = format!("session {} has another live adapter", row.key);
        return Err(Refusal::wrong_state(why).into());
    }
    let who = Requester::Operator { about: format!("the adapter of session {}", row.key) };
    let started = agents.supervisor.start(asked, who.to_string(), None).await;
    let held = match started {
        Ok(held) => held,
        Err(refusal) => {
            agents.supervisor.registry.end_talk(run, clock::unix_ms()).await?;
            return Err(refusal.into());
        }
    };
    held.set_tracked(false);
    let Some(open) = agents.supervisor.registry.open_talk(row.key.clone()).await? else {
        return Err(Refusal::wrong_state(format!("session {} was closed", row.key)).into());
    };
    adapter_join::join(agents, session, &open, held).await
}

pub(crate) fn description_of(agents: &Agents, row: &SessionRow) -> Result<Description, Refusal> {
    let Some(name) = &row.agent else {
        return Err(Refusal::wrong_state(format!("session {} has no agent", row.key)));
    };
    adapter_of(agents, name)
}

fn adapter_request(
    agents: &Agents,
    session: &Session,
    description: &Description,
    run: RunId,
) -> Result<StartRequest, Refusal> {
    let row = &session.row;
    let mut spec = agents.supervisor.inherited_spec();
    spec.cwd = tenure_os::text::bytes(root_of(row));
    set_environment(&mut spec, &description.env, agents.caller_envs.of(&row.key).as_deref())?;
    spec.argv = description.argv().map_err(Refusal::invalid)?;
    spec.options.scope = Some(scope(row));
    spec.options.label.clone_from(&session.label);
    spec.options.stdin = true;
    StartRequest::of_session(&row.key, Backend::Acp, run, spec)
}
