//! A keeper: the parent of one run's root for its whole life. It is a single thread around a single poll: it reports
//! what it sees to [`Watch`], which decides, and carries out the step that `Watch` returns.

mod accept;
mod handover;
mod journal_entries;
mod peers;
mod shutdown;
mod startup;
mod stdin;
mod stdout;
mod stop;

use crate::journal::Journal;
use crate::rundir::MOST_NAMED;
use crate::rundir::RunDir;
use handover::Heir;
use peers::Peer;
use std::io;
use std::time::Duration;
use stdin::StdinQueue;
use stdout::OutputCopier;
use stop::StopRounds;
use tenure_core::ending::{Exit, Termination};
use tenure_core::identity::Identity;
use tenure_core::ids::NurseryId;
use tenure_core::output::Stream;
use tenure_core::record::{KeeperNote, Ticket};
use tenure_core::state::State;
use tenure_core::watch::{LeftBehind, Sighting, Step, Usage, Watch};
use tenure_core::wire::{self, KeeperMessage, Launch};
use tenure_os::enclosure::Enclosure;
use tenure_os::file::Reserved;
use tenure_os::fork::{self, SingleThread};
use tenure_os::lock::Lock;
use tenure_os::poll::{self, Interest, Ready};
use tenure_os::root::Root;
use tenure_os::run_marks::RunMarks;
use tenure_os::signals::{self, Signals};
use tenure_os::socket::{Conn, Listener};
use tenure_os::spawn::{Outcome, Plan, Report};
use tenure_os::stderr::complain;
use tenure_os::{clock, pause, reaper, tree};

/// Maximum time for reaping before everything else gets its turn.
const REAP_BUDGET: Duration = Duration::from_millis(100);
/// Minimum number of listings before a list counts as complete.
const MIN_LISTINGS: u32 = 5;

/// A batch of more dead processes than this is a fork bomb.
const FORK_BOMB_DEAD: usize = 64;

/// Time between two checks that the run's directory still exists, while no daemon watches the state root.
const DIRECTORY_CHECK: Duration = Duration::from_secs(5);

/// A keeper and its run.
struct Keeper {
    dir: RunDir,
    ticket: Ticket,
    note: KeeperNote,
    /// The lease's fencing number, as the last holder had it.
    epoch: u64,
    /// Held until the keeper dies: a free lock means a dead keeper.
    _lock: Lock,
    watch: Watch,
    root: RootState,
    /// The run's session; for a run that was forked here, also the root's pid and group.
    session: i32,
    enclosure: Option<Enclosure>,
    /// The environment entry that marks the run's processes.
    mark: Box<[u8]>,
    /// Present until the command executes or fails to.
    start: Option<(Plan, Report)>,
    output: OutputCopier,
    stdin: StdinQueue,
    peers: Vec<Peer>,
    listener: Option<Listener>,
    /// The time to accept connections again after a failure.
    accept_again_at: Option<Duration>,
    /// The time of the next check that the directory exists; `None` while a daemon holds the run.
    check_directory_at: Option<Duration>,
    signals: Signals,
    stop_rounds: Option<StopRounds>,
    /// Processes that were listed before a signal could kill their parents, after which nothing leads to them.
    seen_members: Vec<Identity>,
    journal: Journal,
    ending_space: Option<Reserved>,
    /// True if a process that cannot be named may be left.
    may_have_unlisted: bool,
    /// Set once the tree is gone and only the rest of the output is read.
    draining: Option<Draining>,
    /// True if neither the disk nor a holder took the ending, of this run or of the run that it came from.
    unrecorded: bool,
}

/// The root, from its fork until its pid is given back.
enum RootState {
    /// Forked, and not seen to have exited.
    Alive(Root),
    /// Exited, but not reaped, so that its group's number cannot be reused.
    Unreaped(Root),
    /// Reaped: its pid may belong to another process.
    Reaped,
}

struct Draining {
    termination: Termination,
    until: Duration,
}

/// Exit code of a keeper whose ending is on disk or with the holder. It is not zero, because code that kills a
/// process often chooses zero.
pub(crate) const EXIT_DONE: u8 = 64;
/// Exit code of a keeper whose ending could not be recorded.
pub(crate) const EXIT_UNRECORDED: u8 = 65;

/// Runs a keeper that was started instead of forked: the launch message says which run. Returns its exit code.
pub fn keeper_main(nursery: &NurseryId) -> io::Result<u8> {
    let (alone, message, conns) = fork::take_message()?;
    let decoded = wire::decode::<Launch>(&message).map_err(io::Error::other)?;
    let (launch, body, _) = decoded.ok_or_else(|| io::Error::other("the launch message is truncated"))?;
    let body = body.to_vec();
    drop(message); // a keeper holds no environment
    Ok(main(&alone, nursery, &launch, body, conns))
}

/// Runs a keeper; returns its exit code.
pub(crate) fn main(
    alone: &SingleThread,
    nursery: &NurseryId,
    launch: &Launch,
    body: Vec<u8>,
    conns: Vec<Conn>,
) -> u8 {
    match startup::start(alone, nursery, launch, body, conns) {
        Ok(Some(keeper)) => keep(keeper),
        // There is no run to keep, and the callers know why.
        Ok(None) => EXIT_DONE,
        Err(error) => {
            complain(format_args!("the keeper for {} could not start: {error}", launch.directory));
            1
        }
    }
}

/// Keeps a run until its end, and then the heir of its declared daemons.
fn keep(mut keeper: Box<Keeper>) -> u8 {
    loop {
        match keeper.serve() {
            Ok(None) => return if keeper.unrecorded { EXIT_UNRECORDED } else { EXIT_DONE },
            Ok(Some(heir)) => *keeper = keeper.become_keeper_of(heir),
            Err(error) => {
                complain(format_args!("the keeper of run {} failed: {error}", keeper.dir.id()));
                return 1;
            }
        }
    }
}

impl Keeper {
    /// Runs until the ending is written or could not be. Returns the heir, if escapees may live on.
    fn serve(&mut self) -> io::Result<Option<Heir>> {
        loop {
            let awaited = self.awaited();
            let interests: Vec<Interest<'_>> = awaited.iter().map(|&what| self.interest(what)).collect();
            let ready = poll::wait(&interests, self.timeout())?;
            for (what, ready) in awaited.into_iter().zip(ready) {
                if ready != Ready::default() {
                    self.handle(what, ready);
                }
            }
            self.drop_closed_peers();
            self.resume_accepting();
            self.check_directory();
            if self.is_paused() {
                self.extend_drain();
                // The command is silent because nobody reads it.
                self.see(Sighting::Output);
            }
            self.see(Sighting::Tick);
            self.run_stop_round();
            self.output.trim_memory();
            self.write_journal();
            self.send_growth();
            if self.drained() {
                return Ok(self.finish());
            }
        }
    }

    /// Returns the event sources to poll now.
    fn awaited(&self) -> Vec<EventSource> {
        let mut awaited = vec![EventSource::Signals];
        awaited.extend(self.start.is_some().then_some(EventSource::Report));
        awaited.extend(self.is_accepting().then_some(EventSource::Listener));
        awaited.extend(self.readable().map(EventSource::Output));
        awaited.extend(self.stdin.wants_to_write().then_some(EventSource::Input));
        awaited.extend((0..self.peers.len()).map(EventSource::Peer));
        awaited
    }

    fn interest(&self, what: EventSource) -> Interest<'_> {
        match what {
            EventSource::Signals => Interest::reading(&self.signals),
            EventSource::Report => {
                Interest::reading(&self.start.as_ref().expect("awaited only while starting").1)
            }
            EventSource::Listener => {
                Interest::reading(self.listener.as_ref().expect("awaited only while there is one"))
            }
            EventSource::Output(stream) => {
                Interest { on: self.output.waitable(stream), read: true, write: false }
            }
            EventSource::Input => Interest { on: self.stdin.waitable(), read: false, write: true },
            EventSource::Peer(at) => self.peers[at].frames.interest(),
        }
    }

    fn handle(&mut self, what: EventSource, ready: Ready) {
        match what {
            EventSource::Signals => self.take_signals(),
            EventSource::Report => self.read_start_report(),
            EventSource::Listener => self.accept(),
            EventSource::Output(stream) => self.read_output(stream),
            EventSource::Input => self.write_input(),
            EventSource::Peer(at) => self.serve_peer(at, ready),
        }
    }

    fn timeout(&self) -> Option<Duration> {
        let now = clock::awake();
        let draining = self.draining.as_ref().map(|draining| draining.until);
        let stop_round = self.stop_rounds.as_ref().map(|rounds| rounds.again_at);
        let ours = [
            self.output.wake_at(),
            self.journal.wake_at(),
            self.accept_again_at,
            self.hands_over_at(),
            self.check_directory_at,
        ];
        [self.watch.wake_at(), draining, stop_round]
            .into_iter()
            .chain(ours)
            .flatten()
            .min()
            .map(|at| at.saturating_sub(now))
    }

    /// Ends a run whose directory was deleted while no daemon holds it: nobody could find or end the run later. A
    /// daemon checks the state root itself.
    fn check_directory(&mut self) {
        if self.has_holder() || self.state() >= State::Exiting {
            self.check_directory_at = None;
            return;
        }
        let now = clock::awake();
        match self.check_directory_at {
            Some(at) if now < at => {}
            Some(_) if self.dir.is_deleted() => self.see(Sighting::DirectoryDeleted),
            Some(_) | None => self.check_directory_at = Some(now + DIRECTORY_CHECK),
        }
    }

    fn take_signals(&mut self) {
        let mut child = false;
        while let Some(signal) = self.signals.next() {
            if signal == signals::CHILD {
                child = true;
            } else {
                self.see(Sighting::Terminated);
            }
        }
        if child {
            self.check_children();
        }
    }

    /// Reaps dead children, and checks whether the root has exited and the run is empty.
    fn check_children(&mut self) {
        self.reap();
        if let RootState::Alive(root) = &self.root
            && let Some(exit) = root.exit()
        {
            // Even a command that exited at once was executed first: read its report before its exit.
            self.read_start_report();
            self.root_ended(exit);
        }
        self.check_empty();
    }

    /// Reaps the dead, so that lists of the living are short. The time is bounded: a fork bomb's processes can die
    /// faster than they are reaped, and the living come first.
    fn reap(&self) {
        let reaped = reaper::reap(self.unreaped_child(), clock::awake() + REAP_BUDGET).len();
        if reaped > FORK_BOMB_DEAD {
            // They die faster than we look, and each zombie uses up a pid.
            tree::hurry();
        }
    }

    /// Returns true if no process is left but the unreaped root.
    fn is_bare(&self) -> bool {
        tree::is_bare(self.unreaped_child(), &self.marks())
    }

    /// Returns the marks that identify the run's processes.
    fn marks(&self) -> RunMarks<'_> {
        let root = match &self.root {
            RootState::Alive(root) | RootState::Unreaped(root) => Some(root.identity()),
            RootState::Reaped => None,
        };
        RunMarks {
            enclosure: self.enclosure.as_ref(),
            root,
            mark: Some(&self.mark),
            since_ms: self.ticket.created_at_ms,
            known: &self.seen_members,
        }
    }

    /// Returns the pid of the child that must stay unreaped: the root, whose pid pins its group.
    fn unreaped_child(&self) -> Option<i32> {
        match &self.root {
            RootState::Alive(root) | RootState::Unreaped(root) => Some(root.pid()),
            RootState::Reaped => None,
        }
    }

    fn root_ended(&mut self, exit: Exit) {
        pause::point("keeper-root-exited");
        let RootState::Alive(root) = std::mem::replace(&mut self.root, RootState::Reaped) else {
            return;
        };
        self.root = RootState::Unreaped(root);
        let left = split_leftovers(&self.list_leftovers(), self.session);
        if self.watch.cause().is_none() {
            self.note_left(&left);
        }
        self.see(Sighting::RootExited { exit, left });
    }

    /// Lists the live processes beside the root. One listing can miss a process that forks and exits all the time. So
    /// it is repeated while nothing was found although something is there. Time in which the machine stood still does
    /// not count.
    fn list_leftovers(&self) -> Vec<tree::Member> {
        let until = clock::awake() + REAP_BUDGET;
        let mut listings = 0;
        loop {
            let living = self.living();
            listings += 1;
            if !living.is_empty() || self.is_bare() || (listings > MIN_LISTINGS && clock::awake() > until) {
                return living;
            }
            self.reap();
        }
    }

    fn read_start_report(&mut self) {
        let Some((plan, report)) = &self.start else { return };
        match report.read(plan) {
            Outcome::Pending => {}
            Outcome::Executes => {
                self.start = None;
                pause::point("keeper-started");
                self.peers.iter_mut().for_each(|peer| peer.started(&self.note));
                self.note_start();
                self.see(Sighting::Started);
                self.send_leaving();
            }
            Outcome::Failed(error) => {
                self.start = None;
                self.peers
                    .iter_mut()
                    .for_each(|peer| peer.send(&KeeperMessage::NotStarted { error: error.clone() }));
                self.see(Sighting::NotStarted(error));
            }
        }
    }

    /// Reports a sighting to the decider, and carries out its steps until none is due.
    fn see(&mut self, seen: Sighting) {
        let mut next = Some(seen);
        while let Some(seen) = next.take() {
            let before = self.state();
            let due = self.watch.see(seen, clock::awake());
            if before != self.state() {
                self.note_exiting();
                self.send_leaving();
            }
            next = match due {
                Step::Nothing => None,
                Step::Sample => Some(Sighting::Sampled(self.sample())),
                Step::ListSurvivors => Some(Sighting::Alive(self.give_up())),
                Step::Term(scope) => {
                    self.term(scope);
                    None
                }
                Step::Kill(scope) => {
                    self.kill(scope);
                    None
                }
                Step::Finish(termination) => {
                    self.start_draining(*termination);
                    None
                }
            };
        }
    }

    fn sample(&self) -> Usage {
        let used = tree::usage(&self.living());
        Usage { cpu: used.cpu, io_bytes: used.io_bytes }
    }

    /// Returns the offset up to which every foreground caller has read the output; `None` without such a caller.
    fn taken(&self) -> Option<u64> {
        self.peers.iter().filter_map(Peer::required_from).min()
    }

    fn state(&self) -> State {
        self.watch.state()
    }
}

/// The sources of events that a keeper polls.
#[derive(Debug, Clone, Copy)]
enum EventSource {
    Signals,
    Report,
    Listener,
    Output(Stream),
    Input,
    Peer(usize),
}

/// Splits the processes that outlived the root into those of its session and those outside it.
fn split_leftovers(living: &[tree::Member], session: i32) -> LeftBehind {
    let (inside, outside): (Vec<_>, Vec<_>) = living.iter().partition(|member| member.is_of(session));
    let named =
        |members: Vec<&tree::Member>| members.into_iter().take(MOST_NAMED).map(tree::Member::note).collect();
    LeftBehind {
        leftovers: u32::try_from(inside.len()).unwrap_or(u32::MAX),
        leftover_processes: named(inside),
        escapees: named(outside),
    }
}
