//! `tenure daemon`: start, run, stop, look at, install the daemon.

mod install;

use crate::args::{DaemonArgs, DaemonVerb, ServeArgs, StopArgs};
use crate::failure::Failure;
use crate::{print, reach, settings};
use std::ffi::OsStr;
use std::time::Duration;
use tenure_core::duration::show;
use tenure_core::ending::Exit;
use tenure_os::fork::{self, Alone, Errand};
use tenure_os::lock::{self, Holder, Lock};
use tenure_os::socket::Conn;
use tenure_os::{clock, descriptors, poll, program, reaper};
use tenure_settings::Settings;

/// The lock of whoever is the daemon; the last one's pid stays in it.
const LOCK: &str = "daemon.lock";
/// How long between two looks at it.
const LOOK: Duration = Duration::from_millis(5);
/// The pauses before a daemon that died is started again.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// One that lived so long did not die of its start.
const SOUND: Duration = Duration::from_mins(1);
/// The exit codes of a daemon that cannot serve: for good, and for now.
const FINAL: i32 = 1;
const TRY_AGAIN: i32 = 75;
/// How long a daemon may take to leave.
const FAREWELL: Duration = Duration::from_mins(10);

pub(crate) fn run(args: &DaemonArgs) -> Result<u8, Failure> {
    let settings = settings::load()?;
    match &args.verb {
        DaemonVerb::Run(args) if args.warded => {
            let (_, _, mut conns) = fork::errand().map_err(Failure::refused)?;
            Ok(serve(settings, conns.pop()))
        }
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
    let words = ["daemon", "run", "--warded"].map(OsStr::new);
    let own = settings.clone();
    let mut conns = vec![conn];
    let mut pause = FIRST_PAUSE;
    loop {
        let began = clock::awake();
        let before = last_holder(&own);
        let settings = settings.clone();
        let errand = Errand { words: &words, letter: &Vec::new, conns: &conns, knows_environment: true };
        let born = alone.bear(&errand, move |mut conns| serve(settings, conns.pop()));
        // Only the first has somebody who waits for it.
        conns.clear();
        let pid = born.map_err(Failure::refused)?;
        match reaper::wait_for(pid).map_err(Failure::refused)? {
            // It was told to leave, there is another, or whoever started it was told why it cannot serve.
            Exit::Code(code @ (0 | FINAL)) => return Ok(u8::try_from(code).unwrap_or(1)),
            Exit::Code(_) | Exit::Signal(_) => {}
        }
        if clock::awake().saturating_sub(began) > SOUND {
            pause = FIRST_PAUSE;
        }
        poll::wait(&[], Some(pause)).map_err(Failure::refused)?;
        let last = last_holder(&own);
        if last != before && last.as_deref().map(<[u8]>::trim_ascii) != Some(pid.to_string().as_bytes()) {
            // Somebody else has started one meanwhile, or stopped it: it is no more ours to start.
            return Ok(0);
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// What the daemon's lock says of who held it last.
fn last_holder(settings: &Settings) -> Option<Vec<u8>> {
    std::fs::read(settings.state.join(LOCK)).ok()
}

/// Serves, and tells whoever waits that it does, or why it cannot.
fn serve(settings: Settings, mut starter: Option<Conn>) -> u8 {
    tenure_daemon::log::begin(Some(&settings.state.join("daemon.log")), settings.log);
    let served = tenure_daemon::run(settings, || drop(starter.take()));
    let Err(error) = served else { return 0 };
    tenure_daemon::log::complain(&error);
    let already = matches!(error, tenure_daemon::CannotServe::AlreadyRunning(_));
    let Some(starter) = starter else {
        // Runs wait for a daemon, so what is in its way now is tried again.
        return u8::try_from(if already { FINAL } else { TRY_AGAIN }).unwrap_or(1);
    };
    let text = if already { "already running".to_owned() } else { error.to_string() };
    // One that does not listen finds it in the log.
    let _ = starter.write(text.as_bytes());
    u8::try_from(FINAL).unwrap_or(1)
}

fn stop(settings: &Settings, args: &StopArgs) -> Result<u8, Failure> {
    let deadline = clock::awake() + FAREWELL;
    let client = loop {
        if let Some(client) = reach::running(settings) {
            break client;
        }
        if !settings.state.exists() || call_off(settings)? {
            print::line("no daemon is running")?;
            return Ok(0);
        }
        // It is just being started, or leaves.
        if clock::awake() > deadline {
            return Err(Failure::refused("the daemon does not answer: `tenure daemon status` looks again"));
        }
        poll::wait(&[], Some(LOOK)).map_err(Failure::refused)?;
    };
    let pid = reach::wait(client.health())?.pid;
    reach::wait(client.shutdown(args.cancel_runs))?;
    while holds_lock(settings, pid)? {
        if clock::awake() > deadline {
            return Err(Failure::refused("the daemon has not left yet: `tenure daemon status` looks again"));
        }
        poll::wait(&[], Some(LOOK)).map_err(Failure::refused)?;
    }
    Ok(0)
}

/// Where no daemon is, one may be about to be started again by its warden, which sees by this that it is not to be.
/// `false` if there is a daemon.
fn call_off(settings: &Settings) -> Result<bool, Failure> {
    let dir = tenure_os::file::Dir::open(&settings.state).map_err(Failure::refused)?;
    let Some(lock) = Lock::take(&dir, LOCK).map_err(Failure::refused)? else { return Ok(false) };
    // No pid, as long as a daemon's line, and unlike any before it: who compares sees that it was written since.
    let mark = format!("x{:09}\n", clock::unix_ms() % 1_000_000_000);
    lock.write(mark.as_bytes()).map_err(Failure::refused)?;
    Ok(true)
}

/// Whether this daemon is there; it may be that somebody has started the next one.
fn holds_lock(settings: &Settings, pid: u32) -> Result<bool, Failure> {
    let dir = tenure_os::file::Dir::open(&settings.state).map_err(Failure::refused)?;
    let held = lock::holder(&dir, LOCK).map_err(Failure::refused)? == Holder::Somebody;
    let named = std::fs::read_to_string(settings.state.join(LOCK)).unwrap_or_default();
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
