//! Output heartbeats for clients that follow events: `run-output`, at most one per second and run. They are live
//! only: no row, no number. Keepers report growth only while a client follows events, and once per heartbeat.

use crate::run_handle::RunHandle;
use crate::supervisor::Supervisor;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::api::Event;
use tenure_core::ids::InstanceId;
use tenure_core::record::Ticket;
use tenure_os::clock;
use tenure_store::kind;
use tokio::sync::{broadcast, watch};
use tokio::time::{Instant, sleep_until};

/// Time between two heartbeats of one run.
const INTERVAL: Duration = Duration::from_secs(1);
/// Time until a run that is not recorded as started is checked again.
const UNTIL_RECORDED: Duration = Duration::from_millis(20);
/// Number of heartbeats queued for a slow client; older ones are dropped.
const QUEUE: usize = 256;

/// The heartbeats of the held runs.
pub struct Heartbeats {
    /// Number of clients that follow events.
    followers: watch::Sender<usize>,
    beats: broadcast::Sender<Event>,
}

impl Default for Heartbeats {
    fn default() -> Self {
        Self { followers: watch::Sender::new(0), beats: broadcast::Sender::new(QUEUE) }
    }
}

/// A client's subscription.
pub struct HeartbeatFollower {
    supervisor: Arc<Supervisor>,
    beats: broadcast::Receiver<Event>,
    /// The heartbeat that ended the wait.
    first: Option<Event>,
}

impl HeartbeatFollower {
    /// Follows the heartbeats of all runs.
    pub fn new(supervisor: &Arc<Supervisor>) -> Self {
        let beats = supervisor.events.heartbeats.beats.subscribe();
        supervisor.events.heartbeats.followers.send_modify(|count| *count += 1);
        Self { supervisor: Arc::clone(supervisor), beats, first: None }
    }

    /// Returns the heartbeats since the last call.
    pub fn take(&mut self) -> Vec<Event> {
        let mut taken: Vec<Event> = self.first.take().into_iter().collect();
        loop {
            match self.beats.try_recv() {
                Ok(beat) => taken.push(beat),
                Err(broadcast::error::TryRecvError::Lagged(_)) => {}
                Err(_) => return taken,
            }
        }
    }

    /// Waits for a heartbeat. Cancelling the wait loses none.
    pub async fn wait(&mut self) {
        if self.first.is_none() {
            // A dropped heartbeat is as good a reason to look.
            self.first = self.beats.recv().await.ok();
        }
    }
}

impl Drop for HeartbeatFollower {
    fn drop(&mut self) {
        self.supervisor.events.heartbeats.followers.send_modify(|count| *count -= 1);
    }
}

/// Makes the event that a run's output has grown to this size.
pub fn heartbeat(ticket: &Ticket, instance_id: InstanceId, bytes: u64, at_ms: u64) -> Event {
    Event {
        seq: None,
        at_ms,
        kind: kind::RUN_OUTPUT.to_owned(),
        run_id: Some(ticket.run_id.clone()),
        session_id: ticket.options.session_id.clone(),
        instance_id,
        detail: json!({ "bytes": bytes }),
    }
}

/// The heartbeat schedule of one held run.
pub(crate) struct Pulse {
    supervisor: Arc<Supervisor>,
    followers: watch::Receiver<usize>,
    state: PulseState,
    /// The output length that was announced last, or that existed when the first client came.
    announced: u64,
}

#[derive(Clone, Copy)]
enum PulseState {
    /// No client follows.
    Off,
    /// The keeper reports growth.
    Listening,
    /// The time of the next heartbeat.
    Resting(Instant),
}

impl Pulse {
    pub(crate) fn new(supervisor: &Arc<Supervisor>) -> Self {
        let mut followers = supervisor.events.heartbeats.followers.subscribe();
        followers.mark_changed();
        Self { supervisor: Arc::clone(supervisor), followers, state: PulseState::Off, announced: 0 }
    }

    /// Waits until `update` has something to do.
    pub(crate) async fn due(&mut self) {
        let followers = &mut self.followers;
        let changed = async { followers.changed().await.is_ok() };
        match self.state {
            PulseState::Off | PulseState::Listening => {
                if !changed.await {
                    std::future::pending::<()>().await;
                }
            }
            PulseState::Resting(until) => {
                tokio::select! { true = changed => {}, () = sleep_until(until) => {} }
            }
        }
    }

    /// Starts or stops the keeper's reports, or announces growth since the last heartbeat.
    pub(crate) fn update(&mut self, held: &RunHandle) {
        let is_followed = *self.followers.borrow_and_update() > 0;
        self.state = match self.state {
            PulseState::Off if is_followed => {
                // Output from before is no growth.
                let written = tenure_output::totals(&held.directory.join("output"));
                self.announced = written.map_or(0, |totals| totals.bytes);
                held.follow();
                PulseState::Listening
            }
            PulseState::Listening if !is_followed => {
                held.unfollow();
                PulseState::Off
            }
            PulseState::Resting(_) if !is_followed => PulseState::Off,
            PulseState::Resting(until) if until <= Instant::now() => {
                self.announce(held).unwrap_or_else(|| {
                    held.follow();
                    PulseState::Listening
                })
            }
            same => same,
        };
    }

    /// Handles the keeper's report that the output grew.
    pub(crate) fn grew(&mut self, held: &RunHandle) {
        if let PulseState::Listening = self.state
            && let Some(resting) = self.announce(held)
        {
            held.unfollow();
            self.state = resting;
        }
    }

    /// Announces growth, if there is any; returns the time to rest. The start of the run is recorded first.
    fn announce(&mut self, held: &RunHandle) -> Option<PulseState> {
        let status = held.status();
        if status.grown <= self.announced {
            return None;
        }
        if status.note.is_none() {
            return Some(PulseState::Resting(Instant::now() + UNTIL_RECORDED));
        }
        self.announced = status.grown;
        // Without a receiver the heartbeat is dropped.
        let beat = heartbeat(&held.ticket, self.supervisor.instance.clone(), status.grown, clock::unix_ms());
        let _ = self.supervisor.events.heartbeats.beats.send(beat);
        Some(PulseState::Resting(Instant::now() + INTERVAL))
    }
}
