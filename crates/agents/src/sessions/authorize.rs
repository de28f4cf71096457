//! Authorizes requests about sessions. A client outside of all sessions may see all of them; a session sees what
//! `can_see` allows. A client that is bound to a session makes requests as that session only, and can ask for less
//! visibility than the settings allow, never for more.

use super::key;
use crate::Agents;
use tenure_core::session::{
    self as core, Access, Action, AgentId, AgentToAgent, Narrowing, SessionKey, SessionRow, Visibility,
    can_see, narrow,
};
use tenure_core::tools::sessions::SessionsRequest;
use tenure_core::tools::tasks::TasksRequest;
use tenure_supervisor::Refusal;
use tenure_supervisor::Requester;
use tenure_supervisor::start_request::CallerProcess;

/// The session as which a request is made, and the limits of its view.
#[derive(Debug, Clone, Copy, Default)]
pub struct Acting<'a> {
    /// The session's key.
    pub requester: Option<&'a str>,
    /// The sessions that it may see.
    pub visibility: Option<Visibility>,
    /// True to treat it as sandboxed.
    pub sandboxed: Option<bool>,
}

impl<'a> From<&'a SessionsRequest> for Acting<'a> {
    fn from(request: &'a SessionsRequest) -> Self {
        let SessionsRequest { requester, visibility, sandboxed, .. } = request;
        Self { requester: requester.as_deref(), visibility: *visibility, sandboxed: *sandboxed }
    }
}

impl<'a> From<&'a TasksRequest> for Acting<'a> {
    fn from(request: &'a TasksRequest) -> Self {
        let TasksRequest { requester, visibility, sandboxed, .. } = request;
        Self { requester: requester.as_deref(), visibility: *visibility, sandboxed: *sandboxed }
    }
}

/// The requester of a call, with its rights.
pub struct Asker {
    /// Its description, for people.
    pub about: String,
    /// The session as which it makes the request; `None` outside of all sessions.
    session: Option<AsSession>,
    /// The session that created that session.
    pub(crate) maker: Option<SessionKey>,
    /// The calling process; `None` if the request is made as a session.
    pub(crate) process: Option<CallerProcess>,
}

struct AsSession {
    requester: core::Requester,
    visibility: Visibility,
    a2a: AgentToAgent,
    /// True if the client is bound to the session; false if an operator acts as it.
    bound: bool,
}

impl Agents {
    /// Checks that the client may make the request as this session, and returns the requester.
    pub async fn asker(&self, request: impl Into<Acting<'_>>, who: &Requester) -> Result<Asker, Refusal> {
        let request = request.into();
        let acting = who.acting_as(request.requester)?;
        let about = acting.to_string();
        let Some(text) = acting.only_session() else {
            return match (request.visibility, request.sandboxed) {
                (None, None) => Ok(Asker { about, session: None, maker: None, process: None }),
                _ => Err(Refusal::invalid(
                    "visibility and sandboxed need a session: name the requesting session with `as`",
                )),
            };
        };
        let key = key(text)?;
        let set = self.supervisor.settings.sessions.visibility;
        let visibility = request.visibility.unwrap_or(set);
        if who.only_session().is_some() && !is_within(visibility, set) {
            return Err(Refusal::forbidden(format!(
                "session {key} asks for visibility {visibility}, but the settings allow {set}: the operator sets sessions.visibility"
            )));
        }
        let shut_in = request.sandboxed.unwrap_or(false);
        let maker = acting.maker().cloned();
        let requester = match self.supervisor.registry.session(key.clone()).await? {
            Some(session) => core::Requester::of(&session.row, shut_in),
            None => new_requester(self, key, maker.as_ref(), shut_in).await?,
        };
        let a2a = self.supervisor.settings.agent_to_agent();
        let bound = who.only_session().is_some();
        let session = Some(AsSession { requester, visibility, a2a, bound });
        Ok(Asker { about, session, maker, process: None })
    }
}

/// Returns the requester for a session that has no row yet, with the rights that its row will give.
async fn new_requester(
    agents: &Agents,
    key: SessionKey,
    maker: Option<&SessionKey>,
    shut_in: bool,
) -> Result<core::Requester, Refusal> {
    let above = match maker {
        Some(maker) => agents.supervisor.registry.session(maker.clone()).await?,
        None => None,
    };
    let new = core::Requester::without_row(key, shut_in);
    Ok(match above {
        Some(above) => core::Requester {
            agent: new.agent.or(above.row.agent),
            sandboxed: new.sandboxed || above.row.sandboxed,
            key: new.key,
        },
        None => new,
    })
}

/// Returns true if `more` shows everything that `less` shows.
fn is_within(less: Visibility, more: Visibility) -> bool {
    less == more || less == Visibility::SelfOnly || more == Visibility::All
}

impl Asker {
    /// Adds the calling process, if the request is made outside of all sessions.
    pub(crate) fn with_process(self, process: Option<CallerProcess>) -> Self {
        let process = process.filter(|_| self.session.is_none());
        Self { process, ..self }
    }

    /// Returns the requesting session.
    pub fn key(&self) -> Option<&SessionKey> {
        self.session.as_ref().map(|it| &it.requester.key)
    }

    /// Returns true if it is sandboxed.
    pub(crate) fn is_sandboxed(&self) -> bool {
        self.session.as_ref().is_some_and(|it| it.requester.sandboxed)
    }

    /// Returns the filter for a list; each row is checked after it.
    pub(crate) fn narrowing(&self) -> Option<Narrowing> {
        self.session.as_ref().map(|it| narrow(&it.requester, it.visibility, &it.a2a))
    }

    fn access(&self, row: &SessionRow) -> Access {
        match &self.session {
            None => Access::Allow,
            Some(it) => can_see(row, &it.requester, it.visibility, &it.a2a),
        }
    }

    /// Returns true if a list shows this row.
    pub(crate) fn lists(&self, row: &SessionRow) -> bool {
        self.access(row).is_allowed()
    }

    /// Checks that the requester may do this with a session.
    pub fn see(&self, row: &SessionRow, action: Action) -> Result<(), Refusal> {
        match self.access(row) {
            Access::Allow => Ok(()),
            Access::Deny(reason) => Err(Refusal::forbidden(reason.sentence(action))),
        }
    }

    /// Checks that the requester may execute commands as this agent: the allowlist of an agent is not for others.
    pub(crate) fn execute_as(&self, agent: Option<&AgentId>) -> Result<(), Refusal> {
        let (Some(it), Some(agent)) = (&self.session, agent) else { return Ok(()) };
        let own = it.requester.agent.as_ref();
        if !it.bound || own == Some(agent) || own.is_some_and(|own| it.a2a.allows(own, agent)) {
            return Ok(());
        }
        Err(Refusal::forbidden(format!(
            "session {} cannot execute commands as agent {agent}: leave the agent out, or have the operator allow \
             agent-to-agent access",
            it.requester.key
        )))
    }

    /// Checks that the requester may end a session and its turns: it must be its own, or one that it spawned.
    pub fn own(&self, row: &SessionRow) -> Result<(), Refusal> {
        match self.key() {
            Some(key) if row.key != *key && !row.came_from(key) => Err(Refusal::forbidden(format!(
                "session {} was not spawned by session {key}: a session can end only itself and the sessions that it spawned",
                row.key
            ))),
            Some(_) | None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Visibility::{Agent, All, SelfOnly, Tree};

    #[test]
    fn a_session_can_ask_to_see_less_and_never_more() {
        let within = [
            (SelfOnly, SelfOnly),
            (SelfOnly, Tree),
            (SelfOnly, Agent),
            (SelfOnly, All),
            (Tree, Tree),
            (Tree, All),
            (Agent, Agent),
            (Agent, All),
            (All, All),
        ];
        for less in Visibility::ALL {
            for more in Visibility::ALL {
                assert_eq!(is_within(*less, *more), within.contains(&(*less, *more)), "{less} in {more}");
            }
        }
    }
}
