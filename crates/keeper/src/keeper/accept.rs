//! The control socket: accepts connections.

use super::Keeper;
use super::peers::Peer;
use crate::frames::Frames;
use crate::rundir::RunDir;
use std::time::Duration;
use tenure_os::clock;
use tenure_os::poll::MOST_CONNECTIONS;
use tenure_os::socket::Listener;
use tenure_os::stderr::complain;

/// Pause after a failure to accept.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

impl Keeper {
    /// Returns true if a new connection is accepted now; more connections than fit wait in the backlog.
    pub(super) fn is_accepting(&self) -> bool {
        self.listener.is_some() && self.peers.len() < MOST_CONNECTIONS && self.accept_again_at.is_none()
    }

    /// Accepts again once the pause after a failure is over.
    pub(super) fn resume_accepting(&mut self) {
        if self.accept_again_at.is_some_and(|at| clock::awake() >= at) {
            self.accept_again_at = None;
        }
    }

    /// Accepts the waiting connections. One that cannot be accepted now waits in the backlog, or is refused by the
    /// system.
    pub(super) fn accept(&mut self) {
        let Some(listener) = &self.listener else { return };
        loop {
            match listener.accept() {
                Ok(Some(conn)) => self.peers.push(Peer::anonymous(Frames::new(conn))),
                Ok(None) => return,
                Err(_) => {
                    // Most likely no descriptor is free: the connections still wait when one is.
                    self.accept_again_at = Some(clock::awake() + ACCEPT_RETRY);
                    return;
                }
            }
        }
    }
}

/// Opens the control socket. A run without one can still be waited for and is ended in time, so a failure is only
/// logged.
pub(super) fn listen(dir: &RunDir) -> Option<Listener> {
    match dir.listen() {
        Ok(listener) => Some(listener),
        Err(error) => {
            complain(format_args!("run {} has no control socket: {error}", dir.id()));
            None
        }
    }
}
