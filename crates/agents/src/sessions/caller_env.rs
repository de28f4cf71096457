//! Variables that operators' command lines send with a request to a session: their PATH, and what the description of the
//! session's agent passes on. They are in memory alone, so the next daemon has its own environment for new processes.

use super::authorize::Asker;
use crate::Agents;
use crate::Environment;
use crate::acp::adapter_start;
use crate::sessions::turn_spec;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use tenure_core::ids::TurnId;
use tenure_core::session::{Backend, SessionKey, SessionRow};
use tenure_os::environment::same_name;
use tenure_supervisor::start_request::CallerProcess;
use tenure_supervisor::sync::lock;

/// The variables of one caller that an agent gets.
pub(crate) struct CallerEnv(Vec<(String, String)>);

impl CallerEnv {
    /// Picks the caller's PATH and the variables that the agent's description passes on. `None` for a caller whose
    /// environment is not to be trusted.
    fn of(caller: &CallerProcess, description: &Environment) -> Option<Self> {
        let is_passed = |name: &str| same_name(name.as_bytes(), b"PATH") || description.passes(name);
        Some(Self(caller.variables()?.filter(|(name, _)| is_passed(name)).collect()))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// Names alone: values are secrets.
impl fmt::Debug for CallerEnv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// The variables that were sent: for messages whose turn has not begun, and for each session the last of a turn.
#[derive(Debug, Default)]
pub(crate) struct CallerEnvs(Mutex<Envs>);

#[derive(Debug, Default)]
struct Envs {
    of_messages: HashMap<TurnId, (SessionKey, Arc<CallerEnv>)>,
    of_sessions: HashMap<SessionKey, Arc<CallerEnv>>,
}

impl CallerEnvs {
    /// Keeps the variables of a message until its turn begins.
    pub(crate) fn put(&self, turn: &TurnId, session: &SessionKey, env: CallerEnv) {
        lock(&self.0).of_messages.insert(turn.clone(), (session.clone(), Arc::new(env)));
    }

    /// Drops the variables of a message that has no turn of its own.
    pub(crate) fn forget_message(&self, turn: &TurnId) {
        lock(&self.0).of_messages.remove(turn);
    }

    /// Applies the variables of a message to its session when its turn begins.
    pub(crate) fn begin(&self, turn: &TurnId) {
        let mut envs = lock(&self.0);
        if let Some((session, env)) = envs.of_messages.remove(turn) {
            envs.of_sessions.insert(session, env);
        }
    }

    /// Applies these variables to the session.
    pub(crate) fn set(&self, session: &SessionKey, env: CallerEnv) {
        lock(&self.0).of_sessions.insert(session.clone(), Arc::new(env));
    }

    /// Returns the variables for a process of the session's agent; `None` if no caller sent any to this daemon.
    pub(crate) fn of(&self, session: &SessionKey) -> Option<Arc<CallerEnv>> {
        lock(&self.0).of_sessions.get(session).cloned()
    }

    /// Drops the variables of a closed session.
    pub(crate) fn forget_session(&self, session: &SessionKey) {
        let mut envs = lock(&self.0);
        envs.of_sessions.remove(session);
        envs.of_messages.retain(|_, (of, _)| of != session);
    }
}

/// Returns the variables that a request passes on to the agent of a session.
pub(crate) fn caller_env(agents: &Agents, row: &SessionRow, asker: &Asker) -> Option<CallerEnv> {
    let (caller, name) = (asker.process.as_ref()?, row.agent.as_ref()?);
    let description = match row.backend {
        Backend::Acp => adapter_start::adapter_of(agents, name).ok()?.env,
        Backend::Cli => turn_spec::agent_description(agents, name).ok()?.env,
        // The exec policy decides about command lines.
        Backend::Exec | Backend::Run => return None,
    };
    CallerEnv::of(caller, &description)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(value: &str) -> CallerEnv {
        CallerEnv(vec![("KEY".to_owned(), value.to_owned())])
    }

    fn turn(byte: u8) -> TurnId {
        TurnId::from_random([byte; 12])
    }

    fn value(envs: &CallerEnvs, session: &SessionKey) -> Option<String> {
        envs.of(session).and_then(|env| env.iter().next().map(|(_, value)| value.to_owned()))
    }

    #[test]
    fn what_came_with_a_message_holds_from_its_turn_on() {
        let (envs, session) = (CallerEnvs::default(), "agent:a:main".parse().unwrap());
        envs.put(&turn(1), &session, env("one"));
        envs.put(&turn(2), &session, env("two"));
        assert_eq!(value(&envs, &session), None);
        envs.begin(&turn(1));
        assert_eq!(value(&envs, &session).as_deref(), Some("one"));
        // The turn of a caller that sent none.
        envs.begin(&turn(3));
        assert_eq!(value(&envs, &session).as_deref(), Some("one"));
        envs.begin(&turn(2));
        assert_eq!(value(&envs, &session).as_deref(), Some("two"));
    }

    #[test]
    fn nothing_is_kept_of_a_session_that_is_closed() {
        let (envs, session) = (CallerEnvs::default(), "agent:a:main".parse().unwrap());
        envs.set(&session, env("one"));
        envs.put(&turn(1), &session, env("two"));
        envs.forget_session(&session);
        envs.begin(&turn(1));
        assert_eq!(value(&envs, &session), None);
    }

    #[test]
    fn values_are_not_shown() {
        assert_eq!(format!("{:?}", env("secret")), "[\"KEY\"]");
    }
}
