//! `tenure daemon`: start, run, stop, look at, install the daemon.

mod install;

use crate::args::{DaemonArgs, DaemonVerb, ServeArgs, StopArgs};
use crate::failure::Failure;
use crate::{print, reach, settings};
use std::time::Duration;
use tenure_core::duration::show;
use tenure_core::ending::Exit;
use tenure_os::fork::{self, Alone};
use tenure_os::lock::{self, Holder};
use tenure_os::socket::Conn;
use tenure_os::{clock, descriptors, poll, program, reaper};
use tenure_settings::Settings;

/// The pauses before a daemon that died is started again.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// One that lived so long did not die of its start.
const SOUND: Duration = Duration::from_mins(1);
/// How long a daemon may take to leave.
const FAREWELL: Duration = Duration::from_mins(10);

pub(crate) fn run(args: &DaemonArgs) -> Result<u8, Failure> {
    let settings = settings::load()?;
    match &args.verb {
        DaemonVerb::Run(args) if args.detached => detached(settings, args),
        DaemonVerb::Run(_) => {
            tenure_daemon::log::begin(None, settings.log);
            tenure_daemon::run(settings, || ()).map_err(Failure::refused)?;
            Ok(0)
        }
        DaemonVerb::Start => {
            let client = match reach::running(&settings) {
                Some(client) => client,
                None => reach::start(&settings)?,
            };
            print::line(&format!("the daemon is running, pid {}", reach::wait(client.health())?.pid))?;
            Ok(0)
        }
        DaemonVerb::Stop(args) => stop(&settings, args),
        DaemonVerb::Status(args) => status(&settings, args.json),
        DaemonVerb::Install(args) => install::run(args),
    }
}

/// A daemon without a terminal. With `--restart` this process stays as its parent, does nothing but wait for it, and
/// starts it again if it dies.
fn detached(settings: Settings, args: &ServeArgs) -> Result<u8, Failure> {
    let conn = program::inherited_conn().map_err(Failure::refused)?;
    descriptors::null_stdio().map_err(Failure::refused)?;
    fork::new_session().map_err(Failure::refused)?;
    tenure_os::signals::reset();
    if !args.restart {
        return Ok(serve(settings, Some(conn)));
    }
    program::set_name(c"tenure-warden");
    let alone = Alone::check().map_err(Failure::refused)?;
    let mut conn = Some(conn);
    let mut pause = FIRST_PAUSE;
    loop {
        let began = clock::awake();
        let (settings, first) = (settings.clone(), conn.take());
        let pid = alone.fork(move || serve(settings, first)).map_err(Failure::refused)?;
        match reaper::wait_for(pid).map_err(Failure::refused)? {
            // It was told to leave, or said why it cannot serve.
            Exit::Code(code @ (0 | 1)) => return Ok(u8::try_from(code).unwrap_or(1)),
            Exit::Code(_) | Exit::Signal(_) => {}
        }
        if clock::awake().saturating_sub(began) > SOUND {
            pause = FIRST_PAUSE;
        }
        poll::wait(&[], Some(pause)).map_err(Failure::refused)?;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Serves, and tells whoever waits that it does, or why it cannot.
fn serve(settings: Settings, mut starter: Option<Conn>) -> u8 {
    tenure_daemon::log::begin(Some(&settings.state.join("daemon.log")), settings.log);
    let served = tenure_daemon::run(settings, || drop(starter.take()));
    let Err(error) = served else { return 0 };
    tenure_daemon::log::complain(&error);
    if let Some(starter) = starter {
        let already = matches!(error, tenure_daemon::CannotServe::AlreadyRunning(_));
        let text = if already { "already running".to_owned() } else { error.to_string() };
        // One that does not listen finds it in the log.
        let _ = starter.write(text.as_bytes());
    }
    1
}

fn stop(settings: &Settings, args: &StopArgs) -> Result<u8, Failure> {
    let Some(client) = reach::running(settings) else {
        print::line("no daemon is running")?;
        return Ok(0);
    };
    let pid = reach::wait(client.health())?.pid;
    reach::wait(client.shutdown(args.cancel_runs))?;
    let deadline = clock::awake() + FAREWELL;
    while holds_lock(settings, pid)? {
        if clock::awake() > deadline {
            return Err(Failure::refused("the daemon has not left yet: `tenure daemon status` looks again"));
        }
        poll::wait(&[], Some(Duration::from_millis(5))).map_err(Failure::refused)?;
    }
    Ok(0)
}

/// Whether this daemon is there; it may be that somebody has started the next one.
fn holds_lock(settings: &Settings, pid: u32) -> Result<bool, Failure> {
    let dir = tenure_os::file::Dir::open(&settings.state).map_err(Failure::refused)?;
    let held = lock::holder(&dir, "daemon.lock").map_err(Failure::refused)? == Holder::Somebody;
    let named = std::fs::read_to_string(settings.state.join("daemon.lock")).unwrap_or_default();
    Ok(held && named.trim() == pid.to_string())
}

fn status(settings: &Settings, json: bool) -> Result<u8, Failure> {
    let Some(client) = reach::running(settings) else {
        if json {
            print::json(&serde_json::json!({"running": false}))?;
        } else {
            print::line("no daemon is running")?;
        }
        return Ok(1);
    };
    let health = reach::wait(client.health())?;
    if json {
        let mut value = serde_json::to_value(&health).map_err(Failure::refused)?;
        value["running"] = true.into();
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
    print::line(&format!(
        "instance {}, {} runs held, {} waiting",
        health.instance_id, health.live_runs, health.queued_runs
    ))?;
    print::line(&format!("registry {}", health.registry))?;
    if let Some(listen) = health.listen {
        print::line(&format!("also on http://{listen}"))?;
    }
    Ok(0)
}
