//! Waiting for the end of a replay: until the recorded history has come, or the agent is quiet.

use super::Driver;
use crate::host::Host;
use crate::replay::{Messages, Replay};
use crate::schema::SessionUpdate;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// The silence after which a replay is taken to be over, though not all of the recorded history has come.
const QUIET: Duration = Duration::from_secs(2);
/// The silence after which a late replay that has come to the end of the recorded history is over.
const LULL: Duration = Duration::from_millis(100);
/// The longest time that a replay is waited for.
const REPLAY_LIMIT: Duration = Duration::from_secs(60);

/// A replay, and who waits for its end until when.
#[derive(Default)]
pub(super) struct ReplayWait {
    replay: Replay,
    waiter: Option<oneshot::Sender<()>>,
    /// When the agent has been silent for long enough.
    pub(super) quiet_at: Option<Instant>,
    limit: Option<Instant>,
}

impl<H: Host> Driver<H> {
    /// Has somebody wait for the end of a replay, of which this is recorded.
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

    /// Sets how long the agent may be silent until its replay is over.
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

    /// The replay is over: from now on updates are told.
    pub(super) fn end_replay(&mut self) {
        let Some(wait) = self.replay.take() else { return };
        if wait.replay.is_late() && !wait.replay.is_complete() {
            self.abilities.loads_badly = true;
        }
        self.abilities.is_replaying = false;
        self.step.abilities = Some(self.abilities.text());
        self.replayed = wait.waiter;
        self.is_due(true);
    }

    pub(super) fn note_bad_load(&mut self) {
        self.abilities.loads_badly = true;
        self.step.abilities = Some(self.abilities.text());
        self.is_due(true);
    }
}
