//! What an exec request means: the command, where and with what it runs, how long it is waited for.

use super::judge::{Line, is_judged};
use super::shell;
use crate::asked::{self, Asked, CallerProcess, OfExec, Process, named, session_of};
use crate::daemon::Daemon;
use crate::refusal::Refusal;
use crate::requester::Requester;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tenure_core::defaults;
use tenure_core::ids::RunId;
use tenure_core::limits::Limits;
use tenure_core::policy::Ask;
use tenure_core::session::{Backend, SessionKey};
use tenure_core::spec::{Argv, PtyCommand, Size, Spec, Transport};
use tenure_core::tools::{COMMAND_BYTES, ExecRequest, Notify, YIELD_MS};
use tenure_os::{file, text};
use tenure_policy::environment::{self, Unlisted};

/// An exec request that is understood.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    /// The command line.
    pub(crate) command: String,
    /// Where it runs and with what environment.
    pub(crate) process: Process,
    /// The variables of the call.
    pub(crate) env: BTreeMap<String, String>,
    /// The variables that the policy judges.
    pub(crate) unlisted: Unlisted,
    /// True if the directory, the umask and the limits are those of a calling process.
    pub(crate) from_process: bool,
    /// What a line goes to that is executed as it is.
    pub(crate) shell: PathBuf,
    pub(crate) pty: bool,
    pub(crate) session: Option<String>,
    /// The session that is to be above that one, if it is new.
    maker: Option<SessionKey>,
    scope: Option<String>,
    replace: bool,
    label: Option<String>,
    limits: Limits,
    pub(crate) notify: Notify,
    pub(crate) ask: Option<Ask>,
    /// How long its end is waited for.
    pub(crate) window: Duration,
    /// What is done differently from what was asked.
    pub(crate) warnings: Vec<String>,
}

/// Understands a request, or says what is wrong with it.
pub(crate) fn read(
    daemon: &Daemon,
    request: &ExecRequest,
    caller: Option<CallerProcess>,
    who: &Requester,
) -> Result<Wanted, Refusal> {
    check_command(&request.command)?;
    let given = request.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let unlisted = environment::judge(given).map_err(Refusal::invalid)?;
    let (daemons, from_process) = (asked::handed_down(&daemon.state_text()), caller.is_some());
    let judged = is_judged(&daemon.settings.exec, request.ask);
    let mut process = match caller {
        Some(caller) => caller.begin(daemons, judged),
        None => daemons,
    };
    let shell = shell::choose(&process.env);
    process.env = environment::scrub(std::mem::take(&mut process.env));
    for (name, value) in &request.env {
        process.set(name, value)?;
    }
    process.env_names = request.env.keys().cloned().collect();
    if let Some(workdir) = &request.workdir {
        process.cwd = directory(workdir, &process.cwd)?;
    }
    let mut warnings = Vec::new();
    let settings = &daemon.settings;
    let window = window(request, settings.exec.yield_after, &mut warnings);
    let limits = Limits {
        overall: seconds("timeoutSeconds", request.timeout_seconds, settings.exec.timeout)?,
        no_output: seconds("noOutputTimeoutSeconds", request.no_output_timeout_seconds, None)?,
        ..settings.run.without_time_limits()
    };
    Ok(Wanted {
        process,
        env: request.env.clone(),
        unlisted,
        from_process,
        shell,
        pty: request.pty,
        session: session_of(request.session_key.as_ref(), who)?,
        maker: who.maker().cloned(),
        scope: named("scopeKey", request.scope_key.as_ref())?,
        replace: request.replace,
        label: named("label", request.label.as_ref())?,
        limits,
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
    pub(super) fn follow_links(&mut self) {
        if let Ok(real) = file::real(&self.cwd()) {
            self.process.cwd = text::bytes(real);
        }
    }

    /// Where it runs.
    pub(super) fn cwd(&self) -> PathBuf {
        text::from_bytes(&self.process.cwd).into()
    }

    /// Whether another wants the same.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let Self { command, process, pty, session, scope, .. } = other;
        let Process { cwd, env, .. } = process;
        (&self.command, &self.pty, &self.session, &self.scope) == (command, pty, session, scope)
            && (&self.process.cwd, &self.process.env) == (cwd, env)
    }

    /// The run that executes this line.
    pub(crate) fn asked(&self, line: Line, run_id: Option<RunId>) -> Result<Asked, Refusal> {
        let words = line.words.into_iter().map(String::into_bytes).collect();
        let command = Argv::new(words).map_err(Refusal::invalid)?;
        let mut process = self.process.clone();
        if line.understood {
            environment::TAME.iter().try_for_each(|(name, value)| process.set(name, value))?;
        }
        let command = shell::replaced(command, &process.cwd, &process.env);
        let transport = if self.pty {
            if matches!(shell::variable(&process.env, "TERM"), None | Some("" | "dumb")) {
                process.set("TERM", "xterm-256color")?;
            }
            let (cols, rows) = defaults::PTY_SIZE;
            Transport::Pty { command: PtyCommand::Argv(command), size: Size { cols, rows } }
        } else {
            Transport::Pipes { command, stdin: true }
        };
        let keep = process.keep;
        let spec = Spec {
            session: self.session.clone(),
            scope: self.scope.clone(),
            label: self.label.clone(),
            ..process.spec(transport, self.limits.clone())
        };
        if self.replace && self.scope.is_none() {
            return Err(Refusal::invalid("replace needs a scopeKey: it is the scope's run that is replaced"));
        }
        asked::check(&spec)?;
        let exec = Some(OfExec { notify: self.notify, bound: line.bound });
        let (replace, only_session) = (self.replace, self.session.clone());
        let session_parent = self.maker.clone();
        Ok(Asked {
            spec,
            replace,
            only_session,
            session_parent,
            backend: Backend::Exec,
            run_id,
            exec,
            policy: None,
            keep,
        })
    }
}
