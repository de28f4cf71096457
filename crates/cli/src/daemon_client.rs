//! Connects commands to the daemon, and starts it on first use. Starts none if autostart is off, or if this process
//! belongs to a run: the daemon would end with that run.

use crate::failure::Failure;
use crate::settings::full_disk;
use std::env;
use std::ffi::OsString;
use std::future::Future;
use std::io;
use std::time::Duration;
use tenure_client::{CallError, Client, SOCKET};
use tenure_core::daemon_lock::LockHolder;
use tenure_core::defaults::REBIND_MARGIN;
use tenure_daemon::CannotServe;
use tenure_os::poll::{self, Interest};
use tenure_os::socket::{Conn, Got};
use tenure_os::{clock, program};
use tenure_settings::Settings;

/// Time limit for a new daemon to accept connections.
const START_LIMIT: Duration = Duration::from_secs(30);
/// Interval for polling a daemon that another process starts.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Interval for polling for the next daemon.
const NEXT_POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Variables of a run's environment that the daemon must not inherit.
const RUN_VARIABLES: [&str; 4] =
    ["TENURE_RUN_ID", "TENURE_LEASE_ID", "TENURE_INSTANCE_ID", "TENURE_SESSION_KEY"];

/// Connects to the daemon, and starts it if needed. Returns `None` if none runs and none may be started.
pub(crate) fn connect_or_start(settings: &Settings) -> Result<Option<Client>, Failure> {
    if let Some(client) = connect_or_rebind(settings)? {
        return Ok(Some(client));
    }
    if !settings.autostart || program::is_inside_a_run() {
        return Ok(None);
    }
    start(settings).map(Some)
}

/// Connects to the daemon, for commands that need one.
pub(crate) fn require(settings: &Settings) -> Result<Client, Failure> {
    connect_or_start(settings)?.ok_or_else(|| {
        Failure::refused(
            "no daemon is running, and this command may not start one: use `tenure daemon start`",
        )
    })
}

/// Connects to the daemon, if one runs.
pub(crate) fn connect(settings: &Settings) -> Option<Client> {
    let client = Client::new(&settings.state);
    client.connect().is_ok().then_some(client)
}

/// Connects to the daemon, if one runs. If its socket was removed, waits until the daemon has bound it again.
fn connect_or_rebind(settings: &Settings) -> Result<Option<Client>, Failure> {
    let unreachable = UnreachableDaemon::new(settings);
    loop {
        if let Some(client) = connect(settings) {
            return Ok(Some(client));
        }
        // A daemon that is starting or exiting has no socket: do not wait for it here.
        if !unreachable.client.lock_holder().is_some_and(|holder| holder.serving) {
            return Ok(None);
        }
        unreachable.check()?;
        poll::wait(&[], Some(POLL_INTERVAL)).map_err(Failure::refused)?;
    }
}

/// A daemon whose lock says that it serves, but whose socket does not accept connections.
pub(crate) struct UnreachableDaemon {
    client: Client,
    since: Duration,
    limit: Duration,
}

impl UnreachableDaemon {
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
            Some(LockHolder { pid, serving: true, .. }) => Err(Failure::daemon_silent(format!(
                "the daemon (pid {pid}) runs, but nobody can connect to its socket {SOCKET}: end it with `tenure \
                 daemon stop` (runs go on)"
            ))),
            Some(_) | None => Ok(()),
        }
    }
}

/// Waits for the next daemon. Starts none: the last one may have been stopped on purpose.
pub(crate) fn wait_for_next(settings: &Settings) -> Result<Client, Failure> {
    loop {
        poll::wait(&[], Some(NEXT_POLL_INTERVAL)).map_err(Failure::refused)?;
        // A hung daemon does not count: it will be replaced, or go on.
        if let Some(client) = connect(settings)
            && try_call(client.health())?.is_ok()
        {
            return Ok(client);
        }
    }
}

/// Starts a daemon that outlives this command, and waits until it accepts connections.
pub(crate) fn start(settings: &Settings) -> Result<Client, Failure> {
    // Checked here, because the daemon's environment no longer shows it.
    if program::is_inside_a_run() {
        return Err(Failure::refused(CannotServe::InsideARun));
    }
    let client = Client::new(&settings.state);
    let failed = |error: io::Error| {
        full_disk(settings).unwrap_or_else(|| Failure::refused(format!("cannot start the daemon: {error}")))
    };
    tenure_os::file::Dir::ensure(&settings.state).map_err(failed)?;
    let (conn, theirs) = Conn::pair().map_err(failed)?;
    let mut verb: Vec<&std::ffi::OsStr> = vec!["daemon".as_ref(), "run".as_ref(), "--detached".as_ref()];
    if settings.autostart {
        verb.push("--restart".as_ref());
    }
    program::start(&verb, environment(settings), theirs, &settings.state.join("daemon.log"))
        .map_err(failed)?;
    let start_error = read_start_error(&conn).map_err(failed)?;
    let deadline = clock::awake() + START_LIMIT;
    loop {
        match client.connect() {
            Ok(_) => return Ok(client),
            // Another process starts a daemon at this moment, or ours has reported why it cannot serve.
            Err(_) if start_error.starts_with("already running") && clock::awake() < deadline => {
                poll::wait(&[], Some(POLL_INTERVAL)).map_err(failed)?;
            }
            Err(_) if start_error.starts_with("already running") => {
                let pid =
                    client.lock_holder().map(|holder| format!(" (pid {})", holder.pid)).unwrap_or_default();
                return Err(Failure::daemon_silent(format!(
                    "a daemon{pid} is running, but nobody can connect to its socket {SOCKET}: see daemon.log in the \
                     state root, or end it with `tenure daemon stop` (runs go on)"
                )));
            }
            Err(_) if !start_error.is_empty() => return Err(Failure::refused(start_error)),
            Err(error) => return Err(failed(error)),
        }
    }
}

/// Reads the new daemon's error; empty if it is ready.
fn read_start_error(conn: &Conn) -> io::Result<String> {
    let deadline = clock::awake() + START_LIMIT;
    let mut start_error = Vec::new();
    loop {
        let mut chunk = [0; 1024];
        match conn.read(&mut chunk)? {
            Got::Bytes(n) => start_error.extend_from_slice(&chunk[..n]),
            Got::End => return Ok(String::from_utf8_lossy(&start_error).trim().to_owned()),
            Got::Nothing => {
                let left = deadline.saturating_sub(clock::awake());
                if left.is_zero() {
                    return Err(io::Error::new(io::ErrorKind::TimedOut, "it was not ready in time"));
                }
                poll::wait(&[Interest::reading(conn)], Some(left))?;
            }
        }
    }
}

/// The daemon's environment: the caller's, without the variables of a run, and with absolute paths in Tenure's own.
fn environment(settings: &Settings) -> Vec<(OsString, OsString)> {
    let pinned = settings.pinned();
    let is_ours = |name: &OsString| {
        RUN_VARIABLES.iter().any(|mark| name == mark) || pinned.iter().any(|(known, _)| name == known)
    };
    let mut env: Vec<_> = env::vars_os().filter(|(name, _)| !is_ours(name)).collect();
    env.extend(pinned.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
    if !pinned.iter().any(|(name, _)| *name == "TENURE_STATE") {
        env.push(("TENURE_STATE".into(), settings.state.clone().into_os_string()));
    }
    env
}

/// Runs a call to the daemon.
pub(crate) fn call<T>(call: impl Future<Output = Result<T, CallError>>) -> Result<T, Failure> {
    try_call(call)?.map_err(|failed| to_failure(&failed))
}

/// Runs a call to the daemon; returns the client's own error.
pub(crate) fn try_call<T>(call: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    Ok(runtime.map_err(Failure::refused)?.block_on(call))
}

/// Converts a client's error to a command's.
pub(crate) fn to_failure(failed: &CallError) -> Failure {
    match failed.code() {
        Some("no-such-route") => Failure::refused(
            "the daemon does not know this request: it runs another version of Tenure; restart it with `tenure daemon stop`, \
             then `tenure daemon start`",
        ),
        Some(code) if code.starts_with("no-such-") => Failure::no_such(failed),
        // Programs look for the word "forbidden".
        Some("forbidden") => Failure::refused(format!("forbidden: {failed}")),
        _ if matches!(failed, CallError::Silent { .. }) => Failure::daemon_silent(failed),
        _ if failed.is_lost() => Failure::daemon_lost(failed),
        _ => Failure::refused(failed),
    }
}
