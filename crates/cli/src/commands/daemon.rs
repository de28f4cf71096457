//! `tenure daemon`: start, run, stop, inspect and install the daemon.

mod install;
mod stop;
mod warden;

use crate::args::{DaemonArgs, DaemonVerb};
use crate::failure::Failure;
use crate::{daemon_client, print, settings};
use std::time::Duration;
use tenure_client::{CallError, Client};
use tenure_core::duration::show;
use tenure_daemon::CannotServe;
use tenure_os::socket::Conn;
use tenure_os::{clock, fork};
use tenure_settings::Settings;

/// Exit code of a daemon that cannot serve and must not be restarted.
const FINAL: i32 = 1;
/// Exit code of a daemon that cannot serve now and may be restarted.
const TRY_AGAIN: i32 = 75;

pub(crate) fn run(args: &DaemonArgs) -> Result<u8, Failure> {
    let settings = match args.verb {
        DaemonVerb::Stop(_) | DaemonVerb::Status(_) => settings::load_leniently()?,
        DaemonVerb::Run(_) | DaemonVerb::Start | DaemonVerb::Install(_) => settings::load()?,
    };
    match &args.verb {
        DaemonVerb::Run(args) if args.warded => {
            let (_, _, conns) = fork::take_message().map_err(Failure::refused)?;
            Ok(warden::serve_warded(settings, conns))
        }
        DaemonVerb::Run(args) if args.detached => warden::detached(settings, args),
        DaemonVerb::Run(_) => {
            tenure_daemon::log::init(None, settings.log);
            tenure_daemon::run(settings, None, || ()).map_err(|error| match error {
                CannotServe::RegistryReplaced(_) => Failure::try_again(error),
                error => Failure::refused(error),
            })?;
            Ok(0)
        }
        DaemonVerb::Start => {
            let client = match daemon_client::connect(&settings) {
                Some(client) => client,
                None => daemon_client::start(&settings)?,
            };
            print::line(&format!(
                "the daemon is running, pid {}",
                daemon_client::call(client.health())?.pid
            ))?;
            Ok(0)
        }
        DaemonVerb::Stop(args) => stop::stop(&settings, args),
        DaemonVerb::Status(args) => status(&settings, args.json),
        DaemonVerb::Install(args) => install::run(args),
    }
}

/// Runs the daemon, and reports to the client that started it that it is ready, or why it cannot serve.
fn serve(settings: Settings, mut starter: Option<Conn>, warden: Option<Conn>) -> u8 {
    tenure_daemon::log::init(Some(&settings.state.join("daemon.log")), settings.log);
    let served = tenure_daemon::run(settings, warden, || drop(starter.take()));
    let Err(error) = served else { return 0 };
    tenure_daemon::log::cannot_serve(&error);
    let already = matches!(error, CannotServe::AlreadyRunning(_));
    let Some(starter) = starter else {
        // Runs wait for a daemon, so the warden retries whatever prevents it now.
        return u8::try_from(if already { FINAL } else { TRY_AGAIN }).unwrap_or(1);
    };
    let text = if already { "already running".to_owned() } else { error.to_string() };
    // A client that does not listen finds the error in the log.
    let _ = starter.write(text.as_bytes());
    u8::try_from(FINAL).unwrap_or(1)
}

fn status(settings: &Settings, json: bool) -> Result<u8, Failure> {
    let Some(client) = daemon_client::connect(settings) else { return not_serving(settings, json) };
    let health = match daemon_client::try_call(client.health())? {
        Ok(health) => health,
        Err(CallError::Silent { pid }) => return does_not_answer(pid, "it hangs, or was stopped", json),
        Err(failed) => return Err(daemon_client::to_failure(&failed)),
    };
    if json {
        let mut value = serde_json::to_value(&health).map_err(Failure::refused)?;
        value["running"] = true.into();
        value["answers"] = true.into();
        print::json(&value)?;
        return Ok(0);
    }
    let age = Duration::from_millis(clock::unix_ms().saturating_sub(health.started_at_ms));
    print::line(&format!(
        "{} for {}, pid {}, version {}",
        health.status,
        show(age),
        health.pid,
        health.version
    ))?;
    let runs = if health.live_runs == 1 { "run" } else { "runs" };
    print::line(&format!(
        "instance {}, {} live {runs}, {} queued",
        health.instance_id, health.live_runs, health.queued_runs
    ))?;
    print::line(&format!("registry {}", health.registry))?;
    match (health.listen, health.listen_error) {
        (_, Some(error)) => print::line(&format!("{error} (retried with each heartbeat)"))?,
        (Some(listen), None) => print::line(&format!("also on http://{listen}"))?,
        (None, None) => {}
    }
    Ok(0)
}

/// Reports that no client can connect: there is no daemon, or its socket is gone.
fn not_serving(settings: &Settings, json: bool) -> Result<u8, Failure> {
    if let Some(holder) = Client::new(&settings.state).lock_holder()
        && holder.serving
    {
        return does_not_answer(Some(holder.pid), "nobody can connect to its socket daemon.sock", json);
    }
    if json {
        print::json(&serde_json::json!({"running": false}))?;
    } else {
        print::line("no daemon is running")?;
    }
    Ok(1)
}

fn does_not_answer(pid: Option<u32>, why: &str, json: bool) -> Result<u8, Failure> {
    if json {
        print::json(&serde_json::json!({"running": true, "answers": false, "pid": pid, "detail": why}))?;
    } else {
        let pid = pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default();
        print::line(&format!("the daemon{pid} does not answer: {why}"))?;
        print::line("`tenure daemon stop` ends it; runs go on")?;
    }
    Ok(1)
}
