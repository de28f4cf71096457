//! Output heartbeats for clients that follow events: `run-output`, at most one a second for each run. They are live
//! only: no row, no number. Keepers tell of growth only while somebody follows events, and once for each heartbeat.

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
/// Time until a run that is not recorded as started is looked at again.
const UNTIL_RECORDED: Duration = Duration::from_millis(20);
/// How many heartbeats wait for a client that is slow to read them; older ones are dropped.
const QUEUE: usize = 256;

/// Where held runs tell that their output grows.
pub struct Heartbeats {
    /// How many clients follow events.
    followers: watch::Sender<usize>,
    beats: broadcast::Sender<Event>,
}

impl Default for Heartbeats {
    fn default() -> Self {
        Self { followers: watch::Sender::new(0), beats: broadcast::Sender::new(QUEUE) }
    }
}

/// One client's subscription.
pub struct HeartbeatFollower {
    supervisor: Arc<Supervisor>,
    beats: broadcast::Receiver<Event>,
    /// The one that was waited for.
    first: Option<Event>,
}

impl HeartbeatFollower {
    /// Follows the heartbeats of all runs.
    pub fn new(supervisor: &Arc<Supervisor>) -> Self {
        let beats = supervisor.events.heartbeats.beats.subscribe();
        supervisor.events.heartbeats.followers.send_modify(|count| *count += 1);
        Self { supervisor: Arc::clone(supervisor), beats, first: None }
    }

    /// Returns those that have come since.
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

    /// Waits until there is one to take. Nothing is lost if the wait is given up.
    pub async fn wait(&mut self) {
        if self.first.is_none() {
            // One that was dropped because others came is as good a reason to look.
            self.first = self.beats.recv().await.ok();
        }
    }
}

impl Drop for HeartbeatFollower {
    fn drop(&mut self) {
        self.supervisor.events.heartbeats.followers.send_modify(|count| *count -= 1);
    }
}

/// The event that a run's output has grown to so many bytes.
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

/// When one held run tells of its growth.
pub(crate) struct Pulse {
    supervisor: Arc<Supervisor>,
    followers: watch::Receiver<usize>,
    state: PulseState,
    /// The length of the output that was told last, or that was there when the first client came.
    told: u64,
}

#[derive(Clone, Copy)]
enum PulseState {
    /// Nobody follows.
    Off,
    /// The keeper tells of growth.
    Listening,
    /// The next heartbeat may come then.
    Resting(Instant),
}

impl Pulse {
    pub(crate) fn new(supervisor: &Arc<Supervisor>) -> Self {
        let mut followers = supervisor.events.heartbeats.followers.subscribe();
        followers.mark_changed();
        Self { supervisor: Arc::clone(supervisor), followers, state: PulseState::Off, told: 0 }
    }

    /// Waits until `go_on` has something to do.
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

    /// Begins or ceases to listen, or tells what grew in the meantime.
    pub(crate) fn go_on(&mut self, held: &RunHandle) {
        let is_followed = *self.followers.borrow_and_update() > 0;
        self.state = match self.state {
            PulseState::Off if is_followed => {
                // What was written before is no news.
                let written = tenure_output::totals(&held.directory.join("output"));
                self.told = written.map_or(0, |totals| totals.bytes);
                held.follow();
                PulseState::Listening
            }
            PulseState::Listening if !is_followed => {
                held.unfollow();
                PulseState::Off
            }
            PulseState::Resting(_) if !is_followed => PulseState::Off,
            PulseState::Resting(until) if until <= Instant::now() => self.tell(held).unwrap_or_else(|| {
                held.follow();
                PulseState::Listening
            }),
            same => same,
        };
    }

    /// The keeper said that the output grew.
    pub(crate) fn grew(&mut self, held: &RunHandle) {
        if let PulseState::Listening = self.state
            && let Some(resting) = self.tell(held)
        {
            held.unfollow();
            self.state = resting;
        }
    }

    /// Tells of growth if there is some; returns how long to rest then. That the run started is recorded first.
    fn tell(&mut self, held: &RunHandle) -> Option<PulseState> {
        let status = held.status();
        if status.grown <= self.told {
            return None;
        }
        if status.note.is_none() {
            return Some(PulseState::Resting(Instant::now() + UNTIL_RECORDED));
        }
        self.told = status.grown;
        // Without a receiver it is told to nobody.
        let beat = heartbeat(&held.ticket, self.supervisor.instance.clone(), status.grown, clock::unix_ms());
        let _ = self.supervisor.events.heartbeats.beats.send(beat);
        Some(PulseState::Resting(Instant::now() + INTERVAL))
    }
}
