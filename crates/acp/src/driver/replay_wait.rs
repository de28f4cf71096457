//! Waiting for the end of a replay: until the agent has replayed the recorded history, or is silent.

use super::Driver;
use crate::host::Host;
use crate::replay::{Messages, Replay};
use crate::schema::SessionUpdate;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// Silence after which an incomplete replay counts as over.
const QUIET: Duration = Duration::from_secs(2);
/// Silence after which a complete replay is over, if part of it came after the response to the load.
const LULL: Duration = Duration::from_millis(100);
/// Time limit for a replay.
const REPLAY_LIMIT: Duration = Duration::from_secs(60);

/// A replay, and the caller that waits for its end.
#[derive(Default)]
pub(super) struct ReplayWait {
    replay: Replay,
    waiter: Option<oneshot::Sender<()>>,
    /// The time at which the silence ends the replay.
    pub(super) quiet_at: Option<Instant>,
    /// The time at which the wait is given up.
    limit: Option<Instant>,
}

impl<H: Host> Driver<H> {
    /// Sends `reply` when the replay of this recorded history is over.
    pub(super) fn await_replay(&mut self, recorded: Messages, reply: oneshot::Sender<()>) {
        let Some(wait) = &mut self.replay else {
            // The caller may have left.
            let _ = reply.send(());
            return;
        };
        wait.replay.expect(recorded);
        wait.waiter = Some(reply);
        wait.limit = Some(Instant::now() + REPLAY_LIMIT);
        self.wait_for_quiet();
    }

    /// Returns true if an update belongs to the replay of a loaded conversation.
    pub(super) fn is_replay(&mut self, update: &SessionUpdate) -> bool {
        let is_answered = self.abilities.is_replaying;
        let Some(wait) = &mut self.replay else { return false };
        if wait.replay.take(update, is_answered) {
            self.wait_for_quiet();
        }
        true
    }

    /// Restarts the wait for silence, after each message of the replay.
    fn wait_for_quiet(&mut self) {
        let Some(wait) = &mut self.replay else { return };
        let Some(limit) = wait.limit else { return };
        let silence = match (wait.replay.is_complete(), wait.replay.is_late()) {
            (true, false) => Duration::ZERO,
            (true, true) => LULL,
            (false, _) => QUIET,
        };
        wait.quiet_at = Some(limit.min(Instant::now() + silence));
    }

    /// Ends the replay: later updates are new and go to the history.
    pub(super) fn end_replay(&mut self) {
        let Some(wait) = self.replay.take() else { return };
        if wait.replay.is_late() && !wait.replay.is_complete() {
            self.abilities.loads_badly = true;
        }
        self.abilities.is_replaying = false;
        self.pending.step.abilities = Some(self.abilities.text());
        self.pending.replay_waiter = wait.waiter;
        self.schedule_record(true);
    }

    /// Records that the agent fails to load conversations reliably.
    pub(super) fn note_bad_load(&mut self) {
        self.abilities.loads_badly = true;
        self.pending.step.abilities = Some(self.abilities.text());
        self.schedule_record(true);
    }
}
