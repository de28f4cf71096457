//! The warden: the process that starts the daemon, and restarts it if it dies or hangs (decisions 0012 and 0028). The
//! warden is no subreaper, has one thread and only waits.

use super::{FINAL, serve};
use crate::args::ServeArgs;
use crate::failure::Failure;
use std::ffi::OsStr;
use std::io;
use std::time::Duration;
use tenure_core::daemon_lock;
use tenure_core::duration::show;
use tenure_core::ending::Exit;
use tenure_core::identity::{Evidence, Identity};
use tenure_core::signal::Signal;
use tenure_os::fork::{self, ChildSpec, SingleThread};
use tenure_os::poll::{self, Interest};
use tenure_os::process::{self, Process};
use tenure_os::socket::{Conn, Got};
use tenure_os::stderr::complain;
use tenure_os::{clock, descriptors, program, reaper};
use tenure_settings::Settings;

/// The pauses before a daemon that died is restarted.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Lifetime after which a daemon's death does not count as a failed start.
const STABLE_AFTER: Duration = Duration::from_mins(1);
/// Number of consecutive waits without a sign of life that count as a hang. A wait that took too long, because this
/// process was suspended as well, counts as one.
const MAX_MISSED_SIGNS: u32 = 12;
/// Factor by which the time limit for the first sign of life is longer.
const STARTUP_FACTOR: u32 = 10;

/// Runs a daemon without a terminal. With `--restart` or `--watch`, this process becomes its warden.
pub(super) fn detached(settings: Settings, args: &ServeArgs) -> Result<u8, Failure> {
    let conn = program::inherited_conn().map_err(Failure::refused)?;
    descriptors::null_stdio().map_err(Failure::refused)?;
    fork::new_session().map_err(Failure::refused)?;
    tenure_os::signals::reset();
    if !args.restart && args.watch.is_none() {
        return Ok(serve(settings, Some(conn), None));
    }
    program::set_name(c"tenure-warden");
    let alone = SingleThread::check().map_err(Failure::refused)?;
    let mut starters = Vec::new();
    if let Some(identity) = &args.watch {
        if !is_orphaned(&settings, identity, &conn)? {
            return Ok(0);
        }
    } else {
        starters.push(conn);
    }
    supervise(&settings, &alone, starters)
}

/// Starts the daemon, and restarts it whenever it died or was replaced.
fn supervise(settings: &Settings, alone: &SingleThread, mut starters: Vec<Conn>) -> Result<u8, Failure> {
    let words = ["daemon", "run", "--warded"].map(OsStr::new);
    let mut pause = FIRST_PAUSE;
    loop {
        let began = clock::awake();
        let before = lock_text(settings);
        let (signs, theirs) = Conn::pair().map_err(Failure::refused)?;
        let mut conns = vec![theirs];
        // Only the first daemon has a waiting client.
        conns.append(&mut starters);
        let own = settings.clone();
        let child =
            ChildSpec { words: &words, message: &Vec::new, conns: &conns, inherits_environment: true };
        let started = alone.start_child(&child, move |conns| serve_warded(own, conns));
        drop(conns);
        let pid = started.map_err(Failure::refused)?;
        // The daemon is our child and not reaped yet, so the pid is still its own.
        if let Some(daemon) = Process::open(pid).map_err(Failure::refused)? {
            watch(settings, &daemon, &signs, MAX_MISSED_SIGNS * STARTUP_FACTOR).map_err(Failure::refused)?;
        }
        match reaper::wait_for(pid).map_err(Failure::refused)? {
            // The daemon was told to exit, another one runs, or its caller was told why it cannot serve.
            Exit::Code(code @ (0 | FINAL)) => return Ok(u8::try_from(code).unwrap_or(1)),
            Exit::Code(_) | Exit::Signal(_) => {}
        }
        if clock::awake().saturating_sub(began) > STABLE_AFTER {
            pause = FIRST_PAUSE;
        }
        poll::wait(&[], Some(pause)).map_err(Failure::refused)?;
        let last = lock_text(settings);
        if last != before && !names(last.as_deref(), pid) {
            // Another process has started or stopped a daemon meanwhile, so this warden starts no other.
            return Ok(0);
        }
        if !settings.state.exists() {
            // The state root was deleted: no daemon can serve it.
            return Ok(0);
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Runs the daemon with the connections from its warden: one for signs of life, and one to the waiting client, if any.
pub(super) fn serve_warded(settings: Settings, conns: Vec<Conn>) -> u8 {
    let mut conns = conns.into_iter();
    let warden = conns.next();
    serve(settings, conns.next(), warden)
}

/// Watches a daemon that is not our child, but started us because its warden was killed. Returns true if it died
/// without having been told to exit.
fn is_orphaned(settings: &Settings, daemon: &Identity, signs: &Conn) -> Result<bool, Failure> {
    let refused = |error: io::Error| Failure::refused(error);
    match process::look(daemon) {
        (Evidence::Same(_), Some(process)) => {
            watch(settings, &process, signs, MAX_MISSED_SIGNS).map_err(refused)?;
        }
        (Evidence::Unreadable(why), _) => return Err(Failure::refused(why)),
        (Evidence::Same(_) | Evidence::Gone | Evidence::Other, _) => {}
    }
    poll::wait(&[], Some(FIRST_PAUSE)).map_err(refused)?;
    Ok(names(lock_text(settings).as_deref(), daemon.pid))
}

/// Waits for the daemon's exit. Kills it if it shows no sign of life for the configured time; its runs go on. `left` is
/// the number of waits until the first sign is overdue.
fn watch(settings: &Settings, daemon: &Process, signs: &Conn, mut left: u32) -> io::Result<()> {
    let limit = settings.daemon.replace_after;
    // `None` once only the exit is left to wait for.
    let mut each = limit.map(|limit| limit / MAX_MISSED_SIGNS);
    loop {
        let interests = [Interest::reading(daemon), Interest::reading(signs)];
        let interests = if each.is_some() { &interests[..] } else { &interests[..1] };
        let waits_since = clock::awake();
        let ready = poll::wait(interests, each)?;
        if ready[0].read {
            return Ok(());
        }
        let Some(length) = each else { continue };
        if ready[1].read {
            match drain(signs)? {
                Got::End => each = None,
                Got::Bytes(_) | Got::Nothing => left = MAX_MISSED_SIGNS,
            }
        } else if clock::awake().saturating_sub(waits_since) >= length {
            left -= 1;
            if left == 0 {
                replace(daemon, limit.unwrap_or_default());
                each = None;
            }
        }
    }
}

/// Reads all pending signs of life.
fn drain(signs: &Conn) -> io::Result<Got> {
    loop {
        match signs.read(&mut [0; 256])? {
            Got::Bytes(_) => {}
            last => return Ok(last),
        }
    }
}

/// Kills a daemon that hangs.
fn replace(daemon: &Process, limit: Duration) {
    let pid = daemon.identity().pid;
    // The proof is of the process that we opened when it was our child, or had proven to be the daemon (I1).
    let Evidence::Same(proof) = daemon.judge(daemon.identity()) else { return };
    complain(format_args!(
        "the daemon (pid {pid}) showed no sign of life for {}: it is killed and started again; runs go on",
        show(limit)
    ));
    // The daemon is restarted even if it is gone by now.
    let _ = daemon.signal(&proof, Signal::KILL);
}

/// The text of the daemon's lock, which names its last holder.
fn lock_text(settings: &Settings) -> Option<Vec<u8>> {
    std::fs::read(settings.state.join(daemon_lock::NAME)).ok()
}

/// Returns true if a lock's text names this process.
fn names(text: Option<&[u8]>, pid: i32) -> bool {
    text.and_then(daemon_lock::read).is_some_and(|holder| i32::try_from(holder.pid) == Ok(pid))
}
