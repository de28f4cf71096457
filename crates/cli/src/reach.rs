//! The daemon, as commands reach it: it is started on first use, unless that is switched off or this is a process of
//! a run, whose daemon would end with it.

use crate::failure::Failure;
use crate::settings::full_disk;
use std::env;
use std::ffi::OsString;
use std::future::Future;
use std::io;
use std::time::Duration;
use tenure_client::{Client, Failed, SOCKET};
use tenure_core::daemon_lock::LockHolder;
use tenure_core::defaults::REBIND_MARGIN;
use tenure_daemon::CannotServe;
use tenure_os::poll::{self, Interest};
use tenure_os::socket::{Conn, Got};
use tenure_os::{clock, program};
use tenure_settings::Settings;

/// How long a daemon may take until clients can connect.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long between two looks whether somebody else's daemon is ready.
const LOOK: Duration = Duration::from_millis(5);

/// How often it is looked whether there is a daemon again.
const AGAIN: Duration = Duration::from_millis(200);

/// What of a run's environment is not the daemon's.
const OF_A_RUN: [&str; 4] = ["TENURE_RUN_ID", "TENURE_LEASE_ID", "TENURE_INSTANCE_ID", "TENURE_SESSION_KEY"];

/// The daemon, started if need be; `None` if there is none and none is to be started.
pub(crate) fn daemon(settings: &Settings) -> Result<Option<Client>, Failure> {
    if let Some(client) = connected(settings)? {
        return Ok(Some(client));
    }
    if !settings.autostart || program::is_inside_a_run() {
        return Ok(None);
    }
    start(settings).map(Some)
}

/// The daemon, for commands that are nothing without it.
pub(crate) fn needed(settings: &Settings) -> Result<Client, Failure> {
    daemon(settings)?.ok_or_else(|| {
        Failure::refused(
            "no daemon is running, and none is started from here: `tenure daemon start` starts one",
        )
    })
}

/// The daemon, if one runs.
pub(crate) fn running(settings: &Settings) -> Option<Client> {
    let client = Client::new(&settings.state);
    client.connect().is_ok().then_some(client)
}

/// Connects to the daemon, if one runs. If its socket was removed, waits until the daemon has bound it again.
fn connected(settings: &Settings) -> Result<Option<Client>, Failure> {
    let unreachable = Unreachable::new(settings);
    loop {
        if let Some(client) = running(settings) {
            return Ok(Some(client));
        }
        // A daemon that is starting or exiting has no socket. There is no waiting for it here.
        if !unreachable.client.lock_holder().is_some_and(|holder| holder.serving) {
            return Ok(None);
        }
        unreachable.check()?;
        poll::wait(&[], Some(LOOK)).map_err(Failure::refused)?;
    }
}

/// A daemon whose lock says that it serves, but whose socket does not accept connections.
pub(crate) struct Unreachable {
    client: Client,
    since: Duration,
    limit: Duration,
}

impl Unreachable {
    /// Starts the time limit.
    pub(crate) fn new(settings: &Settings) -> Self {
        let limit = settings.lease.heartbeat + REBIND_MARGIN;
        Self { client: Client::new(&settings.state), since: clock::awake(), limit }
    }

    /// Fails if a serving daemon took too long to bind its socket again. Never fails for a daemon that is starting or
    /// exiting.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if clock::awake().saturating_sub(self.since) < self.limit {
            return Ok(());
        }
        match self.client.lock_holder() {
            Some(LockHolder { pid, serving: true, .. }) => Err(Failure::silent(format!(
                "the daemon (pid {pid}) runs, but nobody can connect to its socket {SOCKET}: end it with `tenure \
                 daemon stop` (runs go on)"
            ))),
            Some(_) | None => Ok(()),
        }
    }
}

/// Waits for the next daemon. Who watches starts none: the last one may have been stopped on purpose.
pub(crate) fn next(settings: &Settings) -> Result<Client, Failure> {
    loop {
        poll::wait(&[], Some(AGAIN)).map_err(Failure::refused)?;
        // A hung daemon does not count: it will be replaced, or go on.
        if let Some(client) = running(settings)
            && try_wait(client.health())?.is_ok()
        {
            return Ok(client);
        }
    }
}

/// Starts a daemon that outlives this command, and waits until it can be reached.
pub(crate) fn start(settings: &Settings) -> Result<Client, Failure> {
    // Checked here, because the daemon's environment no longer shows it.
    if program::is_inside_a_run() {
        return Err(Failure::refused(CannotServe::InsideARun));
    }
    let client = Client::new(&settings.state);
    let failed = |error: io::Error| {
        full_disk(settings)
            .unwrap_or_else(|| Failure::refused(format!("the daemon cannot be started: {error}")))
    };
    tenure_os::file::Dir::ensure(&settings.state).map_err(failed)?;
    let (conn, theirs) = Conn::pair().map_err(failed)?;
    let mut verb: Vec<&std::ffi::OsStr> = vec!["daemon".as_ref(), "run".as_ref(), "--detached".as_ref()];
    if settings.autostart {
        verb.push("--restart".as_ref());
    }
    program::start(&verb, environment(settings), theirs, &settings.state.join("daemon.log"))
        .map_err(failed)?;
    let said = hear(&conn).map_err(failed)?;
    let deadline = clock::awake() + PATIENCE;
    loop {
        match client.connect() {
            Ok(_) => return Ok(client),
            // Somebody else starts one at this moment, or ours has said why it cannot.
            Err(_) if said.starts_with("already running") && clock::awake() < deadline => {
                poll::wait(&[], Some(LOOK)).map_err(failed)?;
            }
            Err(_) if said.starts_with("already running") => {
                let pid =
                    client.lock_holder().map(|holder| format!(" (pid {})", holder.pid)).unwrap_or_default();
                return Err(Failure::silent(format!(
                    "a daemon{pid} is running, but nobody can connect to its socket {SOCKET}: see daemon.log in the \
                     state root, or end it with `tenure daemon stop` (runs go on)"
                )));
            }
            Err(_) if !said.is_empty() => return Err(Failure::refused(said)),
            Err(error) => return Err(failed(error)),
        }
    }
}

/// What the new daemon says of its start: nothing once it is ready.
fn hear(conn: &Conn) -> io::Result<String> {
    let deadline = clock::awake() + PATIENCE;
    let mut said = Vec::new();
    loop {
        let mut chunk = [0; 1024];
        match conn.read(&mut chunk)? {
            Got::Bytes(n) => said.extend_from_slice(&chunk[..n]),
            Got::End => return Ok(String::from_utf8_lossy(&said).trim().to_owned()),
            Got::Nothing => {
                let left = deadline.saturating_sub(clock::awake());
                if left.is_zero() {
                    return Err(io::Error::new(io::ErrorKind::TimedOut, "it does not become ready"));
                }
                poll::wait(&[Interest::reading(conn)], Some(left))?;
            }
        }
    }
}

/// The caller's environment, without what makes it a process of a run.
fn environment(settings: &Settings) -> Vec<(OsString, OsString)> {
    let pinned = settings.pinned();
    let is_ours = |name: &OsString| {
        OF_A_RUN.iter().any(|mark| name == mark) || pinned.iter().any(|(known, _)| name == known)
    };
    let mut env: Vec<_> = env::vars_os().filter(|(name, _)| !is_ours(name)).collect();
    env.extend(pinned.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
    if !pinned.iter().any(|(name, _)| *name == "TENURE_STATE") {
        env.push(("TENURE_STATE".into(), settings.state.clone().into_os_string()));
    }
    env
}

/// Waits for what a client was asked.
pub(crate) fn wait<T>(asked: impl Future<Output = Result<T, Failed>>) -> Result<T, Failure> {
    try_wait(asked)?.map_err(|failed| failure(&failed))
}

/// The same, with the client's own failure.
pub(crate) fn try_wait<T>(asked: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    Ok(runtime.map_err(Failure::refused)?.block_on(asked))
}

/// A client's failure as a command's.
pub(crate) fn failure(failed: &Failed) -> Failure {
    match failed.code() {
        Some("no-such-route") => Failure::refused("the daemon is of another version, and cannot do that"),
        Some(code) if code.starts_with("no-such-") => Failure::no_such(failed),
        // Whoever may not is told so by the word that programs look for, too.
        Some("forbidden") => Failure::refused(format!("forbidden: {failed}")),
        _ if matches!(failed, Failed::Silent { .. }) => Failure::silent(failed),
        _ if failed.is_lost() => Failure::lost(failed),
        _ => Failure::refused(failed),
    }
}
