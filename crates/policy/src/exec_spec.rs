//! Reads exec requests: the command, its directory, environment and limits, and the caller's wait.

use crate::Approvals;
use crate::authorize::{CommandLine, ProgramsUnchanged, needs_authorization};
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

/// A valid exec request, ready for authorization and start.
#[derive(Debug, Clone)]
pub struct ExecSpec {
    /// The command line.
    pub command: String,
    /// The spec of its run, without the command.
    pub spec: Spec,
    /// The variables of the call.
    pub env: BTreeMap<String, String>,
    /// The variables that are part of the authorization.
    pub(crate) unlisted: Unlisted,
    /// True if the directory, the umask and the limits are those of a calling process.
    pub(crate) from_process: bool,
    /// Shell for a line that is executed as it was written.
    pub shell: PathBuf,
    /// Parent of the run's session, if the session is new.
    maker: Option<SessionKey>,
    replace: bool,
    /// Condition for a notice of the end.
    pub notify: Notify,
    /// Approval requested by the call itself.
    pub ask: Option<Ask>,
    /// Maximum wait for the end, before the command continues in the background.
    pub window: Duration,
    /// Deviations from the request.
    pub warnings: Vec<String>,
}

/// Reads and checks a request.
pub fn read(
    approvals: &Approvals,
    request: &ExecRequest,
    caller: Option<CallerProcess>,
    who: &Requester,
) -> Result<ExecSpec, Refusal> {
    check_command(&request.command)?;
    let given = request.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let unlisted = environment::judge(given).map_err(Refusal::invalid)?;
    let (daemons, from_process) = (approvals.supervisor.inherited_spec(), caller.is_some());
    let is_authorized = needs_authorization(&approvals.supervisor.settings.exec, request.ask);
    let mut spec = match caller {
        Some(caller) => caller.begin(daemons, is_authorized),
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
    Ok(ExecSpec {
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
        return Err(Refusal::invalid("the command is empty: give a command line"));
    }
    if command.len() >= COMMAND_BYTES {
        return Err(Refusal::invalid(format!(
            "the command has {} bytes, and the system accepts fewer than {COMMAND_BYTES}: write it to a file and run that",
            command.len()
        )));
    }
    if command.contains('\0') {
        return Err(Refusal::invalid("the command contains a NUL byte: remove it"));
    }
    Ok(())
}

/// Returns the working directory. A relative one begins at the caller's directory.
fn directory(workdir: &str, cwd: &[u8]) -> Result<Vec<u8>, Refusal> {
    if workdir.trim().is_empty() || workdir.contains('\0') {
        return Err(Refusal::invalid(format!(
            "workdir {workdir:?} is not a directory: give a path, or leave it out"
        )));
    }
    if Path::new(workdir).is_absolute() {
        return Ok(workdir.as_bytes().to_vec());
    }
    let from = std::str::from_utf8(cwd)
        .map_err(|_| Refusal::invalid("the caller's directory is not UTF-8: give an absolute workdir"))?;
    Ok(text::bytes(Path::new(from).join(workdir)))
}

/// Returns the maximum wait for the end; zero for background commands.
fn window(request: &ExecRequest, usual: Duration, warnings: &mut Vec<String>) -> Duration {
    let (shortest, longest) = YIELD_MS;
    if request.background {
        return Duration::ZERO;
    }
    let Some(asked) = request.yield_ms else { return usual };
    let taken = asked.clamp(shortest, longest);
    if taken != asked {
        warnings.push(format!("yieldMs must be {shortest} to {longest}: used {taken} instead of {asked}"));
    }
    Duration::from_millis(taken)
}

/// Reads a time limit in seconds. Zero means no limit.
fn seconds(what: &str, given: Option<f64>, usual: Option<Duration>) -> Result<Option<Duration>, Refusal> {
    let Some(given) = given else { return Ok(usual) };
    match Duration::try_from_secs_f64(given) {
        // A positive value must not be rounded to zero, which means no limit.
        Ok(length) if given > 0.0 => Ok(Some(length.max(Duration::from_nanos(1)))),
        Ok(_) => Ok(None),
        Err(_) => Err(Refusal::invalid(format!(
            "{what} {given} is not a number of seconds: give a number, or 0 for no limit"
        ))),
    }
}

impl ExecSpec {
    /// Resolves the links of the working directory, because a link may lead elsewhere by the time of the approval. A missing
    /// directory stays as it was written, and the start fails.
    pub(crate) fn follow_links(&mut self) {
        if let Ok(real) = file::real(&self.cwd()) {
            self.spec.cwd = text::bytes(real);
        }
    }

    /// Returns the working directory.
    pub fn cwd(&self) -> PathBuf {
        text::from_bytes(&self.spec.cwd).into()
    }

    /// Returns true if the command gets a terminal.
    pub fn has_terminal(&self) -> bool {
        self.spec.options.pty_size.is_some()
    }

    /// Returns true if another request is for the same command.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let (one, two) = (&self.spec, &other.spec);
        (&self.command, &one.cwd, &one.env) == (&other.command, &two.cwd, &two.env)
            && one.options.pty_size == two.options.pty_size
            && one.options.session_id == two.options.session_id
            && one.options.scope == two.options.scope
    }

    /// Returns the request to start the run of this line.
    pub fn start_request(&self, line: CommandLine, run_id: Option<RunId>) -> Result<StartRequest, Refusal> {
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
            return Err(Refusal::invalid("replace needs a scopeKey: it replaces the run of that scope"));
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
