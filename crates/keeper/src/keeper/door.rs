//! The control socket, and who is let in by it.

use super::Keeper;
use super::peers::Peer;
use crate::frames::Frames;
use crate::rundir::RunDir;
use std::time::Duration;
use tenure_os::clock;
use tenure_os::complaint::complain;
use tenure_os::poll::MOST_CONNECTIONS;
use tenure_os::socket::Listener;

/// How long nobody is let in after that failed.
const DOOR: Duration = Duration::from_millis(100);

impl Keeper {
    /// Whether somebody who connects now is let in now; more than fit wait at the door.
    pub(super) fn lets_in(&self) -> bool {
        self.listener.is_some() && self.peers.len() < MOST_CONNECTIONS && self.door_opens_at.is_none()
    }

    /// Lets people in again once the time is over.
    pub(super) fn open_door(&mut self) {
        if self.door_opens_at.is_some_and(|at| clock::awake() >= at) {
            self.door_opens_at = None;
        }
    }

    /// Takes in who has connected. One who cannot be taken in now waits, or is turned away by the system.
    pub(super) fn accept(&mut self) {
        let Some(listener) = &self.listener else { return };
        loop {
            match listener.accept() {
                Ok(Some(conn)) => self.peers.push(Peer::unknown(Frames::new(conn))),
                Ok(None) => return,
                Err(_) => {
                    // No descriptor to spare, most likely: they are still at the door when some are.
                    self.door_opens_at = Some(clock::awake() + DOOR);
                    return;
                }
            }
        }
    }
}

/// A run without a socket can still be waited for and is still ended in time, so it is not refused for that.
pub(super) fn listen(dir: &RunDir) -> Option<Listener> {
    match dir.listen() {
        Ok(listener) => Some(listener),
        Err(error) => {
            complain(format_args!("run {} has no control socket: {error}", dir.id()));
            None
        }
    }
}
