//! Waits for the end of a turn. The daemon limits the wait of a request, and another daemon may answer the next one.

use crate::daemon_client;
use crate::failure::Failure;
use std::time::Duration;
use tenure_client::Client;
use tenure_core::session::TurnState;
use tenure_core::tools::TURN_WAIT_MS;
use tenure_core::tools::sessions::{SessionsReply, SessionsRequest, TurnJson};
use tenure_os::clock;
use tenure_settings::Settings;

/// Pause before the request is repeated, after a reply that does not contain the turn.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// A wait for the end of a turn.
pub(super) struct TurnWait<'a> {
    pub(super) settings: &'a Settings,
    /// The request, which is repeated until the turn has ended.
    pub(super) request: SessionsRequest,
    /// Time at which the wait ends, if it is limited.
    pub(super) deadline: Option<Duration>,
}

/// Result of the wait.
pub(super) enum WaitOutcome {
    /// The turn has ended.
    Ended(Box<TurnJson>),
    /// The deadline has passed before the turn ended.
    StillRunning,
}

impl TurnWait<'_> {
    /// Waits for the end of the turn. Without an id, waits for the turn that the first reply names.
    pub(super) fn turn(mut self) -> Result<WaitOutcome, Failure> {
        let mut client = daemon_client::require(self.settings)?;
        loop {
            let left = self.deadline.map(|deadline| deadline.saturating_sub(clock::awake()));
            let most = Duration::from_millis(TURN_WAIT_MS);
            let slice = left.map_or(most, |left| left.min(most));
            self.request.timeout_ms = u64::try_from(slice.as_millis()).ok();
            match self.ask(&mut client)?.and_then(|reply| reply.turn) {
                Some(turn) if turn.state != TurnState::Running => {
                    return Ok(WaitOutcome::Ended(Box::new(turn)));
                }
                Some(turn) => self.request.turn_id = Some(turn.turn_id.to_string()),
                // The message is still queued, or another daemon answers now.
                None => {
                    tenure_os::poll::wait(&[], Some(slice.min(RETRY_PAUSE))).map_err(Failure::refused)?;
                }
            }
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(WaitOutcome::StillRunning);
            }
        }
    }

    /// Sends the request once. If the daemon went away, connects `client` to the next one and returns `None`.
    fn ask(&self, client: &mut Client) -> Result<Option<SessionsReply>, Failure> {
        match daemon_client::try_call(client.sessions(&self.request))? {
            Ok(reply) => Ok(Some(reply)),
            Err(failed) if failed.is_lost() => {
                *client = daemon_client::require(self.settings)?;
                Ok(None)
            }
            Err(failed) => Err(daemon_client::to_failure(&failed)),
        }
    }
}
