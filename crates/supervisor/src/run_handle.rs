//! One run that this daemon holds: the connection to its keeper, what the keeper says, and the recording of it.
//! Everything is recorded before it is told (I4): whoever waits here hears of an ending that is on disk.

use crate::admission::Place;
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
use tenure_core::journal::Entry;
use tenure_core::lease::Hold;
use tenure_core::record::{Ending, KeeperNote, Ticket};
use tenure_core::state::State;
use tenure_core::wire::{KeeperMessage, KeeperRequest, refusal};
use tenure_keeper::rundir::RunDir;
use tenure_os::{clock, pause};
use tenure_store::Change;
use tokio::sync::{mpsc, watch};
use tokio::task::block_in_place;

/// How long to wait before the registry is asked again to take something that must not be lost.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// A run that this daemon holds.
#[derive(Debug)]
pub struct RunHandle {
    /// The run's ticket.
    pub ticket: Ticket,
    /// The lease on it.
    pub hold: Hold,
    /// Its directory, which is in another's state root if the run was taken over.
    pub directory: PathBuf,
    orders: mpsc::UnboundedSender<KeeperRequest>,
    status: watch::Sender<Status>,
    followers: Mutex<usize>,
    /// Whether a task may track it: what it printed last is told with its end.
    tracked: AtomicBool,
}

/// What its keeper is to be told.
pub(crate) type Orders = mpsc::UnboundedReceiver<KeeperRequest>;

/// What is known of it now.
#[derive(Debug, Clone, Default)]
pub struct Status {
    /// Its root, once it is recorded as running.
    pub note: Option<KeeperNote>,
    /// Since when it is being ended, or its command has ended.
    pub(crate) leaving_since_ms: Option<u64>,
    /// Why somebody other than the command itself ends it.
    pub cause: Option<Cause>,
    /// Up to where its output has grown, as far as the keeper hinted.
    pub(crate) grown: u64,
    /// How it ended, once that is recorded.
    pub ending: Option<Arc<Ending>>,
    /// Why this daemon holds it no more.
    pub let_go: Option<String>,
    /// Whether its keeper was told to go on without us for as long as it takes.
    pub released: bool,
}

impl Status {
    /// The run's state.
    pub fn state(&self) -> State {
        match (&self.ending, &self.note) {
            (Some(_), _) => State::Exited,
            (None, _) if self.leaving_since_ms.is_some() => State::Exiting,
            (None, Some(_)) => State::Running,
            (None, None) => State::Starting,
        }
    }

    /// Whether nothing more will come of it here.
    pub fn is_over(&self) -> bool {
        self.ending.is_some() || self.let_go.is_some()
    }
}

/// What the task of a held run needs beside the run itself.
pub(crate) struct Keeping {
    pub held: Arc<RunHandle>,
    pub link: Link,
    pub(crate) orders: Orders,
    /// The run's place among those that may run at once.
    #[expect(dead_code, reason = "it is given back when the run is over")]
    pub place: Option<Place>,
}

impl RunHandle {
    /// A handle of a run, and the orders for its keeper.
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

    /// Says whether a task tracks it; of one that another daemon started that is not known, and assumed.
    pub fn set_tracked(&self, tracked: bool) {
        self.tracked.store(tracked, Ordering::Relaxed);
    }

    /// Asks for its end. The keeper does it; the registry is not waited for.
    pub fn cancel(&self, now: bool) {
        self.say(KeeperRequest::Cancel { now });
    }

    /// Says something to the keeper; the answer, if there is one, is not awaited.
    pub fn say(&self, ask: KeeperRequest) {
        // One that is gone needs not be told.
        let _ = self.orders.send(ask);
    }

    /// The run's status now.
    pub fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    /// Follows the run's status.
    pub fn watch(&self) -> watch::Receiver<Status> {
        self.status.subscribe()
    }

    /// Waits until the run's command executes, could not be, or is over.
    pub async fn begun(&self) -> Status {
        self.wait(|status| status.note.is_some() || status.is_over()).await
    }

    /// Waits until the run is over.
    pub async fn over(&self) -> Status {
        self.wait(Status::is_over).await
    }

    /// Tells the keeper to go on without us, and waits until that is on its way.
    pub async fn release(&self) {
        self.say(KeeperRequest::Release);
        self.wait(|status| status.released || status.is_over()).await;
    }

    async fn wait(&self, is: impl FnMut(&Status) -> bool) -> Status {
        let mut status = self.status.subscribe();
        // The sender is in `self`, so there is always one.
        status.wait_for(is).await.map(|status| status.clone()).unwrap_or_default()
    }

    /// One more wants to know when the output grows. Counted and said at once: the last one's leave must not be said
    /// after the next one's arrival.
    pub fn follow(&self) {
        let mut followers = lock(&self.followers);
        *followers += 1;
        if *followers == 1 {
            self.say(KeeperRequest::Follow);
        }
    }

    /// One less does.
    pub(crate) fn unfollow(&self) {
        let mut followers = lock(&self.followers);
        *followers -= 1;
        if *followers == 0 {
            self.say(KeeperRequest::Unfollow);
        }
    }

    /// The keeper hinted that the output has grown up to here.
    pub(crate) fn grew(&self, to: u64) {
        self.set(|status| status.grown = status.grown.max(to));
    }

    fn set(&self, change: impl FnOnce(&mut Status)) {
        self.status.send_modify(change);
    }

    /// Its ending is recorded.
    pub fn ended(&self, ending: Ending) {
        self.set(|status| status.ending = Some(Arc::new(ending)));
    }

    /// This daemon acts on it no more.
    pub fn let_go(&self, why: String) {
        self.set(|status| {
            status.let_go.get_or_insert(why);
        });
    }
}

/// Holds a run until it is over. A keeper whose connection was lost and who answers again is gone on with.
pub(crate) async fn keep(supervisor: Arc<Supervisor>, mut keeping: Keeping) {
    let held = Arc::clone(&keeping.held);
    let mut pulse = Pulse::new(&supervisor);
    loop {
        let (heard, queue) = mpsc::unbounded_channel();
        // What is heard is recorded in order, beside the conversation: what a client asks for is passed on though the
        // registry be slow or full.
        let recorder = tokio::spawn(record_heard(Arc::clone(&supervisor), Arc::clone(&held), queue));
        converse(&mut keeping, heard, &mut pulse).await;
        // It panics no more than this task does.
        let _ = recorder.await;
        if held.status().is_over() {
            break;
        }
        match reconcile::look_after(&supervisor, &held).await {
            Some(link) => keeping.link = link,
            None => break,
        }
        if *lock(&held.followers) > 0 {
            held.say(KeeperRequest::Follow);
        }
    }
    supervisor.runs.remove(&held);
}

/// Passes on what each side says, until the keeper is gone or the run is over.
async fn converse(keeping: &mut Keeping, heard_of: mpsc::UnboundedSender<KeeperMessage>, pulse: &mut Pulse) {
    let held = Arc::clone(&keeping.held);
    let mut status = held.watch();
    loop {
        tokio::select! {
            heard = keeping.link.next::<KeeperMessage>() => match heard {
                // A hint of growth is worth nothing later.
                Ok(Some((KeeperMessage::Grown { to }, _))) => {
                    held.grew(to);
                    pulse.grew(&held);
                }
                Ok(Some((tell, _))) => drop(heard_of.send(tell)),
                Ok(None) => return,
                Err(error) => {
                    tracing::warn!(run = %held.ticket.run_id, %error, "the keeper's connection failed");
                    return;
                }
            },
            Some(ask) = keeping.orders.recv() => {
                let releases = matches!(ask, KeeperRequest::Release);
                // One that listens no more may have said how it ended: that is heard first.
                let said = keeping.link.say(ask).await.is_ok();
                if releases && said {
                    held.set(|status| status.released = true);
                }
            }
            () = pulse.due() => pulse.go_on(&held),
            () = until(&mut status, Status::is_over) => return,
        }
    }
}

async fn record_heard(
    supervisor: Arc<Supervisor>,
    held: Arc<RunHandle>,
    mut heard: mpsc::UnboundedReceiver<KeeperMessage>,
) {
    while let Some(tell) = heard.recv().await {
        hear(&supervisor, &held, tell).await;
    }
}

async fn hear(supervisor: &Arc<Supervisor>, held: &Arc<RunHandle>, tell: KeeperMessage) {
    match tell {
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
            // What the registry does not take now is told with the end.
            if let Ok(true) =
                supervisor.registry.record(run, held.hold.clone(), noted, clock::unix_ms()).await
            {
                supervisor.events.notify_followers();
            }
        }
        KeeperMessage::Ended { ending } => take_ending(supervisor, held, *ending).await,
        KeeperMessage::StillYours { epoch } => {
            let mine = supervisor.leases.may_act() && is_ours(supervisor, held).await;
            tracing::info!(run = %held.ticket.run_id, epoch, mine, "another daemon asks for a run that we hold");
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
            // The keeper leaves it to us.
            if let Some(ending) = ending {
                take_ending(supervisor, held, *ending).await;
            }
        }
        // The ending says why, and comes next.
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

/// Records an ending and then lets everybody know.
pub(crate) async fn take_ending(supervisor: &Arc<Supervisor>, held: &Arc<RunHandle>, ending: Ending) {
    pause::point("daemon-before-ending");
    if held.tracked.load(Ordering::Relaxed) && ending.output.bytes > 0 {
        task::note_last_words(supervisor, &held.ticket, &held.directory).await;
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
        register_existing::adopt_unregistered(supervisor, &held.directory.with_file_name(heir.as_str()))
            .await;
    }
}

/// Records what became of a run. A registry that cannot take it now is asked again and again: nobody is told before.
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
                tracing::error!(run = %held.ticket.run_id, %error, "the registry did not take a change");
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}

/// A run's journal as far as it can be read; without one there is nothing to tell of it.
pub(crate) fn journal_in(directory: &Path) -> Vec<Entry> {
    block_in_place(|| RunDir::open(directory).and_then(|dir| dir.journal()).unwrap_or_default())
}

/// Whether the registry says that we hold the run; that was recorded by us before, if anything was.
async fn is_ours(supervisor: &Supervisor, held: &RunHandle) -> bool {
    let row = supervisor.registry.run(held.ticket.run_id.clone()).await;
    matches!(row, Ok(Some(row)) if row.hold == held.hold)
}
