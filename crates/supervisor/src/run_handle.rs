//! A run that this daemon holds: the connection to its keeper, the keeper's messages, and their recording. Everything
//! is recorded before it is reported (I4): a waiting caller hears of an ending that is on disk.

use crate::admission::RunSlot;
use crate::heartbeats::Pulse;
use crate::link::Link;
use crate::reconcile;
use crate::register_existing;
use crate::supervisor::Supervisor;
use crate::sync::{lock, until};
use crate::task;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tenure_core::ending::Cause;
use tenure_core::journal::JournalEntry;
use tenure_core::lease::Hold;
use tenure_core::record::{Ending, KeeperNote, Ticket};
use tenure_core::state::State;
use tenure_core::wire::{KeeperMessage, KeeperRequest, refusal};
use tenure_keeper::rundir::RunDir;
use tenure_os::{clock, pause};
use tenure_store::Change;
use tokio::sync::{mpsc, watch};
use tokio::task::block_in_place;

/// The first and the longest pause before a failed record is retried.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// A run that this daemon holds.
#[derive(Debug)]
pub struct RunHandle {
    /// The run's ticket.
    pub ticket: Ticket,
    /// The lease on the run.
    pub hold: Hold,
    /// The run's directory, which is in another state root if the run was taken over.
    pub directory: PathBuf,
    orders: mpsc::UnboundedSender<KeeperRequest>,
    status: watch::Sender<Status>,
    followers: Mutex<usize>,
    /// True if a task may track the run: its last output is announced with its end.
    tracked: AtomicBool,
}

/// The queue of requests to the keeper.
pub(crate) type Orders = mpsc::UnboundedReceiver<KeeperRequest>;

/// The run's status.
#[derive(Debug, Clone, Default)]
pub struct Status {
    /// The keeper's note, once the run is recorded as running.
    pub note: Option<KeeperNote>,
    /// The time since which it is exiting.
    pub(crate) leaving_since_ms: Option<u64>,
    /// The cause, if the command itself did not end the run.
    pub cause: Option<Cause>,
    /// The size of its output, as the keeper reported it.
    pub(crate) grown: u64,
    /// The ending, once it is recorded.
    pub ending: Option<Arc<Ending>>,
    /// The reason why this daemon does not hold it any more.
    pub let_go: Option<String>,
    /// True if the keeper was told to continue without us for as long as it takes.
    pub released: bool,
}

impl Status {
    /// Returns the run's state.
    pub fn state(&self) -> State {
        match (&self.ending, &self.note) {
            (Some(_), _) => State::Exited,
            (None, _) if self.leaving_since_ms.is_some() => State::Exiting,
            (None, Some(_)) => State::Running,
            (None, None) => State::Starting,
        }
    }

    /// Returns true if nothing more will happen to it here.
    pub fn is_over(&self) -> bool {
        self.ending.is_some() || self.let_go.is_some()
    }
}

/// The task that holds a run.
pub(crate) struct HolderTask {
    pub held: Arc<RunHandle>,
    pub link: Link,
    pub(crate) orders: Orders,
    /// The run's slot among the live runs.
    #[expect(dead_code, reason = "it is given back when the run is over")]
    pub slot: Option<RunSlot>,
}

impl RunHandle {
    /// Makes the handle of a run, and the queue of requests to its keeper.
    pub fn new(ticket: Ticket, hold: Hold, directory: PathBuf, status: Status) -> (Arc<Self>, Orders) {
        let (orders, receiver) = mpsc::unbounded_channel();
        let status = watch::Sender::new(status);
        (
            Arc::new(Self {
                ticket,
                hold,
                directory,
                orders,
                status,
                followers: Mutex::new(0),
                tracked: AtomicBool::new(true),
            }),
            receiver,
        )
    }

    /// Sets whether a task tracks the run. For a run of another daemon that is unknown, and assumed.
    pub fn set_tracked(&self, tracked: bool) {
        self.tracked.store(tracked, Ordering::Relaxed);
    }

    /// Requests its end from the keeper, without waiting for the registry.
    pub fn cancel(&self, now: bool) {
        self.say(KeeperRequest::Cancel { now });
    }

    /// Sends a request to the keeper, without waiting for a response.
    pub fn say(&self, ask: KeeperRequest) {
        // If the keeper is gone, there is nothing to request.
        let _ = self.orders.send(ask);
    }

    /// Returns the run's status.
    pub fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    /// Follows the run's status.
    pub fn watch(&self) -> watch::Receiver<Status> {
        self.status.subscribe()
    }

    /// Waits until the run's command executes, has failed to, or is over.
    pub async fn begun(&self) -> Status {
        self.wait(|status| status.note.is_some() || status.is_over()).await
    }

    /// Waits until the run is over.
    pub async fn over(&self) -> Status {
        self.wait(Status::is_over).await
    }

    /// Tells the keeper to continue without us, and waits until that is sent.
    pub async fn release(&self) {
        self.say(KeeperRequest::Release);
        self.wait(|status| status.released || status.is_over()).await;
    }

    async fn wait(&self, is: impl FnMut(&Status) -> bool) -> Status {
        let mut status = self.status.subscribe();
        // The sender is in `self`, so the channel is open.
        status.wait_for(is).await.map(|status| status.clone()).unwrap_or_default()
    }

    /// Adds a follower of the output. Counted and sent under one lock: the last follower's leave must not be sent
    /// after the next one's arrival.
    pub fn follow(&self) {
        let mut followers = lock(&self.followers);
        *followers += 1;
        if *followers == 1 {
            self.say(KeeperRequest::Follow);
        }
    }

    /// Removes a follower of the output.
    pub(crate) fn unfollow(&self) {
        let mut followers = lock(&self.followers);
        *followers -= 1;
        if *followers == 0 {
            self.say(KeeperRequest::Unfollow);
        }
    }

    /// Notes the keeper's report that the output has grown.
    pub(crate) fn grew(&self, to: u64) {
        self.set(|status| status.grown = status.grown.max(to));
    }

    fn set(&self, change: impl FnOnce(&mut Status)) {
        self.status.send_modify(change);
    }

    /// Notes that the ending is recorded.
    pub fn ended(&self, ending: Ending) {
        self.set(|status| status.ending = Some(Arc::new(ending)));
    }

    /// Stops acting on the run.
    pub fn let_go(&self, why: String) {
        self.set(|status| {
            status.let_go.get_or_insert(why);
        });
    }
}

/// Holds a run until it is over. Reconnects if the keeper's connection drops.
pub(crate) async fn hold_until_over(supervisor: Arc<Supervisor>, mut task: HolderTask) {
    let held = Arc::clone(&task.held);
    let mut pulse = Pulse::new(&supervisor);
    loop {
        let (heard, queue) = mpsc::unbounded_channel();
        // Messages are recorded in order, beside the relay: clients' requests are passed on even if the registry is
        // slow or full.
        let recorder = tokio::spawn(record_messages(Arc::clone(&supervisor), Arc::clone(&held), queue));
        relay(&mut task, heard, &mut pulse).await;
        // The recorder does not panic.
        let _ = recorder.await;
        if held.status().is_over() {
            break;
        }
        match reconcile::reconnect_or_settle(&supervisor, &held).await {
            Some(link) => task.link = link,
            None => break,
        }
        if *lock(&held.followers) > 0 {
            held.say(KeeperRequest::Follow);
        }
    }
    supervisor.runs.remove(&held);
}

/// Passes messages in both directions, until the keeper is gone or the run is over.
async fn relay(task: &mut HolderTask, heard_of: mpsc::UnboundedSender<KeeperMessage>, pulse: &mut Pulse) {
    let held = Arc::clone(&task.held);
    let mut status = held.watch();
    loop {
        tokio::select! {
            heard = task.link.next::<KeeperMessage>() => match heard {
                // A report of growth is worth nothing later.
                Ok(Some((KeeperMessage::Grown { to }, _))) => {
                    held.grew(to);
                    pulse.grew(&held);
                }
                Ok(Some((message, _))) => drop(heard_of.send(message)),
                Ok(None) => return,
                Err(error) => {
                    tracing::warn!(run = %held.ticket.run_id, %error, "the keeper's connection failed");
                    return;
                }
            },
            Some(ask) = task.orders.recv() => {
                let releases = matches!(ask, KeeperRequest::Release);
                // If sending fails, the keeper may have sent its ending: read that first.
                let said = task.link.say(ask).await.is_ok();
                if releases && said {
                    held.set(|status| status.released = true);
                }
            }
            () = pulse.due() => pulse.update(&held),
            () = until(&mut status, Status::is_over) => return,
        }
    }
}

async fn record_messages(
    supervisor: Arc<Supervisor>,
    held: Arc<RunHandle>,
    mut heard: mpsc::UnboundedReceiver<KeeperMessage>,
) {
    while let Some(message) = heard.recv().await {
        handle_message(&supervisor, &held, message).await;
    }
}

async fn handle_message(supervisor: &Arc<Supervisor>, held: &Arc<RunHandle>, message: KeeperMessage) {
    match message {
        KeeperMessage::Started { note } => {
            pause::point("daemon-before-started");
            record(supervisor, held, Change::Started(note.clone())).await;
            pause::point("daemon-after-started");
            held.set(|status| status.note = Some(*note));
        }
        KeeperMessage::Leaving { cause, detail } => {
            record(supervisor, held, Change::Leaving { cause, detail }).await;
            held.set(|status| {
                status.cause = cause;
                status.leaving_since_ms = Some(clock::unix_ms());
            });
        }
        KeeperMessage::Noted => {
            let noted = Change::Noted(journal_in(&held.directory));
            let run = held.ticket.run_id.clone();
            // If this fails, the journal is recorded with the end.
            if let Ok(true) =
                supervisor.registry.record(run, held.hold.clone(), noted, clock::unix_ms()).await
            {
                supervisor.events.notify_followers();
            }
        }
        KeeperMessage::Ended { ending } => take_ending(supervisor, held, *ending).await,
        KeeperMessage::StillYours { epoch } => {
            let mine = supervisor.leases.may_act() && is_ours(supervisor, held).await;
            tracing::info!(run = %held.ticket.run_id, epoch, mine, "another daemon requests a run that we hold");
            held.say(if mine { KeeperRequest::Mine } else { KeeperRequest::Yield });
        }
        KeeperMessage::Refused { why } => {
            tracing::info!(run = %held.ticket.run_id, why, "refused by the keeper");
            if refusal::is_lease_lost(&why) {
                held.let_go(why);
            }
        }
        KeeperMessage::Unrecorded { why, ending } => {
            tracing::error!(run = %held.ticket.run_id, why, "an ending is not on disk");
            // The keeper leaves the ending to us.
            if let Some(ending) = ending {
                take_ending(supervisor, held, *ending).await;
            }
        }
        // The ending comes next, and says why.
        KeeperMessage::NotStarted { .. }
        | KeeperMessage::Grown { .. }
        | KeeperMessage::Welcome { .. }
        | KeeperMessage::Status { .. }
        | KeeperMessage::Done
        | KeeperMessage::StdinTaken { .. }
        | KeeperMessage::StdinClosed
        | KeeperMessage::StdinRefused { .. }
        | KeeperMessage::Typed { .. }
        | KeeperMessage::KeysTaken { .. }
        | KeeperMessage::Unkept { .. }
        | KeeperMessage::Tree { .. }
        | KeeperMessage::Blocked { .. } => {}
    }
}

/// Records an ending, and then reports it.
pub(crate) async fn take_ending(supervisor: &Arc<Supervisor>, held: &Arc<RunHandle>, ending: Ending) {
    pause::point("daemon-before-ending");
    if held.tracked.load(Ordering::Relaxed) && ending.output.bytes > 0 {
        task::note_last_output(supervisor, &held.ticket, &held.directory).await;
    }
    let heirs = ending.handed_over_to.clone();
    let changes = vec![Change::Noted(journal_in(&held.directory)), Change::Ended(Box::new(ending.clone()))];
    if !record_all(supervisor, held, changes).await && !is_ours(supervisor, held).await {
        return held.let_go("another instance took its lease".to_owned());
    }
    pause::point("daemon-after-ending");
    supervisor.starts.latency.ended(held, &ending);
    held.ended(ending);
    for heir in heirs {
        register_existing::register(supervisor, &held.directory.with_file_name(heir.as_str())).await;
    }
}

/// Records a change of a run. A failed record is retried again and again: nothing is reported before.
async fn record(supervisor: &Supervisor, held: &Arc<RunHandle>, change: Change) -> bool {
    record_all(supervisor, held, vec![change]).await
}

async fn record_all(supervisor: &Supervisor, held: &Arc<RunHandle>, changes: Vec<Change>) -> bool {
    let mut pause = FIRST_PAUSE;
    loop {
        let run = held.ticket.run_id.clone();
        match supervisor.registry.record_all(run, held.hold.clone(), changes.clone(), clock::unix_ms()).await
        {
            Ok(taken) => {
                if taken {
                    supervisor.events.notify_followers();
                }
                return taken;
            }
            Err(error) => {
                tracing::error!(run = %held.ticket.run_id, %error, "a change could not be recorded");
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}

/// Reads a run's journal; empty if it cannot be read.
pub(crate) fn journal_in(directory: &Path) -> Vec<JournalEntry> {
    block_in_place(|| RunDir::open(directory).and_then(|dir| dir.journal()).unwrap_or_default())
}

/// Returns true if the registry says that we hold the run; a change that was not taken was then recorded by us
/// before.
async fn is_ours(supervisor: &Supervisor, held: &RunHandle) -> bool {
    let row = supervisor.registry.run(held.ticket.run_id.clone()).await;
    matches!(row, Ok(Some(row)) if row.hold == held.hold)
}
