//! The daemon's liveness signals, for its warden and for a service manager. They come from a task of the runtime that
//! serves clients, so they stop when clients are not served any more. A killed warden is replaced (decision 0028).

use crate::supervisor::Supervisor;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::time::Duration;
use tenure_core::defaults::REPLACE_AFTER;
use tenure_os::file::FileId;
use tenure_os::socket::Conn;
use tenure_os::{process, program, service};
use tenure_settings::Settings;

/// Number of liveness signals in the time after which a silent daemon is replaced.
const SIGNS: u32 = 20;
/// Number of liveness signals in the time that a service manager allows.
const SIGNS_TO_MANAGER: u32 = 3;
/// The pauses before a warden is restarted.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// A liveness signal. Its value does not matter.
const SIGN: u8 = b'.';

/// Sends liveness signals as long as the runtime runs its tasks.
pub async fn show(settings: Settings, mut warden: Option<Conn>) {
    let own = settings.daemon.replace_after.unwrap_or(REPLACE_AFTER) / SIGNS;
    let watchdog = service::watchdog();
    let pause = watchdog.map_or(own, |limit| own.min(limit / SIGNS_TO_MANAGER));
    loop {
        // Not to the service manager of the process that started us: it watches that process, not this one.
        if watchdog.is_some() {
            service::alive();
        }
        // Never blocks: if the buffer is full, the warden has enough unread signals.
        if let Some(conn) = &warden
            && let Err(error) = conn.write(&[SIGN])
        {
            tracing::warn!(%error, "the warden is gone: starting another");
            warden = Some(another_warden(&settings.state).await);
        }
        tokio::time::sleep(pause).await;
    }
}

/// Starts another warden, and retries until that succeeds.
async fn another_warden(state: &Path) -> Conn {
    let mut pause = FIRST_PAUSE;
    loop {
        let state = state.to_owned();
        let started = tokio::task::spawn_blocking(move || start_warden(&state)).await;
        match started.map_err(io::Error::other).and_then(|started| started) {
            Ok(conn) => return conn,
            Err(error) => tracing::error!(%error, "no warden can be started"),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Starts a warden for this process. The warden is our child and no subreaper: when we die it goes to init, like our
/// nursery, and starts the next daemon as its own child.
fn start_warden(state: &Path) -> io::Result<Conn> {
    let (conn, theirs) = Conn::pair()?;
    let own = serde_json::to_string(&process::own()?).map_err(io::Error::other)?;
    let words = ["daemon", "run", "--detached", "--watch", &own].map(OsStr::new);
    let env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    program::start(&words, env, theirs, &state.join("daemon.log"))?;
    Ok(conn)
}

/// Returns once the registry's file is no longer the one that was opened: writes would go into a file that nobody
/// reads.
pub async fn registry_replaced(supervisor: &Supervisor, opened: Option<FileId>) {
    let path = supervisor.settings.database();
    let root = FileId::of(supervisor.state.path()).ok().flatten();
    loop {
        tokio::time::sleep(supervisor.settings.lease.heartbeat).await;
        // A state root that was moved or removed as a whole is not handled here, nor is an unreadable file (I6).
        let same_root = FileId::of(supervisor.state.path()).is_ok_and(|now| now == root);
        if same_root && FileId::of(&path).is_ok_and(|now| now != opened) {
            return;
        }
    }
}
