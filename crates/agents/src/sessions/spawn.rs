//! Creates sessions. The requester determines the owner, not the request.

use super::authorize::Asker;
use super::call::{SpawnBackend, SpawnCall};
use super::close::CloseReason;
use super::query::view;
use super::{key, turn_spec};
use crate::Agents;
use crate::acp::adapter_start;
use crate::sessions::permission_limit;
use crate::sessions::send;
use std::sync::Arc;
use tenure_core::problem::Code;
use tenure_core::session::{
    AgentId, Backend, Kind, Mode, Refused, SessionKey, SpawnLimits, SpawnRequest, Work,
};
use tenure_core::tools::sessions::{SessionsReply, WhenBusy};
use tenure_os::{clock, random};
use tenure_store::{Failed, NewSession, Session};
use tenure_supervisor::Refusal;

/// Creates a session and, if it has a task, begins its first turn.
pub(crate) async fn spawn(
    agents: &Arc<Agents>,
    mut spawn: SpawnCall,
    asker: &Asker,
) -> Result<SessionsReply, Refusal> {
    if let Some(origin) = &spawn.origin {
        super::check_channel(agents, &origin.channel)?;
    }
    let task = spawn.task.take();
    let new = new_session(agents, spawn, asker).await?;
    if task.is_some() {
        turn_spec::check_takes_messages(&new.request.key, new.request.backend)?;
    }
    ensure_asker(agents, asker).await?;
    let session = agents.supervisor.registry.spawn_session(new).await.map_err(spawn_refusal)?;
    agents.supervisor.events.notify_followers();
    set_new_model(agents, &session).await?;
    let mut reply = SessionsReply::default();
    if let Some(text) = task {
        reply.sent = Some(send::deliver(agents, &session.row, text, WhenBusy::default(), asker).await?);
    }
    let session = agents.find_session(&session.row.key).await?;
    reply.session = Some(view(session));
    Ok(reply)
}

async fn new_session(agents: &Agents, call: SpawnCall, asker: &Asker) -> Result<NewSession, Refusal> {
    let agent = call.agent();
    let backend = backend(agents, &call.backend, agent.as_ref())?;
    if matches!(backend, Backend::Exec | Backend::Run) {
        asker.execute_as(agent.as_ref())?;
    }
    if let Some(model) = &call.work.model {
        check_takes_model(agents, model, backend, agent.as_ref())?;
    }
    let permissions =
        permission_limit::grant(agents, asker, call.work.permissions, (backend, agent.as_ref())).await?;
    let parent = call.parent.or_else(|| asker.key().cloned());
    let kind = call.kind.unwrap_or(match (&parent, backend) {
        (Some(_), _) => Kind::Subagent,
        (None, Backend::Cli) => Kind::Cli,
        (None, Backend::Acp) => Kind::Acp,
        (None, Backend::Run | Backend::Exec) => Kind::Exec,
    });
    let key = match call.key {
        Some(key) => key,
        None => new_key(agent.as_ref(), kind)?,
    };
    let request = SpawnRequest {
        key,
        agent: call.named_agent,
        kind,
        mode: call.mode,
        backend,
        by: asker.key().cloned(),
        instance: agents.supervisor.instance.clone(),
        origin: call.origin,
        interaction: call.interaction,
        sandboxed: call.sandbox || asker.is_sandboxed(),
        work: Work { permissions, ..call.work },
        now_ms: clock::unix_ms(),
    };
    let limits = agents.supervisor.settings.sessions.limits();
    Ok(NewSession { request, parent, limits, label: call.label })
}

/// Refuses a model for a backend that has none. An ACP agent lists its models itself.
fn check_takes_model(
    agents: &Agents,
    model: &str,
    backend: Backend,
    agent: Option<&AgentId>,
) -> Result<(), Refusal> {
    let why = match (backend, agent) {
        (Backend::Acp, _) => return Ok(()),
        (Backend::Cli, Some(agent)) if turn_spec::agent_description(agents, agent)?.takes_model() => {
            return Ok(());
        }
        (Backend::Cli, Some(agent)) => {
            format!("the command of agent {agent} takes none: put {{model}} into its fresh")
        }
        (Backend::Cli, None) => "no agent is named".to_owned(),
        (Backend::Exec | Backend::Run, _) => format!("backend {backend} has no models"),
    };
    Err(Refusal::unknown_model(format!("the model {model:?} cannot be set: {why}; or leave it out")))
}

/// Sets the model of a new ACP session. Removes the session if the agent does not have that model.
async fn set_new_model(agents: &Arc<Agents>, session: &Session) -> Result<(), Refusal> {
    if session.row.backend != Backend::Acp || session.row.work.model.is_none() {
        return Ok(());
    }
    match adapter_start::ensure_adapter(agents, session.clone()).await {
        Err(refusal) if refusal.code == Code::UnknownModel => {
            let why = CloseReason { reason: Some(refusal.detail.clone()), discard: true };
            agents.close_session(&session.row.key, &why).await?;
            Err(refusal)
        }
        // The first turn reports any other failure.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Returns the backend of a new session, if it is described.
fn backend(agents: &Agents, wanted: &SpawnBackend, agent: Option<&AgentId>) -> Result<Backend, Refusal> {
    match (wanted, agent) {
        (SpawnBackend::Acp(agent), _) => adapter_start::adapter_of(agents, agent).map(|_| Backend::Acp),
        (SpawnBackend::Cli(agent), _) => turn_spec::agent_description(agents, agent).map(|_| Backend::Cli),
        (SpawnBackend::Plain(backend), _) => Ok(*backend),
        // Its command, if it has one; else its adapter.
        (SpawnBackend::Default, Some(agent)) => match turn_spec::find_description(agents, agent)? {
            None if adapter_start::has_adapter(agents, agent) => {
                adapter_start::adapter_of(agents, agent).map(|_| Backend::Acp)
            }
            Some(_) => Ok(Backend::Cli),
            None => turn_spec::agent_description(agents, agent).map(|_| Backend::Cli),
        },
        (SpawnBackend::Default, None) => Ok(Backend::Exec),
    }
}

/// Creates the row of the requesting session if it has none: its new session is below it.
async fn ensure_asker(agents: &Agents, asker: &Asker) -> Result<(), Refusal> {
    match asker.key() {
        Some(key) => ensure_session(agents, key, asker.maker.clone()).await.map(drop),
        None => Ok(()),
    }
}

/// Returns a session that others run; creates its row if there is none.
async fn ensure_session(
    agents: &Agents,
    key: &SessionKey,
    parent: Option<SessionKey>,
) -> Result<Session, Refusal> {
    if let Some(session) = agents.supervisor.registry.session(key.clone()).await? {
        return Ok(session);
    }
    let request = SpawnRequest {
        key: key.clone(),
        agent: None,
        kind: if parent.is_some() { Kind::Subagent } else { Kind::Main },
        mode: Mode::Persistent,
        backend: Backend::Run,
        by: parent.clone(),
        instance: agents.supervisor.instance.clone(),
        origin: None,
        interaction: None,
        sandboxed: false,
        work: Work::default(),
        now_ms: clock::unix_ms(),
    };
    // The session exists already; only its row is new.
    let limits = SpawnLimits { depth: usize::MAX, children: usize::MAX };
    let new = NewSession { request, parent, limits, label: None };
    match agents.supervisor.registry.spawn_session(new).await {
        Ok(session) => Ok(session),
        // Another request was faster.
        Err(Failed::NotSpawned(_) | Failed::SessionTaken { .. }) => agents.find_session(key).await,
        Err(failed) => Err(failed.into()),
    }
}

/// Returns the refusal of a spawn. A closed parent has the same code as a closed session.
fn spawn_refusal(failed: Failed) -> Refusal {
    match failed {
        Failed::NotSpawned(refused @ Refused::ParentClosed { .. }) => Refusal::session_closed(refused),
        other => other.into(),
    }
}

/// Returns a new unique key.
fn new_key(agent: Option<&AgentId>, kind: Kind) -> Result<SessionKey, Refusal> {
    let bytes: [u8; 8] = random::bytes().map_err(Refusal::internal)?;
    let digits: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    match agent {
        Some(agent) => key(&format!("agent:{agent}:{kind}:{digits}")),
        None => key(&format!("{kind}:{digits}")),
    }
}
