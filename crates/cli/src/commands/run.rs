//! `tenure run`: run a command and own its whole process tree until it is gone.

mod foreground;
mod handover;
mod typing;

#[cfg(test)]
#[cfg(unix)]
pub(crate) use handover::refused as refused_in_foreground;

use crate::args::{Limit, RunArgs, StdinArg};
use crate::failure::Failure;
use crate::{here, print, reach, settings};
use std::env;
use std::io::IsTerminal;
use std::time::Duration;
use tenure_client::{Client, Failed};
use tenure_core::api::{Exact, RunRequest};
use tenure_core::defaults;
use tenure_core::ending::Reason;
use tenure_core::limits::Limits;
use tenure_core::resources::Resources;
use tenure_core::session::{BadKey, SessionKey};
use tenure_core::spec::{Argv, Size, Spec, check_env};
use tenure_core::wire::{KeeperMessage, KeeperRequest, Role};
use tenure_keeper::launch::{Launched, Nursery};
use tenure_keeper::state_root::StateRoot;
use tenure_os::complaint::complain;
use tenure_os::{descriptors, exec_limits, terminal, text};
use tenure_settings::Settings;

/// Time limit for a command to be executed, or refused, before `--bg` gives up.
const EXECUTION_LIMIT: Duration = Duration::from_mins(1);

pub(crate) fn run(args: &RunArgs) -> Result<u8, Failure> {
    let settings = settings::load().map_err(Failure::of_run)?;
    let spec = spec(args, &settings).map_err(Failure::ours)?;
    spec.check().map_err(Failure::ours)?;
    let state = settings::open(&settings).map_err(Failure::of_run)?;
    let started = match reach::daemon(&settings).map_err(Failure::of_run)? {
        Some(client) if args.bg => in_background(args, &client, &request(args, &settings, &spec)),
        Some(client) => foreground::by_daemon(args, &settings, &client, &request(args, &settings, &spec)),
        None => directly(args, &state, spec),
    };
    started.map_err(Failure::of_run)
}

/// Has the daemon start it, prints its id, and leaves.
fn in_background(args: &RunArgs, client: &Client, request: &RunRequest) -> Result<u8, Failure> {
    let run = reach::try_wait(client.start(request))?.map_err(|failed| refused_in_background(&failed))?;
    if let Some(termination) = &run.termination
        && termination.reason == Reason::SpawnError
    {
        complain(format_args!(
            "{}",
            termination.detail.as_deref().unwrap_or("the command could not be started")
        ));
        return Ok(termination.code());
    }
    let printed = if args.json { print::json(&run) } else { print::line(&run.run_id) };
    // A run whose id nobody got is nobody's.
    if let Err(failure) = printed {
        reach::wait(client.cancel(&run.run_id, false))?;
        return Err(failure);
    }
    Ok(0)
}

/// A client's failure to start a run in the background.
pub(crate) fn refused_in_background(failed: &Failed) -> Failure {
    match failed.code() {
        Some("too-long") => Failure::not_startable(failed),
        _ => reach::failure(failed),
    }
}

/// Starts it without a daemon: with a nursery of its own, marked for the next daemon.
fn directly(args: &RunArgs, state: &StateRoot, spec: Spec) -> Result<u8, Failure> {
    if spec.options.scope.is_some() {
        return Err(Failure::ours(
            "a scope needs a daemon, which keeps it to one run: `tenure daemon start`",
        ));
    }
    spec.check_size(exec_limits::current()).map_err(Failure::not_startable)?;
    if args.bg { background(args, state, &spec) } else { foreground::run(args, state, spec) }
}

/// Starts it, prints its id, and leaves.
fn background(args: &RunArgs, state: &StateRoot, spec: &Spec) -> Result<u8, Failure> {
    let nursery = Nursery::start(state).map_err(Failure::ours)?;
    let mut launched = nursery.run(state, spec, Role::Holder { epoch: 1 }).map_err(Failure::ours)?;
    match launched.keeper.receive::<KeeperMessage>(EXECUTION_LIMIT).map_err(Failure::ours)?.0 {
        KeeperMessage::Started { .. } => {}
        KeeperMessage::NotStarted { error } => {
            complain(format_args!("{}", error.detail));
            let (tell, _) =
                launched.keeper.receive::<KeeperMessage>(EXECUTION_LIMIT).map_err(Failure::ours)?;
            return match tell {
                KeeperMessage::Ended { ending } => Ok(ending.termination.code()),
                other => Err(super::unexpected(&other)),
            };
        }
        KeeperMessage::Refused { why } => return Err(Failure::ours(why)),
        other => return Err(super::unexpected(&other)),
    }
    if args.orphan_grace.is_none() {
        let released = super::ask(&mut launched.keeper, &KeeperRequest::Release, &[]);
        // The keeper of a command that has ended already needs no release, and may be gone.
        if !matches!(launched.dir.ending(), Ok(Some(_))) {
            released?;
        }
    }
    let printed =
        if args.json { print_record(&launched) } else { print::line(launched.ticket.run_id.as_str()) };
    // A run whose id nobody got is nobody's.
    printed.inspect_err(|_| launched.keeper.send(&KeeperRequest::Cancel { now: false }, &[]))?;
    Ok(0)
}

/// Prints the record of a run that has ended.
fn print_record(launched: &Launched) -> Result<(), Failure> {
    print::json(&launched.dir.view().map_err(Failure::ours)?.json())
}

/// The request that means this spec. How much output is kept is the daemon's to settle unless our environment says so.
fn request(args: &RunArgs, settings: &Settings, spec: &Spec) -> RunRequest {
    let exact = Exact {
        words: here::packed(spec),
        argc: spec.argv.words().len(),
        umask: spec.umask,
        nofile: descriptors::limit(),
        env_names: spec.options.env_names.clone(),
        keep: here::keep(settings),
    };
    RunRequest { replace: args.replace, notify: args.notify, ..RunRequest::of(spec, exact) }
}

fn spec(args: &RunArgs, settings: &Settings) -> anyhow::Result<Spec> {
    let mut spec = Spec {
        argv: Argv::new(args.command.iter().map(text::bytes).collect())?,
        cwd: cwd(args)?,
        env: here::environment(settings),
        umask: tenure_os::file::umask(),
        ..settings.spec()
    };
    let options = &mut spec.options;
    for setting in &args.env {
        let setting = &*text::bytes(setting);
        check_env(setting)?;
        let name = setting.split_inclusive(|&b| b == b'=').next().unwrap_or_default();
        spec.env.retain(|entry| !here::is_of(entry, name));
        spec.env.push(setting.to_vec());
        options.env_names.push(String::from_utf8_lossy(&name[..name.len() - 1]).into_owned());
    }
    if args.pty {
        options.use_terminal(pty_size());
        if !spec.env.iter().any(|entry| here::is_of(entry, b"TERM=")) {
            spec.env.push(b"TERM=xterm-256color".to_vec());
        }
    } else {
        options.stdin = stdin(args) != StdinArg::Closed;
    }
    (options.session_id, options.scope, options.label) =
        (session(args)?, args.scope.clone(), args.label.clone());
    limit(&mut options.limits, args);
    options.resources = Resources {
        memory_bytes: args.memory,
        milli_cpus: args.cpus,
        processes: args.processes,
        rlimits: args.rlimit.clone(),
    };
    (options.on_escape, options.orphan) = (args.on_escape.into(), args.orphan.into());
    Ok(spec)
}

/// A daemon would refuse the same keys.
fn session(args: &RunArgs) -> Result<Option<String>, BadKey> {
    let key = args.session.as_deref().map(str::parse::<SessionKey>).transpose()?;
    Ok(key.map(Into::into))
}

fn stdin(args: &RunArgs) -> StdinArg {
    args.stdin.unwrap_or(if args.bg { StdinArg::Closed } else { StdinArg::Inherit })
}

/// Changes the limits that have a flag. Where `off` is no limit for the others, a grace of nothing kills at once, and an
/// orphan grace of nothing ends at once.
fn limit(limits: &mut Limits, args: &RunArgs) {
    let length = |flag: Option<Limit>, usual| flag.map_or(usual, |limit| limit.0.unwrap_or_default());
    limits.overall = args.timeout.map_or(limits.overall, |limit| limit.0);
    limits.no_output = args.no_output_timeout.and_then(|limit| limit.0);
    limits.activity = args.activity.into();
    limits.grace = length(args.grace, limits.grace);
    limits.orphan_grace = length(args.orphan_grace, limits.orphan_grace);
}

/// The caller's terminal size, or the default.
fn pty_size() -> Size {
    let own = [terminal::stdout().size(), terminal::stdin().size()];
    let watched = std::io::stdout().is_terminal() || std::io::stdin().is_terminal();
    own.into_iter().flatten().find(|_| watched).unwrap_or(defaults::PTY_SIZE)
}

/// The working directory as an absolute path; whether it exists is the keeper's to find out.
fn cwd(args: &RunArgs) -> anyhow::Result<Vec<u8>> {
    let here =
        || env::current_dir().map_err(|error| anyhow::anyhow!("there is no current directory: {error}"));
    let path = match &args.cwd {
        Some(dir) if dir.is_absolute() => dir.clone(),
        Some(dir) => here()?.join(dir),
        None => here()?,
    };
    Ok(text::bytes(path))
}
