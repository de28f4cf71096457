//! Waiting for the end of a turn. The daemon lets one request wait only so long, and may be another one meanwhile.

use crate::failure::Failure;
use crate::reach;
use std::time::Duration;
use tenure_client::Client;
use tenure_core::session::TurnState;
use tenure_core::tools::TURN_WAIT_MS;
use tenure_core::tools::sessions::{SessionsReply, SessionsRequest, TurnJson};
use tenure_os::clock;
use tenure_settings::Settings;

/// How long after an answer that says nothing of the turn it is asked for again.
const PAUSE: Duration = Duration::from_millis(100);

/// What is waited for.
pub(super) struct Waiting<'a> {
    pub(super) settings: &'a Settings,
    /// What the daemon is asked.
    pub(super) request: SessionsRequest,
    /// When to give up.
    pub(super) deadline: Option<Duration>,
}

/// What the waiting came to.
pub(super) enum Awaited {
    /// The turn has ended.
    Ended(Box<TurnJson>),
    /// The time is up.
    GoesOn,
}

impl Waiting<'_> {
    /// Waits for the end of the turn; without an id, of the one that the first answer names.
    pub(super) fn turn(mut self) -> Result<Awaited, Failure> {
        let mut client = reach::needed(self.settings)?;
        loop {
            let left = self.deadline.map(|deadline| deadline.saturating_sub(clock::awake()));
            let most = Duration::from_millis(TURN_WAIT_MS);
            let slice = left.map_or(most, |left| left.min(most));
            self.request.timeout_ms = u64::try_from(slice.as_millis()).ok();
            match self.ask(&mut client)?.and_then(|reply| reply.turn) {
                Some(turn) if turn.state != TurnState::Running => return Ok(Awaited::Ended(Box::new(turn))),
                Some(turn) => self.request.turn_id = Some(turn.turn_id.to_string()),
                // It waits for its turn, or the daemon is another one now.
                None => {
                    tenure_os::poll::wait(&[], Some(slice.min(PAUSE))).map_err(Failure::refused)?;
                }
            }
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(Awaited::GoesOn);
            }
        }
    }

    /// Asks once; `None` if the daemon went away, and then `client` is the next one's.
    fn ask(&self, client: &mut Client) -> Result<Option<SessionsReply>, Failure> {
        match reach::try_wait(client.sessions(&self.request))? {
            Ok(reply) => Ok(Some(reply)),
            Err(failed) if failed.is_lost() => {
                *client = reach::needed(self.settings)?;
                Ok(None)
            }
            Err(failed) => Err(reach::failure(&failed)),
        }
    }
}
