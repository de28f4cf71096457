//! What a request to run something means: the spec that a keeper is given.

use crate::refusal::Refusal;
use crate::requester::Requester;
use crate::tools::shell;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use std::path::Path;
use std::time::Duration;
use tenure_core::api::{Exact, RunRequest, Stdin};
use tenure_core::defaults;
use tenure_core::ids::RunId;
use tenure_core::limits::Limits;
use tenure_core::output::Keep;
use tenure_core::resources::Resources;
use tenure_core::session::{Backend, SessionKey};
use tenure_core::spec::{Argv, Line, OnEscape, Orphan, PtyCommand, Size, Spec, Transport, check_env};
use tenure_core::task::NotifyPolicy;
use tenure_core::tools::Notify;
use tenure_os::{environment, exec_limits, place};
use tenure_policy::executable::Bound;
use tenure_store::RunRow;

/// A run that was asked for.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) spec: Spec,
    /// Whether the scope's current run is ended first.
    pub(crate) replace: bool,
    /// The only session whose runs whoever asks may end.
    pub(crate) only_session: Option<String>,
    /// The session that is to be above its own, if that is new.
    pub(crate) session_parent: Option<SessionKey>,
    /// What carries it out.
    pub(crate) backend: Backend,
    /// Its id, if that was settled before.
    pub(crate) run_id: Option<RunId>,
    /// For a run of the exec tool.
    pub(crate) exec: Option<OfExec>,
    /// What of it is told, if it goes on by itself and is a task of its own.
    pub(crate) policy: Option<NotifyPolicy>,
    /// How much of its output is kept, where the settings do not decide.
    pub(crate) keep: Option<Keep>,
}

/// What a run of the exec tool has beside.
#[derive(Debug)]
pub(crate) struct OfExec {
    /// When its end is told.
    pub(crate) notify: Notify,
    /// The programs that it was allowed by: they must be the same when it is executed.
    pub(crate) bound: Vec<Bound>,
}

impl Asked {
    /// A run that carries out what a session is for. It belongs to the session, and ends nobody else's. Agents run their
    /// tools in sessions of their own: such processes are ended with the run, and do not make it fail.
    pub(crate) fn of_session(
        key: &SessionKey,
        backend: Backend,
        run: RunId,
        spec: Spec,
    ) -> Result<Self, Refusal> {
        let spec = Spec { session: Some(key.to_string()), on_escape: OnEscape::Reap, ..spec };
        check(&spec)?;
        Ok(Self {
            replace: spec.scope.is_some(),
            only_session: spec.session.clone(),
            session_parent: None,
            backend,
            run_id: Some(run),
            exec: None,
            policy: None,
            keep: None,
            spec,
        })
    }

    /// Whether whoever asks may know of this run and end it.
    pub(crate) fn may_replace(&self, row: &RunRow) -> bool {
        self.only_session.is_none() || row.ticket.session_id == self.only_session
    }
}

/// Refuses a command that cannot be started, before anything is recorded.
pub(crate) fn check(spec: &Spec) -> Result<(), Refusal> {
    spec.check().map_err(Refusal::invalid)?;
    spec.check_size(exec_limits::current()).map_err(Refusal::too_long)
}

/// The command, the directory and the environment.
#[derive(Debug, Clone)]
pub(crate) struct Process {
    pub(crate) words: Vec<Vec<u8>>,
    pub(crate) cwd: Vec<u8>,
    pub(crate) env: Vec<Vec<u8>>,
    pub(crate) env_names: Vec<String>,
    pub(crate) umask: u32,
    pub(crate) nofile: Option<(u64, u64)>,
    /// How much of the output is kept, where whoever asks may say so.
    pub(crate) keep: Option<Keep>,
}

/// Makes sense of a request.
pub(crate) fn read(request: &RunRequest, state_root: &str, who: &Requester) -> Result<Asked, Refusal> {
    let session = session_of(request.session.as_ref(), who)?;
    let mut process = match &request.exact {
        Some(exact) => of_caller(request, exact)?,
        None => of_daemon(request, state_root)?,
    };
    let transport = transport(request, &mut process)?;
    // The disk is the operator's.
    let keep = process.keep.filter(|_| who.only_session().is_none());
    let spec = Spec {
        session,
        scope: named("scope", request.scope.as_ref())?,
        label: named("label", request.label.as_ref())?,
        on_escape: request.on_escape.unwrap_or_default(),
        orphan: request.orphan.unwrap_or_default(),
        resources: request.resources.clone().unwrap_or_default(),
        ..process.spec(transport, limits(request))
    };
    if request.replace && spec.scope.is_none() {
        return Err(Refusal::invalid("replace needs a scope: it is the scope's run that is replaced"));
    }
    check(&spec)?;
    let only_session = who.only_session().map(str::to_owned);
    Ok(Asked {
        spec,
        replace: request.replace,
        only_session,
        session_parent: who.maker().cloned(),
        backend: Backend::Run,
        run_id: None,
        exec: None,
        policy: Some(request.notify.unwrap_or_default()),
        keep,
    })
}

/// The session of a new run. A client that is bound to a session starts runs only of that session.
pub(crate) fn session_of(asked: Option<&String>, who: &Requester) -> Result<Option<String>, Refusal> {
    match (session_key(asked)?, who.only_session()) {
        (Some(asked), Some(own)) if asked.as_str() != own => {
            Err(Refusal::forbidden(format!("session {own} cannot start a run of session {asked}")))
        }
        (Some(session), _) => Ok(Some(session.into())),
        (None, own) => Ok(own.map(str::to_owned)),
    }
}

/// A session's key that is given is one.
pub(crate) fn session_key(key: Option<&String>) -> Result<Option<SessionKey>, Refusal> {
    key.map(|key| key.parse()).transpose().map_err(Refusal::invalid)
}

/// A name that is given is not empty, and is one line.
pub(crate) fn named(what: &str, key: Option<&String>) -> Result<Option<String>, Refusal> {
    match key {
        Some(key) if key.is_empty() || key.len() > 512 || key.chars().any(char::is_control) => {
            let shown: String = key.chars().take(64).collect();
            let cut =
                if shown.len() < key.len() { format!("… ({} bytes)", key.len()) } else { String::new() };
            Err(Refusal::invalid(format!(
                "the {what} is to be one line of 1 to 512 bytes, not {shown:?}{cut}"
            )))
        }
        other => Ok(other.cloned()),
    }
}

/// The caller's own process hands everything down.
fn of_caller(request: &RunRequest, exact: &Exact) -> Result<Process, Refusal> {
    if !request.command.is_empty()
        || request.pty_command.is_some()
        || request.cwd.is_some()
        || !request.env.is_empty()
    {
        return Err(Refusal::invalid("exact stands instead of command, ptyCommand, cwd and env"));
    }
    unpack(exact)
}

/// What a caller's process hands down.
pub(crate) fn unpack(exact: &Exact) -> Result<Process, Refusal> {
    let malformed = || Refusal::invalid("exact.words is base64 of words that each end with a NUL");
    let bytes = BASE64_STANDARD.decode(&exact.words).map_err(|_| malformed())?;
    let bytes = bytes.strip_suffix(b"\0").ok_or_else(malformed)?;
    let mut words = bytes.split(|&b| b == 0).map(<[u8]>::to_vec);
    let cwd = words.next().ok_or_else(malformed)?;
    let command: Vec<_> = words.by_ref().take(exact.argc).collect();
    if command.len() != exact.argc {
        return Err(malformed());
    }
    Ok(Process {
        words: command,
        cwd,
        env: words.collect(),
        env_names: exact.env_names.clone(),
        umask: exact.umask & 0o777,
        nofile: Some(exact.nofile),
        keep: exact.keep,
    })
}

/// The calling process on this machine, as our own command line sends it.
#[derive(Debug, Clone)]
pub(crate) struct CallerProcess {
    process: Process,
    /// True if the environment is a person's or a gateway's. A session's is trusted no more than variables of its
    /// calls.
    of_operator: bool,
}

impl CallerProcess {
    /// Unpacks it. `from_cli` is true if our own command line sent it as its own process.
    pub(crate) fn of(exact: &Exact, from_cli: bool, who: &Requester) -> Result<Self, Refusal> {
        if !from_cli {
            return Err(Refusal::invalid(
                "process is for Tenure's own command line: leave it out, and give workdir and env",
            ));
        }
        if exact.argc != 0 {
            return Err(Refusal::invalid("process.argc is to be 0: exec says what to run"));
        }
        Ok(Self { process: unpack(exact)?, of_operator: matches!(who, Requester::Operator { .. }) })
    }

    /// The variables of a person's or a gateway's process; what is no text is not among them.
    pub(crate) fn variables(&self) -> Option<impl Iterator<Item = (String, String)>> {
        let pair = |entry: &Vec<u8>| {
            let (name, value) = std::str::from_utf8(entry).ok()?.split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        };
        self.of_operator.then(|| self.process.env.iter().filter_map(pair))
    }

    /// The process that a command of this caller starts from: the caller's directory, umask and limits. If a policy
    /// judges the command, the environment is the daemon's, so that bare names are looked up in the daemon's PATH.
    pub(crate) fn begin(self, daemons: Process, judged: bool) -> Process {
        let env = if self.of_operator && !judged { self.process.env } else { daemons.env };
        // The disk is the operator's.
        let keep = self.process.keep.filter(|_| self.of_operator);
        Process { env, keep, ..self.process }
    }
}

/// What the daemon hands down to a request without a process behind it: of its environment what programs count on, and the
/// user's home.
pub(crate) fn handed_down(state_root: &str) -> Process {
    let is_handed_down = |name: &str| {
        let is = |its: &&str| environment::same_name(its.as_bytes(), name.as_bytes());
        environment::EVERYDAY.iter().any(is) || name.starts_with("LC_")
    };
    let mut env: Vec<Vec<u8>> = own_variables()
        .filter(|(name, _)| is_handed_down(name))
        .map(|(name, value)| format!("{name}={value}").into_bytes())
        .collect();
    env.push(format!("TENURE_STATE={state_root}").into_bytes());
    Process {
        words: Vec::new(),
        cwd: home().into_bytes(),
        env,
        env_names: Vec::new(),
        umask: 0o022,
        nofile: None,
        keep: None,
    }
}

/// The user's home.
pub(crate) fn home() -> String {
    std::env::var(place::home_variable()).unwrap_or_else(|_| place::top().to_owned())
}

/// The variables of the daemon's own environment; what is no text is not among them.
pub(crate) fn own_variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

impl Process {
    /// A run of it, with nothing out of the ordinary.
    pub(crate) fn spec(self, transport: Transport, limits: Limits) -> Spec {
        Spec {
            transport,
            cwd: self.cwd,
            env: self.env,
            env_names: self.env_names,
            umask: self.umask,
            nofile: self.nofile,
            session: None,
            scope: None,
            label: None,
            limits,
            resources: Resources::default(),
            on_escape: OnEscape::default(),
            orphan: Orphan::default(),
        }
    }

    /// Sets a variable, whether it is there or not.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<(), Refusal> {
        let entry = format!("{name}={value}").into_bytes();
        if name.contains('=') {
            return Err(Refusal::invalid(format!("{name:?} is no name of a variable")));
        }
        check_env(&entry).map_err(Refusal::invalid)?;
        let begins = entry[..=name.len()].to_vec();
        let same = |known: &[u8]| environment::same_name(known, &begins);
        self.env.retain(|known| !known.get(..begins.len()).is_some_and(same));
        self.env.push(entry);
        Ok(())
    }
}

/// A request without a process behind it begins with what the daemon hands down.
fn of_daemon(request: &RunRequest, state_root: &str) -> Result<Process, Refusal> {
    let mut process = handed_down(state_root);
    for (name, value) in &request.env {
        process.set(name, value)?;
    }
    match &request.cwd {
        Some(cwd) if Path::new(cwd).is_absolute() => process.cwd = cwd.clone().into_bytes(),
        Some(cwd) => return Err(Refusal::invalid(format!("cwd is to be absolute, not {cwd:?}"))),
        None => {}
    }
    process.words = request.command.iter().map(|word| word.clone().into_bytes()).collect();
    process.env_names = request.env.keys().cloned().collect();
    Ok(process)
}

fn transport(request: &RunRequest, process: &mut Process) -> Result<Transport, Refusal> {
    let (cols, rows) = defaults::PTY_SIZE;
    let size = request.pty_size.unwrap_or(Size { cols, rows });
    let words = std::mem::take(&mut process.words);
    let command = match &request.pty_command {
        Some(_) if !words.is_empty() => {
            return Err(Refusal::invalid("give command or ptyCommand, not both"));
        }
        Some(line) => Some(for_the_shell(line, process)?),
        None if request.pty => Some(PtyCommand::Argv(Argv::new(words.clone()).map_err(Refusal::invalid)?)),
        None => None,
    };
    let Some(command) = command else {
        let command = Argv::new(words).map_err(Refusal::invalid)?;
        return Ok(Transport::Pipes { command, stdin: request.stdin == Some(Stdin::Open) });
    };
    if request.stdin == Some(Stdin::Closed) {
        return Err(Refusal::invalid("a terminal's input cannot be closed"));
    }
    if !process.env.iter().any(|entry| entry.starts_with(b"TERM=")) {
        process.env.push(b"TERM=xterm-256color".to_vec());
    }
    Ok(Transport::Pty { command, size })
}

/// A line for the shell of this system: `sh`, or the words with which another is given it.
fn for_the_shell(line: &str, process: &Process) -> Result<PtyCommand, Refusal> {
    let whole = Line::new(line.to_owned()).map_err(Refusal::invalid)?;
    if let Some(sh) = tenure_os::shell::posix() {
        let executed = shell::replacing(Path::new(sh), line, &process.cwd, &process.env);
        return Ok(PtyCommand::Line(whole.executing(executed)));
    }
    let words = shell::of_system(line.to_owned()).into_iter().map(String::into_bytes);
    Ok(PtyCommand::Argv(Argv::new(words.collect()).map_err(Refusal::invalid)?))
}

fn limits(request: &RunRequest) -> Limits {
    let off_at_zero = |ms: Option<u64>| ms.filter(|&ms| ms > 0).map(Duration::from_millis);
    let or_default = |ms: Option<u64>, default| ms.map_or(default, Duration::from_millis);
    Limits {
        overall: off_at_zero(request.timeout_ms),
        no_output: off_at_zero(request.no_output_timeout_ms),
        activity: request.activity.unwrap_or_default(),
        grace: or_default(request.grace_ms, defaults::GRACE),
        give_up: defaults::GIVE_UP,
        orphan_grace: or_default(request.orphan_grace_ms, defaults::ORPHAN_GRACE),
    }
}
