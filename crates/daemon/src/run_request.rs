//! Requests for runs over HTTP: reads each into what the supervisor starts.

use std::path::Path;
use tenure_core::api::{Exact, RunRequest, Stdin};
use tenure_core::session::Backend;
use tenure_core::spec::{Argv, BadSpec, Spec};
use tenure_policy::user_shell as shell;
use tenure_supervisor::start_request::{StartRequest, check, named, session_of, set_variable, unpack};
use tenure_supervisor::{Refusal, Requester, Supervisor};

/// Reads a request to `/v1/runs`.
pub(crate) fn read(
    request: &RunRequest,
    supervisor: &Supervisor,
    who: &Requester,
) -> Result<StartRequest, Refusal> {
    let session_id = session_of(request.session.as_ref(), who)?;
    let mut spec = supervisor.inherited_spec();
    spec.options = request.options(&supervisor.settings.spec().options);
    match &request.exact {
        Some(exact) => take_exact(&mut spec, request, exact)?,
        None => take_words(&mut spec, request)?,
    }
    if request.pty || request.pty_command.is_some() {
        check_terminal(&mut spec, request.stdin)?;
    }
    named("scope", request.scope.as_ref())?;
    named("label", request.label.as_ref())?;
    spec.options.session_id = session_id;
    if who.only_session().is_some() {
        // Only an operator decides how much disk space output takes.
        spec.options.keep = supervisor.settings.output;
    }
    if request.replace && request.scope.is_none() {
        return Err(Refusal::invalid("replace needs a scope: it replaces the run of that scope"));
    }
    check(&spec)?;
    Ok(StartRequest {
        replace: request.replace,
        only_session: who.only_session().map(str::to_owned),
        session_parent: who.maker().cloned(),
        policy: Some(request.notify.unwrap_or_default()),
        ..StartRequest::new(spec, Backend::Run)
    })
}

/// Takes directory, environment and command from the caller's own process.
fn take_exact(spec: &mut Spec, request: &RunRequest, exact: &Exact) -> Result<(), Refusal> {
    if !request.command.is_empty()
        || request.pty_command.is_some()
        || request.cwd.is_some()
        || !request.env.is_empty()
    {
        return Err(Refusal::invalid("exact cannot be combined with command, ptyCommand, cwd or env"));
    }
    let argv = unpack(spec, exact)?;
    spec.argv = Argv::new(argv).map_err(Refusal::invalid)?;
    Ok(())
}

/// Takes directory, environment and command from the request's fields.
fn take_words(spec: &mut Spec, request: &RunRequest) -> Result<(), Refusal> {
    for (name, value) in &request.env {
        set_variable(&mut spec.env, name, value)?;
    }
    match &request.cwd {
        Some(cwd) if Path::new(cwd).is_absolute() => spec.cwd = cwd.clone().into_bytes(),
        Some(cwd) => {
            return Err(Refusal::invalid(format!("cwd {cwd:?} is not absolute: give an absolute path")));
        }
        None => {}
    }
    let argv = match &request.pty_command {
        Some(_) if !request.command.is_empty() => {
            return Err(Refusal::invalid("give command or ptyCommand, not both"));
        }
        Some(line) => shell_command(line, spec),
        None => Argv::new(request.command.iter().map(|word| word.clone().into_bytes()).collect()),
    };
    spec.argv = argv.map_err(Refusal::invalid)?;
    Ok(())
}

/// Refuses a terminal with closed input, and sets TERM if the environment does not have it.
fn check_terminal(spec: &mut Spec, stdin: Option<Stdin>) -> Result<(), Refusal> {
    if stdin == Some(Stdin::Closed) {
        return Err(Refusal::invalid("a run with a terminal needs its input: do not close stdin"));
    }
    if !spec.env.iter().any(|entry| entry.starts_with(b"TERM=")) {
        spec.env.push(b"TERM=xterm-256color".to_vec());
    }
    Ok(())
}

/// Returns the command that executes a line in this system's shell: `sh`, or the words for another shell.
fn shell_command(line: &str, spec: &Spec) -> Result<Argv, BadSpec> {
    let whole = Argv::line(line)?;
    if let Some(sh) = tenure_os::shell::posix() {
        let executed = shell::replacing(Path::new(sh), line, &spec.cwd, &spec.env);
        return Ok(executed.into_iter().fold(whole, Argv::executing));
    }
    let words = shell::of_system(line.to_owned()).into_iter().map(String::into_bytes);
    Argv::new(words.collect())
}
