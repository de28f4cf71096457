//! Requests to start a run: the spec for its keeper, and data for the daemon.

use crate::refusal::Refusal;
use crate::requester::Requester;
use crate::supervisor::Supervisor;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use std::fmt;
use tenure_core::api::Exact;
use tenure_core::ids::RunId;
use tenure_core::output::Keep;
use tenure_core::session::{Backend, SessionKey};
use tenure_core::spec::{OnEscape, Spec, check_env};
use tenure_core::task::NotifyPolicy;
use tenure_core::tools::Notify;
use tenure_core::wire;
use tenure_os::{environment, exec_limits, place};
use tenure_store::RunRow;

/// A check right before a command is executed: the approved program must be the executed one.
pub trait StartCheck: fmt::Debug + Send + Sync {
    /// Refuses the start, and says what has changed.
    fn check(&self) -> Result<(), String>;
}

/// A request for a run: its spec, and data for the daemon.
#[derive(Debug)]
pub struct StartRequest {
    /// The run's spec.
    pub spec: Spec,
    /// The backend that requests the run.
    pub backend: Backend,
    /// True if the scope's current run is ended first.
    pub replace: bool,
    /// The only session whose runs the requester may end.
    pub only_session: Option<String>,
    /// The parent of the run's session, if that is made with the run.
    pub session_parent: Option<SessionKey>,
    /// The run's id, if it is already chosen.
    pub run_id: Option<RunId>,
    /// For a run of the exec tool: when its end is announced.
    pub notify: Option<Notify>,
    /// The check right before the command is executed.
    pub check: Option<Box<dyn StartCheck>>,
    /// The notify policy of the run's task, if the run is a background task of its own.
    pub policy: Option<NotifyPolicy>,
}

impl StartRequest {
    /// Makes a request of the daemon itself, with no more than a spec.
    pub fn new(spec: Spec, backend: Backend) -> Self {
        Self {
            spec,
            backend,
            replace: false,
            only_session: None,
            session_parent: None,
            run_id: None,
            notify: None,
            check: None,
            policy: None,
        }
    }

    /// Makes the request of a run that works for a session. It belongs to the session, and replaces only that
    /// session's runs. Agents run their tools in sessions of their own: such processes are killed with the run, and
    /// do not make it fail.
    pub fn of_session(
        key: &SessionKey,
        backend: Backend,
        run: RunId,
        mut spec: Spec,
    ) -> Result<Self, Refusal> {
        spec.options.session_id = Some(key.to_string());
        spec.options.on_escape = OnEscape::Reap;
        check(&spec)?;
        let (replace, only_session) = (spec.options.scope.is_some(), spec.options.session_id.clone());
        Ok(Self { replace, only_session, run_id: Some(run), ..Self::new(spec, backend) })
    }

    /// Returns true if the requester may see this run and replace it.
    pub fn may_replace(&self, row: &RunRow) -> bool {
        self.only_session.is_none() || row.ticket.options.session_id == self.only_session
    }
}

/// Refuses a command that cannot be started, before anything is recorded.
pub fn check(spec: &Spec) -> Result<(), Refusal> {
    spec.check().map_err(Refusal::invalid)?;
    spec.check_size(exec_limits::current()).map_err(Refusal::too_long)
}

/// Returns the session of a new run. A client that is bound to a session starts runs only of that session.
pub fn session_of(asked: Option<&String>, who: &Requester) -> Result<Option<String>, Refusal> {
    match (session_key(asked)?, who.only_session()) {
        (Some(asked), Some(own)) if asked.as_str() != own => {
            Err(Refusal::forbidden(format!("session {own} cannot start a run of session {asked}")))
        }
        (Some(session), _) => Ok(Some(session.into())),
        (None, own) => Ok(own.map(str::to_owned)),
    }
}

/// Parses a session key, if there is one.
pub fn session_key(key: Option<&String>) -> Result<Option<SessionKey>, Refusal> {
    key.map(|key| key.parse()).transpose().map_err(Refusal::invalid)
}

/// Checks a name, if there is one: it is one line and not empty.
pub fn named(what: &str, key: Option<&String>) -> Result<Option<String>, Refusal> {
    match key {
        Some(key) if key.is_empty() || key.len() > 512 || key.chars().any(char::is_control) => {
            let shown: String = key.chars().take(64).collect();
            let cut =
                if shown.len() < key.len() { format!("… ({} bytes)", key.len()) } else { String::new() };
            Err(Refusal::invalid(format!(
                "the {what} must be one line of 1 to 512 bytes, not {shown:?}{cut}"
            )))
        }
        other => Ok(other.cloned()),
    }
}

/// Unpacks the directory, environment, umask and limits of a caller's process into the spec; returns its command.
pub fn unpack(spec: &mut Spec, exact: &Exact) -> Result<Vec<Vec<u8>>, Refusal> {
    let bytes = BASE64_STANDARD.decode(&exact.words).ok();
    let words = bytes.and_then(|bytes| wire::unpack(&bytes, exact.argc));
    let (cwd, argv, env) = words
        .ok_or_else(|| Refusal::invalid("exact.words must be base64 of words that each end with a NUL"))?;
    (spec.cwd, spec.env, spec.umask, spec.nofile) = (cwd, env, exact.umask & 0o777, Some(exact.nofile));
    Ok(argv)
}

/// The calling process on this machine, as our own command line sent it.
#[derive(Debug, Clone)]
pub struct CallerProcess {
    /// Its directory, environment, umask and limits.
    process: Spec,
    /// The amount of output to keep, if the caller may set that.
    keep: Option<Keep>,
    /// True if the environment is an operator's. A session's environment is trusted no more than the variables in its
    /// calls.
    of_operator: bool,
}

impl CallerProcess {
    /// Unpacks the process. `from_cli` is true if our own command line sent it as its own process.
    pub fn of(exact: &Exact, from_cli: bool, who: &Requester) -> Result<Self, Refusal> {
        if !from_cli {
            return Err(Refusal::invalid(
                "process is reserved for Tenure's own command line: use workdir and env instead",
            ));
        }
        if exact.argc != 0 {
            return Err(Refusal::invalid("process.argc must be 0: the command comes from exec"));
        }
        let mut process = Spec::default();
        unpack(&mut process, exact)?;
        let of_operator = matches!(who, Requester::Operator { .. });
        // The disk belongs to the operator.
        Ok(Self { process, keep: exact.keep.filter(|_| of_operator), of_operator })
    }

    /// Returns the variables of an operator's process, without those that are not text.
    pub fn variables(&self) -> Option<impl Iterator<Item = (String, String)>> {
        let pair = |entry: &Vec<u8>| {
            let (name, value) = std::str::from_utf8(entry).ok()?.split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        };
        self.of_operator.then(|| self.process.env.iter().filter_map(pair))
    }

    /// Returns the base spec for a command of this caller: the caller's directory, umask and limits. If a policy
    /// judges the command, the environment is the daemon's, so that bare names are looked up in the daemon's PATH.
    pub fn begin(self, mut daemons: Spec, judged: bool) -> Spec {
        let Spec { cwd, env, umask, nofile, .. } = self.process;
        if self.of_operator && !judged {
            daemons.env = env;
        }
        daemons.options.keep = self.keep.unwrap_or(daemons.options.keep);
        Spec { cwd, umask, nofile, ..daemons }
    }
}

impl Supervisor {
    /// Returns the base spec of a run without a calling process: the user's home, and the common variables of the
    /// daemon's environment. It has no overall limit.
    pub fn inherited_spec(&self) -> Spec {
        let is_inherited = |name: &str| {
            let is = |its: &&str| environment::same_name(its.as_bytes(), name.as_bytes());
            environment::EVERYDAY.iter().any(is) || name.starts_with("LC_")
        };
        let mut env: Vec<Vec<u8>> = own_variables()
            .filter(|(name, _)| is_inherited(name))
            .map(|(name, value)| format!("{name}={value}").into_bytes())
            .collect();
        env.push(format!("TENURE_STATE={}", self.state.path().to_string_lossy()).into_bytes());
        let mut spec = Spec { cwd: home().into_bytes(), env, ..self.settings.spec() };
        spec.options.limits.overall = None;
        spec
    }
}

/// Returns the user's home.
pub fn home() -> String {
    std::env::var(place::home_variable()).unwrap_or_else(|_| place::top().to_owned())
}

/// Returns the variables of the daemon's own environment, without those that are not text.
pub fn own_variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// Sets or replaces a variable.
pub fn set_variable(env: &mut Vec<Vec<u8>>, name: &str, value: &str) -> Result<(), Refusal> {
    let entry = format!("{name}={value}").into_bytes();
    if name.contains('=') {
        return Err(Refusal::invalid(format!("{name:?} is not a variable name: it contains `=`")));
    }
    check_env(&entry).map_err(Refusal::invalid)?;
    let begins = entry[..=name.len()].to_vec();
    let same = |known: &[u8]| environment::same_name(known, &begins);
    env.retain(|known| !known.get(..begins.len()).is_some_and(same));
    env.push(entry);
    Ok(())
}
