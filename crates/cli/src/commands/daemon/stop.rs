//! `tenure daemon stop`: asks the daemon to exit. If it does not answer, signals the process that its lock names.

use super::super::list_runs;
use super::super::runs::{cancel, ending_of};
use crate::args::StopArgs;
use crate::failure::Failure;
use crate::{daemon_client, print, settings};
use std::time::Duration;
use tenure_client::Client;
use tenure_core::daemon_lock;
use tenure_core::defaults::{GRACE, PROBE_AFTER};
use tenure_core::identity::Evidence;
use tenure_core::signal::Signal;
use tenure_core::state::State;
use tenure_os::clock;
use tenure_os::lock::Lock;
use tenure_os::poll::{self, Interest};
use tenure_os::process::{self, Process, Sent};
use tenure_os::stderr::complain;
use tenure_settings::Settings;

/// Interval for polling the lock.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Time limit for the daemon to exit.
const EXIT_LIMIT: Duration = Duration::from_mins(10);

pub(super) fn stop(settings: &Settings, args: &StopArgs) -> Result<u8, Failure> {
    let deadline = clock::awake() + EXIT_LIMIT;
    let mut unreachable = daemon_client::UnreachableDaemon::new(settings);
    let mut ended = false;
    loop {
        let requested = match daemon_client::connect(settings) {
            Some(client) => request_exit(&client, args, deadline).map(|()| true),
            None if !settings.state.exists() || mark_stopped(settings)? => break,
            // The daemon is starting, is exiting, or has lost its socket.
            None => unreachable.check().map(|()| false),
        };
        match requested {
            Ok(true) => return Ok(0),
            Ok(false) if clock::awake() > deadline => {
                return Err(Failure::refused(
                    "the daemon does not answer: `tenure daemon status` shows its state",
                ));
            }
            Ok(false) => {
                poll::wait(&[], Some(POLL_INTERVAL)).map_err(Failure::refused)?;
            }
            Err(failure) if failure.is_silent() => {
                ended |= end_hung_daemon(settings)?;
                unreachable = daemon_client::UnreachableDaemon::new(settings);
            }
            // The daemon exited or was replaced during the call.
            Err(failure) if failure.is_lost() && clock::awake() <= deadline => {
                poll::wait(&[], Some(POLL_INTERVAL)).map_err(Failure::refused)?;
            }
            Err(failure) => return Err(failure),
        }
    }
    if !ended {
        print::line("no daemon is running")?;
    } else if args.cancel_runs {
        cancel_by_files(settings)?;
    }
    Ok(0)
}

/// Asks the daemon to exit, and waits until it has. Fails as silent if the daemon hangs meanwhile.
fn request_exit(client: &Client, args: &StopArgs, deadline: Duration) -> Result<(), Failure> {
    let pid = daemon_client::call(client.health())?.pid;
    daemon_client::call(client.shutdown(args.cancel_runs))?;
    let mut next_probe = clock::awake() + PROBE_AFTER;
    let mut unanswered = 0;
    while client.lock_holder().is_some_and(|holder| holder.pid == pid) {
        if clock::awake() > deadline {
            return Err(Failure::refused(
                "the daemon has not exited yet: `tenure daemon status` shows its state",
            ));
        }
        if clock::awake() >= next_probe {
            match daemon_client::try_call(client.probe())? {
                Ok(()) => unanswered = 0,
                // A daemon that exits closes its sockets first: a single unanswered probe proves nothing.
                Err(_) if unanswered == 0 => unanswered = 1,
                Err(silent) => return Err(daemon_client::to_failure(&silent)),
            }
            next_probe = clock::awake() + PROBE_AFTER;
        }
        poll::wait(&[], Some(POLL_INTERVAL)).map_err(Failure::refused)?;
    }
    Ok(())
}

/// Marks the lock of a daemon that is gone, so that its warden starts no other. Returns false if there is a daemon.
fn mark_stopped(settings: &Settings) -> Result<bool, Failure> {
    let failed = |error| crate::settings::full_disk(settings).unwrap_or_else(|| Failure::refused(error));
    let dir = tenure_os::file::Dir::open(&settings.state).map_err(failed)?;
    let Some(lock) = Lock::take(&dir, daemon_lock::NAME).map_err(failed)? else { return Ok(false) };
    lock.write(daemon_lock::left(clock::unix_ms()).as_bytes()).map_err(failed)?;
    Ok(true)
}

/// Ends the daemon that holds the lock and does not answer. Returns false if it is gone, or answers after SIGCONT.
fn end_hung_daemon(settings: &Settings) -> Result<bool, Failure> {
    let client = Client::new(&settings.state);
    let Some(holder) = client.lock_holder() else { return Ok(false) };
    let pid = holder.pid;
    let Some(identity) = holder.identity else {
        return Err(Failure::refused(format!(
            "the daemon (pid {pid}) does not answer, and {} does not prove which process it is (an older version wrote \
             it): look at pid {pid} and kill it yourself",
            daemon_lock::NAME
        )));
    };
    let (process, proof) = match process::look(&identity) {
        (Evidence::Same(proof), Some(process)) => (process, proof),
        (Evidence::Unreadable(why), _) => {
            return Err(Failure::refused(format!("the daemon (pid {pid}) cannot be ended from here: {why}")));
        }
        (Evidence::Same(_) | Evidence::Other | Evidence::Gone, _) => return Ok(false),
    };
    // A daemon that was only stopped (SIGSTOP) can exit in the usual way after SIGCONT.
    if process.signal(&proof, Signal::CONT) == Sent::Yes
        && daemon_client::try_call(client.probe())?.is_ok()
        && client.lock_holder().is_some()
    {
        return Ok(false);
    }
    complain(format_args!("the daemon (pid {pid}) does not answer: it is ended, and runs go on"));
    for (signal, limit) in [(Signal::TERM, GRACE), (Signal::KILL, EXIT_LIMIT)] {
        match process.signal(&proof, signal) {
            Sent::Gone => return Ok(true),
            Sent::Denied if signal == Signal::KILL => {
                return Err(Failure::refused(format!("the daemon (pid {pid}) belongs to another user")));
            }
            Sent::Yes | Sent::Denied => {}
        }
        if ends_within(&process, limit)? {
            return Ok(true);
        }
    }
    Err(Failure::refused(format!("the daemon (pid {pid}) was killed and is not gone yet")))
}

fn ends_within(process: &Process, limit: Duration) -> Result<bool, Failure> {
    let ready = poll::wait(&[Interest::reading(process)], Some(limit)).map_err(Failure::refused)?;
    Ok(ready[0].read)
}

/// Ends every run through its keeper, without a daemon.
fn cancel_by_files(settings: &Settings) -> Result<(), Failure> {
    let state = settings::open(settings)?;
    let live = list_runs(&state, |view| view.state != State::Exited)?;
    for (dir, _) in &live {
        cancel(&state, dir, false)?;
    }
    for (dir, _) in &live {
        ending_of(&state, dir, None)?;
    }
    Ok(())
}
