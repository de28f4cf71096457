//! Checks that the daemon is alive while a client waits for an answer. A call has no time limit of its own, because
//! some answers take as long as a command does. Instead the client probes the daemon: a probe without an answer fails
//! the call.

use crate::{CallError, Client};
use hyper::{Method, Request};
use std::future::Future;
use std::io;
use std::pin::pin;
use std::time::Duration;
use tenure_core::daemon_lock::{self, LockHolder};
use tenure_core::defaults::{PROBE_AFTER, PROBE_EVERY, PROBE_LIMIT};
use tenure_os::file::Dir;
use tenure_os::lock::{self, Holder};
use tenure_os::socket::Conn;
use tokio::time::{Instant, sleep, timeout};

/// Time between two attempts to connect.
const RETRY: Duration = Duration::from_millis(50);

impl Client {
    /// Returns the daemon that holds the lock of the state root; `None` if none does, or the lock cannot be read.
    pub fn lock_holder(&self) -> Option<LockHolder> {
        let dir = Dir::open(&self.state).ok()?;
        let held = lock::holder(&dir, daemon_lock::NAME).ok()? == Holder::Somebody;
        let text = held.then(|| dir.read(daemon_lock::NAME).ok()?).flatten()?;
        daemon_lock::read(&text)
    }

    /// Returns the error for a daemon that does not answer.
    pub fn silent_error(&self) -> CallError {
        CallError::Silent { pid: self.lock_holder().map(|holder| holder.pid) }
    }

    /// Probes the daemon. A daemon that is gone is no failure here: its connections end by themselves.
    pub async fn probe(&self) -> Result<(), CallError> {
        let deadline = Instant::now() + PROBE_LIMIT;
        loop {
            let request =
                self.exchange_once(Request::builder().method(Method::GET).uri("/v1/health"), Vec::new());
            match timeout(deadline.saturating_duration_since(Instant::now()), request).await {
                Ok(Ok(_) | Err(CallError::Refused(_) | CallError::NotUnderstood(_))) => return Ok(()),
                // The socket may have been removed: the daemon binds a new one with its next heartbeat.
                Ok(Err(_)) if self.lock_holder().is_none() => return Ok(()),
                Ok(Err(_)) if Instant::now() < deadline => sleep(RETRY).await,
                Ok(Err(_)) | Err(_) => return Err(self.silent_error()),
            }
        }
    }

    /// Probes the daemon until it no longer answers.
    pub async fn wait_until_silent(&self) -> CallError {
        loop {
            sleep(PROBE_EVERY).await;
            if let Err(silent) = self.probe().await {
                return silent;
            }
        }
    }

    /// Waits for an answer for as long as the daemon is alive.
    pub(crate) async fn while_alive<T, E>(
        &self,
        answer: impl Future<Output = Result<T, E>>,
    ) -> Result<T, CallError>
    where
        CallError: From<E>,
    {
        let mut answer = pin!(answer);
        let mut pause = PROBE_AFTER;
        loop {
            let probe = async {
                sleep(pause).await;
                self.probe().await
            };
            tokio::select! {
                biased;
                answer = &mut answer => return answer.map_err(CallError::from),
                probe = probe => probe?,
            }
            pause = (pause * 2).min(PROBE_EVERY);
        }
    }

    /// Connects. Retries for a while if too many clients wait already.
    pub(crate) async fn connect_in_turn(&self) -> Result<Conn, CallError> {
        let deadline = Instant::now() + PROBE_LIMIT;
        loop {
            match self.connect() {
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error.into()),
                Err(_) if Instant::now() >= deadline => return Err(self.silent_error()),
                Err(_) => sleep(RETRY).await,
                Ok(conn) => return Ok(conn),
            }
        }
    }
}
