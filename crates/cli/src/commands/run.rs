//! `tenure run`: run a command and own its whole process tree until it is gone.

mod foreground;
mod handover;
mod stdin_copy;

#[cfg(test)]
#[cfg(unix)]
pub(crate) use handover::refused as refused_in_foreground;

use crate::args::{Limit, RunArgs, StdinArg};
use crate::failure::Failure;
use crate::{caller_context, daemon_client, print, settings};
use std::env;
use std::io::IsTerminal;
use std::time::Duration;
use tenure_client::{CallError, Client};
use tenure_core::api::{Exact, RunRequest};
use tenure_core::defaults;
use tenure_core::ending::Reason;
use tenure_core::limits::Limits;
use tenure_core::resources::Resources;
use tenure_core::session::{BadKey, SessionKey};
use tenure_core::spec::{Argv, Size, Spec, check_env};
use tenure_core::wire::{KeeperMessage, KeeperRequest, Role};
use tenure_keeper::launch::{LaunchedRun, NurseryHandle};
use tenure_keeper::state_root::StateRoot;
use tenure_os::stderr::complain;
use tenure_os::{descriptors, exec_limits, terminal, text};
use tenure_settings::Settings;

/// Time limit of `--bg` for the command to be executed or refused.
const EXECUTION_LIMIT: Duration = Duration::from_mins(1);

pub(crate) fn run(args: &RunArgs) -> Result<u8, Failure> {
    let settings = settings::load().map_err(Failure::with_run_code)?;
    let spec = spec(args, &settings).map_err(Failure::tenure_failed)?;
    spec.check().map_err(Failure::tenure_failed)?;
    let state = settings::open(&settings).map_err(Failure::with_run_code)?;
    let started = match daemon_client::connect_or_start(&settings).map_err(Failure::with_run_code)? {
        Some(client) if args.bg => in_background(args, &client, &request(args, &settings, &spec)),
        Some(client) => foreground::by_daemon(args, &settings, &client, &request(args, &settings, &spec)),
        None => without_daemon(args, &state, spec),
    };
    started.map_err(Failure::with_run_code)
}

/// Starts the run through the daemon, prints its id, and exits.
fn in_background(args: &RunArgs, client: &Client, request: &RunRequest) -> Result<u8, Failure> {
    let run =
        daemon_client::try_call(client.start(request))?.map_err(|failed| refused_in_background(&failed))?;
    if let Some(termination) = &run.termination
        && termination.reason == Reason::SpawnError
    {
        complain(format_args!("{}", termination.detail.as_deref().unwrap_or("cannot start the command")));
        return Ok(termination.code());
    }
    let printed = if args.json { print::json(&run) } else { print::line(&run.run_id) };
    // Nobody knows the run's id, so nobody could end it.
    if let Err(failure) = printed {
        daemon_client::call(client.cancel(&run.run_id, false))?;
        return Err(failure);
    }
    Ok(0)
}

/// Converts a client's error of a start in the background.
pub(crate) fn refused_in_background(failed: &CallError) -> Failure {
    match failed.code() {
        Some("too-long") => Failure::not_startable(failed),
        _ => daemon_client::to_failure(failed),
    }
}

/// Starts the run without a daemon, by a nursery of its own. The next daemon registers the run.
fn without_daemon(args: &RunArgs, state: &StateRoot, spec: Spec) -> Result<u8, Failure> {
    if spec.options.scope.is_some() {
        return Err(Failure::tenure_failed(
            "--scope needs a running daemon, which allows one live run per scope: start it with `tenure daemon start`",
        ));
    }
    spec.check_size(exec_limits::current()).map_err(Failure::not_startable)?;
    if args.bg { background(args, state, &spec) } else { foreground::run(args, state, spec) }
}

/// Starts the run by a nursery of its own, prints its id, and exits.
fn background(args: &RunArgs, state: &StateRoot, spec: &Spec) -> Result<u8, Failure> {
    let nursery = NurseryHandle::start(state).map_err(Failure::tenure_failed)?;
    let mut launched = nursery.run(state, spec, Role::Holder { epoch: 1 }).map_err(Failure::tenure_failed)?;
    match launched.keeper.receive::<KeeperMessage>(EXECUTION_LIMIT).map_err(Failure::tenure_failed)?.0 {
        KeeperMessage::Started { .. } => {}
        KeeperMessage::NotStarted { error } => {
            complain(format_args!("{}", error.detail));
            let (message, _) =
                launched.keeper.receive::<KeeperMessage>(EXECUTION_LIMIT).map_err(Failure::tenure_failed)?;
            return match message {
                KeeperMessage::Ended { ending } => Ok(ending.termination.code()),
                other => Err(super::unexpected(&other)),
            };
        }
        KeeperMessage::Refused { why } => return Err(Failure::tenure_failed(why)),
        other => return Err(super::unexpected(&other)),
    }
    if args.orphan_grace.is_none() {
        let released = super::ask(&mut launched.keeper, &KeeperRequest::Release, &[]);
        // If the command has ended already, its keeper needs no release and may be gone.
        if !matches!(launched.dir.ending(), Ok(Some(_))) {
            released?;
        }
    }
    let printed =
        if args.json { print_record(&launched) } else { print::line(launched.ticket.run_id.as_str()) };
    // Nobody knows the run's id, so nobody could end it.
    printed.inspect_err(|_| launched.keeper.send(&KeeperRequest::Cancel { now: false }, &[]))?;
    Ok(0)
}

/// Prints the record of a run that has ended.
fn print_record(launched: &LaunchedRun) -> Result<(), Failure> {
    print::json(&launched.dir.view().map_err(Failure::tenure_failed)?.json())
}

/// Builds the request for this spec. The daemon's settings limit the recorded output, unless our environment sets the limits.
fn request(args: &RunArgs, settings: &Settings, spec: &Spec) -> RunRequest {
    let exact = Exact {
        words: caller_context::pack(spec),
        argc: spec.argv.words().len(),
        umask: spec.umask,
        nofile: descriptors::limit(),
        env_names: spec.options.env_names.clone(),
        keep: caller_context::output_limits(settings),
    };
    RunRequest { replace: args.replace, notify: args.notify, ..RunRequest::of(spec, exact) }
}

fn spec(args: &RunArgs, settings: &Settings) -> anyhow::Result<Spec> {
    let mut spec = Spec {
        argv: Argv::new(args.command.iter().map(text::bytes).collect())?,
        cwd: cwd(args)?,
        env: caller_context::environment(settings),
        umask: tenure_os::file::umask(),
        ..settings.spec()
    };
    let options = &mut spec.options;
    for setting in &args.env {
        let setting = &*text::bytes(setting);
        check_env(setting)?;
        let name = setting.split_inclusive(|&b| b == b'=').next().unwrap_or_default();
        spec.env.retain(|entry| !caller_context::has_name(entry, name));
        spec.env.push(setting.to_vec());
        options.env_names.push(String::from_utf8_lossy(&name[..name.len() - 1]).into_owned());
    }
    if args.pty {
        options.use_terminal(pty_size());
        if !spec.env.iter().any(|entry| caller_context::has_name(entry, b"TERM=")) {
            spec.env.push(b"TERM=xterm-256color".to_vec());
        }
    } else {
        options.stdin = stdin(args) != StdinArg::Closed;
    }
    (options.session_id, options.scope, options.label) =
        (session(args)?, args.scope.clone(), args.label.clone());
    apply_limits(&mut options.limits, args);
    options.resources = Resources {
        memory_bytes: args.memory,
        milli_cpus: args.cpus,
        processes: args.processes,
        rlimits: args.rlimit.clone(),
    };
    (options.on_escape, options.orphan) = (args.on_escape.into(), args.orphan.into());
    Ok(spec)
}

/// Parses the session key. A daemon would refuse the same keys.
fn session(args: &RunArgs) -> Result<Option<String>, BadKey> {
    let key = args.session.as_deref().map(str::parse::<SessionKey>).transpose()?;
    Ok(key.map(Into::into))
}

fn stdin(args: &RunArgs) -> StdinArg {
    args.stdin.unwrap_or(if args.bg { StdinArg::Closed } else { StdinArg::Inherit })
}

/// Applies the flags to the limits. For a time limit, `off` means no limit; a grace of zero kills at once, and an orphan grace
/// of zero ends the run at once.
fn apply_limits(limits: &mut Limits, args: &RunArgs) {
    let length = |flag: Option<Limit>, usual| flag.map_or(usual, |limit| limit.0.unwrap_or_default());
    limits.overall = args.timeout.map_or(limits.overall, |limit| limit.0);
    limits.no_output = args.no_output_timeout.and_then(|limit| limit.0);
    limits.activity = args.activity.into();
    limits.grace = length(args.grace, limits.grace);
    limits.orphan_grace = length(args.orphan_grace, limits.orphan_grace);
}

/// Returns the size of the caller's terminal, or the default.
fn pty_size() -> Size {
    let own = [terminal::stdout().size(), terminal::stdin().size()];
    let watched = std::io::stdout().is_terminal() || std::io::stdin().is_terminal();
    own.into_iter().flatten().find(|_| watched).unwrap_or(defaults::PTY_SIZE)
}

/// Returns the working directory as an absolute path. The keeper checks that it exists.
fn cwd(args: &RunArgs) -> anyhow::Result<Vec<u8>> {
    let here = || {
        env::current_dir().map_err(|error| anyhow::anyhow!("the current directory cannot be read: {error}"))
    };
    let path = match &args.cwd {
        Some(dir) if dir.is_absolute() => dir.clone(),
        Some(dir) => here()?.join(dir),
        None => here()?,
    };
    Ok(text::bytes(path))
}
