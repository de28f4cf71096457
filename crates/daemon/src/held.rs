//! One run that this daemon holds: the connection to its keeper, what the keeper says, and the recording of it.
//! Everything is recorded before it is told (I4): whoever waits here hears of an ending that is on disk.

use crate::admission::Place;
use crate::daemon::{Daemon, lock, until};
use crate::heartbeats::Pulse;
use crate::link::Link;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tenure_core::ending::Cause;
use tenure_core::journal::Entry;
use tenure_core::lease::Hold;
use tenure_core::record::{Ending, KeeperNote, Ticket};
use tenure_core::state::State;
use tenure_core::wire::{Ask, Tell, refusal};
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
pub(crate) struct Held {
    pub(crate) ticket: Ticket,
    pub(crate) hold: Hold,
    /// Its directory, which is in another's state root if the run was taken over.
    pub(crate) directory: PathBuf,
    orders: mpsc::UnboundedSender<Ask>,
    status: watch::Sender<Status>,
    followers: Mutex<usize>,
    /// Whether a task may track it: what it printed last is told with its end.
    tracked: AtomicBool,
}

/// What its keeper is to be told.
pub(crate) type Orders = mpsc::UnboundedReceiver<Ask>;

/// What is known of it now.
#[derive(Debug, Clone, Default)]
pub(crate) struct Status {
    /// Its root, once it is recorded as running.
    pub(crate) note: Option<KeeperNote>,
    /// Since when it is being ended, or its command has ended.
    pub(crate) leaving_since_ms: Option<u64>,
    /// Why somebody other than the command itself ends it.
    pub(crate) cause: Option<Cause>,
    /// Up to where its output has grown, as far as the keeper hinted.
    pub(crate) grown: u64,
    /// How it ended, once that is recorded.
    pub(crate) ending: Option<Arc<Ending>>,
    /// Why this daemon holds it no more.
    pub(crate) let_go: Option<String>,
    /// Whether its keeper was told to go on without us for as long as it takes.
    pub(crate) released: bool,
}

impl Status {
    pub(crate) fn state(&self) -> State {
        match (&self.ending, &self.note) {
            (Some(_), _) => State::Exited,
            (None, _) if self.leaving_since_ms.is_some() => State::Exiting,
            (None, Some(_)) => State::Running,
            (None, None) => State::Starting,
        }
    }

    /// Whether nothing more will come of it here.
    pub(crate) fn is_over(&self) -> bool {
        self.ending.is_some() || self.let_go.is_some()
    }
}

/// What the task of a held run needs beside the run itself.
pub(crate) struct Keeping {
    pub(crate) held: Arc<Held>,
    pub(crate) link: Link,
    pub(crate) orders: Orders,
    /// The run's place among those that may run at once.
    #[expect(dead_code, reason = "it is given back when the run is over")]
    pub(crate) place: Option<Place>,
}

impl Held {
    pub(crate) fn new(ticket: Ticket, hold: Hold, directory: PathBuf, status: Status) -> (Arc<Self>, Orders) {
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
    pub(crate) fn set_tracked(&self, tracked: bool) {
        self.tracked.store(tracked, Ordering::Relaxed);
    }

    /// Asks for its end. The keeper does it; the registry is not waited for.
    pub(crate) fn cancel(&self, now: bool) {
        self.say(Ask::Cancel { now });
    }

    /// Says something to the keeper; the answer, if there is one, is not awaited.
    pub(crate) fn say(&self, ask: Ask) {
        // One that is gone needs not be told.
        let _ = self.orders.send(ask);
    }

    pub(crate) fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Status> {
        self.status.subscribe()
    }

    /// Waits until the run's command executes, could not be, or is over.
    pub(crate) async fn begun(&self) -> Status {
        self.wait(|status| status.note.is_some() || status.is_over()).await
    }

    /// Waits until the run is over.
    pub(crate) async fn over(&self) -> Status {
        self.wait(Status::is_over).await
    }

    /// Tells the keeper to go on without us, and waits until that is on its way.
    pub(crate) async fn release(&self) {
        self.say(Ask::Release);
        self.wait(|status| status.released || status.is_over()).await;
    }

    async fn wait(&self, is: impl FnMut(&Status) -> bool) -> Status {
        let mut status = self.status.subscribe();
        // The sender is in `self`, so there is always one.
        status.wait_for(is).await.map(|status| status.clone()).unwrap_or_default()
    }

    /// One more wants to know when the output grows. Counted and said at once: the last one's leave must not be said
    /// after the next one's arrival.
    pub(crate) fn follow(&self) {
        let mut followers = lock(&self.followers);
        *followers += 1;
        if *followers == 1 {
            self.say(Ask::Follow);
        }
    }

    /// One less does.
    pub(crate) fn unfollow(&self) {
        let mut followers = lock(&self.followers);
        *followers -= 1;
        if *followers == 0 {
            self.say(Ask::Unfollow);
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
    pub(crate) fn ended(&self, ending: Ending) {
        self.set(|status| status.ending = Some(Arc::new(ending)));
    }

    /// This daemon acts on it no more.
    pub(crate) fn let_go(&self, why: String) {
        self.set(|status| {
            status.let_go.get_or_insert(why);
        });
    }
}

/// Holds a run until it is over. A keeper whose connection was lost and who answers again is gone on with.
pub(crate) async fn keep(daemon: Arc<Daemon>, mut keeping: Keeping) {
    let held = Arc::clone(&keeping.held);
    let mut pulse = Pulse::new(&daemon);
    loop {
        let (heard, queue) = mpsc::unbounded_channel();
        // What is heard is recorded in order, beside the conversation: what a client asks for is passed on though the
        // registry be slow or full.
        let recorder = tokio::spawn(record_heard(Arc::clone(&daemon), Arc::clone(&held), queue));
        converse(&mut keeping, heard, &mut pulse).await;
        // It panics no more than this task does.
        let _ = recorder.await;
        if held.status().is_over() {
            break;
        }
        match daemon.look_after(&held).await {
            Some(link) => keeping.link = link,
            None => break,
        }
        if *lock(&held.followers) > 0 {
            held.say(Ask::Follow);
        }
    }
    daemon.release(&held);
}

/// Passes on what each side says, until the keeper is gone or the run is over.
async fn converse(keeping: &mut Keeping, heard_of: mpsc::UnboundedSender<Tell>, pulse: &mut Pulse) {
    let held = Arc::clone(&keeping.held);
    let mut status = held.watch();
    loop {
        tokio::select! {
            heard = keeping.link.next::<Tell>() => match heard {
                // A hint of growth is worth nothing later.
                Ok(Some((Tell::Grown { to }, _))) => {
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
                let releases = matches!(ask, Ask::Release);
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

async fn record_heard(daemon: Arc<Daemon>, held: Arc<Held>, mut heard: mpsc::UnboundedReceiver<Tell>) {
    while let Some(tell) = heard.recv().await {
        hear(&daemon, &held, tell).await;
    }
}

async fn hear(daemon: &Arc<Daemon>, held: &Arc<Held>, tell: Tell) {
    match tell {
        Tell::Started { note } => {
            pause::point("daemon-before-started");
            record(daemon, held, Change::Started(note.clone())).await;
            pause::point("daemon-after-started");
            held.set(|status| status.note = Some(*note));
        }
        Tell::Leaving { cause, detail } => {
            record(daemon, held, Change::Leaving { cause, detail }).await;
            held.set(|status| {
                status.cause = cause;
                status.leaving_since_ms = Some(clock::unix_ms());
            });
        }
        Tell::Noted => {
            let noted = Change::Noted(journal_in(&held.directory));
            let run = held.ticket.run_id.clone();
            // What the registry does not take now is told with the end.
            if let Ok(true) = daemon.registry.record(run, held.hold.clone(), noted, clock::unix_ms()).await {
                daemon.something_happened();
            }
        }
        Tell::Ended { ending } => take_ending(daemon, held, *ending).await,
        Tell::StillYours { epoch } => {
            let mine = daemon.may_act() && is_ours(daemon, held).await;
            tracing::info!(run = %held.ticket.run_id, epoch, mine, "another daemon asks for a run that we hold");
            held.say(if mine { Ask::Mine } else { Ask::Yield });
        }
        Tell::Refused { why } => {
            tracing::info!(run = %held.ticket.run_id, why, "refused by the keeper");
            if refusal::is_lease_lost(&why) {
                held.let_go(why);
            }
        }
        Tell::Unrecorded { why, ending } => {
            tracing::error!(run = %held.ticket.run_id, why, "an ending is not on disk");
            // The keeper leaves it to us.
            if let Some(ending) = ending {
                take_ending(daemon, held, *ending).await;
            }
        }
        // The ending says why, and comes next.
        Tell::NotStarted { .. }
        | Tell::Grown { .. }
        | Tell::Welcome { .. }
        | Tell::Status { .. }
        | Tell::Done
        | Tell::StdinTaken { .. }
        | Tell::StdinClosed
        | Tell::StdinRefused { .. }
        | Tell::Typed { .. }
        | Tell::KeysTaken { .. }
        | Tell::Unkept { .. }
        | Tell::Tree { .. }
        | Tell::Blocked { .. } => {}
    }
}

/// Records an ending and then lets everybody know.
pub(crate) async fn take_ending(daemon: &Arc<Daemon>, held: &Arc<Held>, ending: Ending) {
    pause::point("daemon-before-ending");
    if held.tracked.load(Ordering::Relaxed) && ending.output.bytes > 0 {
        daemon.note_last_words(&held.ticket, &held.directory).await;
    }
    let heirs = ending.handed_over_to.clone();
    let changes = vec![Change::Noted(journal_in(&held.directory)), Change::Ended(Box::new(ending.clone()))];
    if !record_all(daemon, held, changes).await && !is_ours(daemon, held).await {
        return held.let_go("another instance took its lease".to_owned());
    }
    pause::point("daemon-after-ending");
    daemon.latency.ended(held, &ending);
    held.ended(ending);
    daemon.tell_end(held.ticket.run_id.clone());
    for heir in heirs {
        daemon.adopt_unregistered(&held.directory.with_file_name(heir.as_str())).await;
    }
}

/// Records what became of a run. A registry that cannot take it now is asked again and again: nobody is told before.
async fn record(daemon: &Daemon, held: &Arc<Held>, change: Change) -> bool {
    record_all(daemon, held, vec![change]).await
}

async fn record_all(daemon: &Daemon, held: &Arc<Held>, changes: Vec<Change>) -> bool {
    let mut pause = FIRST_PAUSE;
    loop {
        let run = held.ticket.run_id.clone();
        match daemon.registry.record_all(run, held.hold.clone(), changes.clone(), clock::unix_ms()).await {
            Ok(taken) => {
                if taken {
                    daemon.something_happened();
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
async fn is_ours(daemon: &Daemon, held: &Held) -> bool {
    let row = daemon.registry.run(held.ticket.run_id.clone()).await;
    matches!(row, Ok(Some(row)) if row.hold == held.hold)
}
