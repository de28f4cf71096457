//! Limits of the permissions that a session can give its agents: at most what the exec policy and its own description
//! permit the session.
//! The limits hold for every request that is made as a session, but not for clients outside of all sessions.

use super::authorize::Asker;
use super::settings::Setting;
use crate::Agents;
use crate::acp::adapter_start;
use crate::sessions::turn_spec;
use tenure_core::session::{
    AgentId, Backend, Permissions, SessionKey, SessionRow, is_cautious_mode, is_harmless_option,
};
use tenure_supervisor::Refusal;

/// The maximum permissions that a session can give, and the reason.
pub(crate) struct Limit {
    most: Permissions,
    why: String,
}

impl Limit {
    fn lower(&mut self, most: Permissions, why: impl FnOnce() -> String) {
        let both = self.most.and(most);
        if both != self.most {
            (self.most, self.why) = (both, why());
        }
    }

    fn is_none(&self) -> bool {
        self.most == Permissions::ApproveAll
    }
}

/// Returns the maximum permissions that the asker can give an agent.
pub(crate) async fn limit_of(
    agents: &Agents,
    asker: &Asker,
    agent: Option<&AgentId>,
) -> Result<Limit, Refusal> {
    let mut limit = Limit { most: Permissions::ApproveAll, why: String::new() };
    let Some(key) = asker.key() else { return Ok(limit) };
    let exec = agents.supervisor.settings.exec;
    limit.lower(Permissions::of_exec(exec.mode, exec.ask), || match exec.mode {
        tenure_core::policy::Mode::Full => "exec.ask is always".to_owned(),
        mode => format!("exec.mode is {}", mode.word()),
    });
    lower_as_described(agents, &mut limit, agent);
    lower_as_spawned(agents, &mut limit, key, asker.maker.as_ref()).await?;
    Ok(limit)
}

/// Lowers the limit to the permissions in the agent's description, if there are any.
fn lower_as_described(agents: &Agents, limit: &mut Limit, agent: Option<&AgentId>) {
    let Some(agent) = agent else { return };
    let described = adapter_start::adapter_of(agents, agent).ok().and_then(|it| it.permissions_given);
    if let Some(most) = described {
        limit.lower(most, || format!("agents.{agent}.acp.permissions is {most}"));
    }
}

/// Lowers the limit to the permissions of the session, or else of the nearest session above it that has some.
async fn lower_as_spawned(
    agents: &Agents,
    limit: &mut Limit,
    key: &SessionKey,
    maker: Option<&SessionKey>,
) -> Result<(), Refusal> {
    let row = agents.supervisor.registry.session(key.clone()).await?.map(|session| session.row);
    let lineage = |row: &SessionRow| row.lineage.clone();
    let mut above = match (&row, maker) {
        (Some(row), _) => lineage(row),
        (None, Some(maker)) => {
            let its = agents.supervisor.registry.session(maker.clone()).await?.map(|it| lineage(&it.row));
            std::iter::once(maker.clone()).chain(its.unwrap_or_default()).collect()
        }
        (None, None) => Vec::new(),
    }
    .into_iter();
    let (mut key, mut row) = (key.clone(), row);
    loop {
        if let Some(most) = row.as_ref().and_then(|row| row.work.permissions) {
            limit.lower(most, || format!("session {key} was made with {most}"));
            // These were within the limit of the session's creator, or an operator set them.
            return Ok(());
        }
        let agent = row.as_ref().and_then(|row| row.agent.clone()).or_else(|| key.agent());
        lower_as_described(agents, limit, agent.as_ref());
        let Some(next) = above.next() else { return Ok(()) };
        row = agents.supervisor.registry.session(next.clone()).await?.map(|session| session.row);
        key = next;
    }
}

/// Returns the permissions of a session that the asker spawns.
pub(crate) async fn grant(
    agents: &Agents,
    asker: &Asker,
    wanted: Option<Permissions>,
    (backend, agent): (Backend, Option<&AgentId>),
) -> Result<Option<Permissions>, Refusal> {
    let limit = limit_of(agents, asker, agent).await?;
    let unasking_flag = match (backend, agent.filter(|_| !limit.is_none())) {
        (Backend::Cli, Some(agent)) => turn_spec::agent_description(agents, agent)?.acts_unasked(),
        (Backend::Acp, Some(agent)) => adapter_start::adapter_of(agents, agent)?.acts_unasked(),
        _ => None,
    };
    if let (Some(flag), Some(agent)) = (unasking_flag, agent) {
        return Err(refused(asker, &limit, &format!("starts {agent} with {flag:?}, which asks nobody")));
    }
    let usual = match (backend, agent) {
        (Backend::Acp, Some(agent)) => adapter_start::adapter_of(agents, agent)?.permissions(),
        // Other sessions have no permissions of their own.
        _ => Permissions::DenyAll,
    };
    Permissions::grant(wanted, usual, limit.most)
        .map_err(|more| refused(asker, &limit, &format!("asks for {more}")))
}

/// Checks that the asker may allow a request of a session's agent. Refusing a request is always allowed.
pub(crate) async fn check_allow(
    agents: &Agents,
    asker: &Asker,
    row: &SessionRow,
    (question, option): (&str, &str),
) -> Result<(), Refusal> {
    let limit = limit_of(agents, asker, row.agent.as_ref()).await?;
    if limit.is_none() {
        return Ok(());
    }
    let questions = agents.approvals.questions_of(&row.key).await?;
    let matching = questions.iter().filter(|it| it.id.as_str().starts_with(question));
    let mut chosen = matching.flat_map(|it| &it.options).filter(|offered| offered.id == option);
    if chosen.all(|offered| offered.kind.starts_with("reject")) {
        return Ok(());
    }
    Err(refused(
        asker,
        &limit,
        "approves an agent's request, which only a person may do (`tenure approvals`)",
    ))
}

/// Checks that the asker may change an agent's mode or options: in some modes agents ask nobody.
pub(crate) async fn check_adjust(
    agents: &Agents,
    asker: &Asker,
    row: &SessionRow,
    setting: &Setting,
) -> Result<(), Refusal> {
    let limit = limit_of(agents, asker, row.agent.as_ref()).await?;
    let described =
        row.agent.as_ref().and_then(|agent| adapter_start::adapter_of(agents, agent).ok()?.session.mode);
    let what = match setting {
        Setting::Mode(mode) if !is_cautious_mode(mode) && described.as_ref() != Some(mode) => {
            format!("sets the mode {mode:?}, in which the agent may ask nobody")
        }
        Setting::Option { option, value } if !is_harmless_option(option, value) => {
            format!("sets the option {option:?}, with which the agent may ask nobody")
        }
        Setting::Mode(_) | Setting::Option { .. } => return Ok(()),
    };
    if limit.is_none() { Ok(()) } else { Err(refused(asker, &limit, &what)) }
}

fn refused(asker: &Asker, limit: &Limit, what: &str) -> Refusal {
    let key = asker.key().map_or("", SessionKey::as_str);
    let Limit { most, why } = limit;
    let less = if *most == Permissions::DenyAll { "" } else { " or deny-all" };
    Refusal::forbidden(format!(
        "session {key} can grant at most {most} ({why}), but this {what}: use {most}{less}, or let an operator do it"
    ))
}
