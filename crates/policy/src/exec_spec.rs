//! What an exec request means: the command, where and with what it runs, how long it is waited for.

use crate::Approvals;
use crate::authorize::{Line, ProgramsUnchanged, is_judged};
use crate::environment::{self, Unlisted};
use crate::user_shell as shell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tenure_core::defaults;
use tenure_core::ids::RunId;
use tenure_core::policy::Ask;
use tenure_core::session::{Backend, SessionKey};
use tenure_core::spec::{Argv, Spec};
use tenure_core::tools::{COMMAND_BYTES, ExecRequest, Notify, YIELD_MS};
use tenure_os::{file, text};
use tenure_supervisor::Refusal;
use tenure_supervisor::Requester;
use tenure_supervisor::start_request::{self, CallerProcess, StartRequest, named, session_of, set_variable};

/// An exec request that is understood.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The command line.
    pub command: String,
    /// The spec of its run, without the command.
    pub spec: Spec,
    /// The variables of the call.
    pub env: BTreeMap<String, String>,
    /// The variables that the policy judges.
    pub(crate) unlisted: Unlisted,
    /// True if the directory, the umask and the limits are those of a calling process.
    pub(crate) from_process: bool,
    /// What a line goes to that is executed as it is.
    pub shell: PathBuf,
    /// The session that is to be above its own, if that is new.
    maker: Option<SessionKey>,
    replace: bool,
    /// When the owner is notified of the end.
    pub notify: Notify,
    /// The call's own wish to be asked about.
    pub ask: Option<Ask>,
    /// How long its end is waited for.
    pub window: Duration,
    /// What is done differently from what was asked.
    pub warnings: Vec<String>,
}

/// Understands a request, or says what is wrong with it.
pub fn read(
    approvals: &Approvals,
    request: &ExecRequest,
    caller: Option<CallerProcess>,
    who: &Requester,
) -> Result<Wanted, Refusal> {
    check_command(&request.command)?;
    let given = request.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let unlisted = environment::judge(given).map_err(Refusal::invalid)?;
    let (daemons, from_process) = (approvals.supervisor.inherited_spec(), caller.is_some());
    let judged = is_judged(&approvals.supervisor.settings.exec, request.ask);
    let mut spec = match caller {
        Some(caller) => caller.begin(daemons, judged),
        None => daemons,
    };
    let shell = shell::choose(&spec.env);
    spec.env = environment::scrub(std::mem::take(&mut spec.env));
    for (name, value) in &request.env {
        set_variable(&mut spec.env, name, value)?;
    }
    spec.options.env_names = request.env.keys().cloned().collect();
    if let Some(workdir) = &request.workdir {
        spec.cwd = directory(workdir, &spec.cwd)?;
    }
    let mut warnings = Vec::new();
    let settings = &approvals.supervisor.settings;
    let window = window(request, settings.exec.yield_after, &mut warnings);
    let options = &mut spec.options;
    options.limits.overall = seconds("timeoutSeconds", request.timeout_seconds, settings.exec.timeout)?;
    options.limits.no_output = seconds("noOutputTimeoutSeconds", request.no_output_timeout_seconds, None)?;
    options.session_id = session_of(request.session_key.as_ref(), who)?;
    options.scope = named("scopeKey", request.scope_key.as_ref())?;
    options.label = named("label", request.label.as_ref())?;
    options.stdin = true;
    options.pty_size = request.pty.then_some(defaults::PTY_SIZE);
    Ok(Wanted {
        spec,
        env: request.env.clone(),
        unlisted,
        from_process,
        shell,
        maker: who.maker().cloned(),
        replace: request.replace,
        notify: request.notify.unwrap_or(settings.exec.notify),
        ask: request.ask,
        window,
        warnings,
        command: request.command.clone(),
    })
}

fn check_command(command: &str) -> Result<(), Refusal> {
    if command.trim().is_empty() {
        return Err(Refusal::invalid("the command is empty: say what to run"));
    }
    if command.len() >= COMMAND_BYTES {
        return Err(Refusal::invalid(format!(
            "the command has {} bytes, and the system takes fewer than {COMMAND_BYTES}: write it to a file and run that",
            command.len()
        )));
    }
    if command.contains('\0') {
        return Err(Refusal::invalid("the command holds a NUL byte, which no program can be given"));
    }
    Ok(())
}

/// A directory as it is given, from where the caller is.
fn directory(workdir: &str, cwd: &[u8]) -> Result<Vec<u8>, Refusal> {
    if workdir.trim().is_empty() || workdir.contains('\0') {
        return Err(Refusal::invalid(format!("{workdir:?} is no directory: leave workdir out, or name one")));
    }
    if Path::new(workdir).is_absolute() {
        return Ok(workdir.as_bytes().to_vec());
    }
    let from = std::str::from_utf8(cwd)
        .map_err(|_| Refusal::invalid("the caller's directory is not UTF-8: give an absolute workdir"))?;
    Ok(text::bytes(Path::new(from).join(workdir)))
}

/// How long the end is waited for; in the background not at all.
fn window(request: &ExecRequest, usual: Duration, warnings: &mut Vec<String>) -> Duration {
    let (shortest, longest) = YIELD_MS;
    if request.background {
        return Duration::ZERO;
    }
    let Some(asked) = request.yield_ms else { return usual };
    let taken = asked.clamp(shortest, longest);
    if taken != asked {
        warnings.push(format!("yieldMs is {shortest} to {longest}: {taken} was taken for {asked}"));
    }
    Duration::from_millis(taken)
}

/// A time limit in seconds; 0 is none, and without one it is the usual.
fn seconds(what: &str, given: Option<f64>, usual: Option<Duration>) -> Result<Option<Duration>, Refusal> {
    let Some(given) = given else { return Ok(usual) };
    match Duration::try_from_secs_f64(given) {
        // The shortest time is no time, and not none.
        Ok(length) if given > 0.0 => Ok(Some(length.max(Duration::from_nanos(1)))),
        Ok(_) => Ok(None),
        Err(_) => {
            Err(Refusal::invalid(format!("{what} is a number of seconds, 0 for no limit, not {given}")))
        }
    }
}

impl Wanted {
    /// Settles where it runs: a link in that may lead elsewhere by the time at which it is allowed. A directory that is
    /// not there stays as it is written, and nothing can be started in it.
    pub(crate) fn follow_links(&mut self) {
        if let Ok(real) = file::real(&self.cwd()) {
            self.spec.cwd = text::bytes(real);
        }
    }

    /// Where it runs.
    pub fn cwd(&self) -> PathBuf {
        text::from_bytes(&self.spec.cwd).into()
    }

    /// Whether it gets a terminal.
    pub fn has_terminal(&self) -> bool {
        self.spec.options.pty_size.is_some()
    }

    /// Whether another wants the same.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let (one, two) = (&self.spec, &other.spec);
        (&self.command, &one.cwd, &one.env) == (&other.command, &two.cwd, &two.env)
            && one.options.pty_size == two.options.pty_size
            && one.options.session_id == two.options.session_id
            && one.options.scope == two.options.scope
    }

    /// The request for the run that executes this line.
    pub fn start_request(&self, line: Line, run_id: Option<RunId>) -> Result<StartRequest, Refusal> {
        let words = line.words.into_iter().map(String::into_bytes).collect();
        let command = Argv::new(words).map_err(Refusal::invalid)?;
        let mut spec = self.spec.clone();
        if line.understood {
            environment::TAME
                .iter()
                .try_for_each(|(name, value)| set_variable(&mut spec.env, name, value))?;
        }
        spec.argv = shell::replaced(command, &spec.cwd, &spec.env);
        if self.has_terminal() && matches!(shell::variable(&spec.env, "TERM"), None | Some("" | "dumb")) {
            set_variable(&mut spec.env, "TERM", "xterm-256color")?;
        }
        if self.replace && spec.options.scope.is_none() {
            return Err(Refusal::invalid("replace needs a scopeKey: it is the scope's run that is replaced"));
        }
        start_request::check(&spec)?;
        let check = ProgramsUnchanged(line.bound);
        Ok(StartRequest {
            replace: self.replace,
            only_session: spec.options.session_id.clone(),
            session_parent: self.maker.clone(),
            run_id,
            notify: Some(self.notify),
            check: Some(Box::new(check)),
            ..StartRequest::new(spec, Backend::Exec)
        })
    }
}
