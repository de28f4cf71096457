//! One keeper: the parent of one run's root for its whole life. A single thread around a single wait: what it
//! sees goes to [`Watch`], which decides; what that says is done here.

mod begin;
mod diary;
mod door;
mod finish;
mod heir;
mod inlet;
mod outlet;
mod peers;
mod stop;

use crate::journal::Journal;
use crate::rundir::MOST_NAMED;
use crate::rundir::RunDir;
use heir::Heir;
use inlet::Inlet;
use outlet::Outlet;
use peers::Peer;
use std::io;
use std::time::Duration;
use stop::Hunt;
use tenure_core::ending::{Exit, Termination};
use tenure_core::identity::Identity;
use tenure_core::ids::NurseryId;
use tenure_core::output::Stream;
use tenure_core::record::{KeeperNote, Ticket};
use tenure_core::state::State;
use tenure_core::watch::{Do, Left, Seen, Usage, Watch};
use tenure_core::wire::{self, KeeperMessage, Launch};
use tenure_os::complaint::complain;
use tenure_os::enclosure::Enclosure;
use tenure_os::file::Reserved;
use tenure_os::fork::{self, Alone};
use tenure_os::kin::Kin;
use tenure_os::lock::Lock;
use tenure_os::poll::{self, Interest, Ready};
use tenure_os::root::Root;
use tenure_os::signals::{self, Signals};
use tenure_os::socket::{Conn, Listener};
use tenure_os::spawn::{Outcome, Plan, Report};
use tenure_os::{clock, pause, reaper, tree};

/// How long the dead are buried between two looks at everything else.
const BURIAL: Duration = Duration::from_millis(100);
/// How many looks for one who was missed are too few to be sure.
const FEW_LOOKS: u32 = 5;

/// So many dead at once are more than a command's work leaves.
const MANY: usize = 64;

/// Time between two looks whether the run's directory is still there, while no daemon looks after the state root.
const DIRECTORY_CHECK: Duration = Duration::from_secs(5);

/// A run, held.
struct Keeper {
    dir: RunDir,
    ticket: Ticket,
    note: KeeperNote,
    /// The lease's fencing number, as the last holder had it.
    epoch: u64,
    /// Held until death: a free lock means a dead keeper.
    _lock: Lock,
    watch: Watch,
    root: RootState,
    /// The run's session; for a run that was forked here, also the root's pid and group.
    session: i32,
    enclosure: Option<Enclosure>,
    /// What its processes carry in their environment.
    mark: Box<[u8]>,
    /// Present until the command executes or fails to.
    start: Option<(Plan, Report)>,
    outlet: Outlet,
    inlet: Inlet,
    peers: Vec<Peer>,
    listener: Option<Listener>,
    /// When to look again for who has connected, after that failed.
    door_opens_at: Option<Duration>,
    /// When to look whether the directory was deleted; `None` while a daemon holds the run.
    check_directory_at: Option<Duration>,
    signals: Signals,
    hunt: Option<Hunt>,
    /// Who was seen before a signal could end their parents, where they would be lost with those.
    known: Vec<Identity>,
    journal: Journal,
    ending_space: Option<Reserved>,
    /// Whether somebody may be left who cannot be named.
    unsure: bool,
    /// Set once the tree is gone and only the rest of the output is awaited.
    draining: Option<Draining>,
    /// Whether neither the disk nor a holder took the ending, of this run or of the one that it came from.
    unrecorded: bool,
}

/// The root, from its fork until its number is given back.
enum RootState {
    /// Forked, and not seen to have ended.
    Alive(Root),
    /// Ended, but unreaped, so that its group's number stays ours.
    Held(Root),
    /// Reaped: its number may be anybody's.
    Reaped,
}

struct Draining {
    termination: Termination,
    until: Duration,
}

/// How a keeper leaves whose ending is written, or with the holder. Not with zero: where whoever ends a process chooses its
/// code, that is what many choose.
pub(crate) const DONE: u8 = 64;
/// How one leaves whose run has ended, but nobody took the ending.
pub(crate) const UNRECORDED: u8 = 65;

/// What a keeper does that was started and not forked: its errand says what it is to keep. Returns its exit code.
pub fn keeper_main(nursery: &NurseryId) -> io::Result<u8> {
    let (alone, letter, conns) = fork::errand()?;
    let decoded = wire::decode::<Launch>(&letter).map_err(io::Error::other)?;
    let (launch, body, _) = decoded.ok_or_else(|| io::Error::other("a keeper got half a letter"))?;
    let body = body.to_vec();
    drop(letter); // a keeper holds no environment
    Ok(main(&alone, nursery, &launch, body, conns))
}

/// What a keeper does; returns its exit code.
pub(crate) fn main(
    alone: &Alone,
    nursery: &NurseryId,
    launch: &Launch,
    body: Vec<u8>,
    conns: Vec<Conn>,
) -> u8 {
    match begin::begin(alone, nursery, launch, body, conns) {
        Ok(Some(keeper)) => keep(keeper),
        // There is nothing to keep, and whoever asked was told.
        Ok(None) => DONE,
        Err(error) => {
            complain(format_args!("a keeper for {} could not begin: {error}", launch.directory));
            1
        }
    }
}

/// Keeps a run until its end, and then the one that its declared daemons became.
fn keep(mut keeper: Box<Keeper>) -> u8 {
    loop {
        match keeper.serve() {
            Ok(None) => return if keeper.unrecorded { UNRECORDED } else { DONE },
            Ok(Some(heir)) => *keeper = keeper.turn_into(heir),
            Err(error) => {
                complain(format_args!("the keeper of run {} failed: {error}", keeper.dir.id()));
                return 1;
            }
        }
    }
}

impl Keeper {
    /// Until the ending is written, or could not be. Returns the run that takes over what is left, if that was allowed.
    fn serve(&mut self) -> io::Result<Option<Heir>> {
        loop {
            let awaited = self.awaited();
            let interests: Vec<Interest<'_>> = awaited.iter().map(|&what| self.interest(what)).collect();
            let ready = poll::wait(&interests, self.timeout())?;
            for (what, ready) in awaited.into_iter().zip(ready) {
                if ready != Ready::default() {
                    self.attend(what, ready);
                }
            }
            self.part();
            self.open_door();
            self.check_directory();
            if self.is_held_up() {
                self.put_off_giving_up();
                // The command is silent because it is not read.
                self.see(Seen::Output);
            }
            self.see(Seen::Tick);
            self.go_on_hunting();
            self.outlet.rest();
            self.write_journal();
            self.tell_growth();
            if self.drained() {
                return Ok(self.finish());
            }
        }
    }

    /// Everything there is to wait for now.
    fn awaited(&self) -> Vec<What> {
        let mut awaited = vec![What::Signals];
        awaited.extend(self.start.is_some().then_some(What::Report));
        awaited.extend(self.lets_in().then_some(What::Listener));
        awaited.extend(self.readable().map(What::Output));
        awaited.extend(self.inlet.wants_to_write().then_some(What::Input));
        awaited.extend((0..self.peers.len()).map(What::Peer));
        awaited
    }

    fn interest(&self, what: What) -> Interest<'_> {
        match what {
            What::Signals => Interest::reading(&self.signals),
            What::Report => Interest::reading(&self.start.as_ref().expect("awaited only while starting").1),
            What::Listener => {
                Interest::reading(self.listener.as_ref().expect("awaited only while there is one"))
            }
            What::Output(stream) => Interest { on: self.outlet.waitable(stream), read: true, write: false },
            What::Input => Interest { on: self.inlet.waitable(), read: false, write: true },
            What::Peer(at) => self.peers[at].frames.interest(),
        }
    }

    fn attend(&mut self, what: What, ready: Ready) {
        match what {
            What::Signals => self.take_signals(),
            What::Report => self.read_report(),
            What::Listener => self.accept(),
            What::Output(stream) => self.read_output(stream),
            What::Input => self.write_input(),
            What::Peer(at) => self.hear(at, ready),
        }
    }

    fn timeout(&self) -> Option<Duration> {
        let now = clock::awake();
        let draining = self.draining.as_ref().map(|draining| draining.until);
        let hunting = self.hunt.as_ref().map(|hunt| hunt.again_at);
        let ours = [
            self.outlet.wake_at(),
            self.journal.wake_at(),
            self.door_opens_at,
            self.hands_over_at(),
            self.check_directory_at,
        ];
        [self.watch.wake_at(), draining, hunting]
            .into_iter()
            .chain(ours)
            .flatten()
            .min()
            .map(|at| at.saturating_sub(now))
    }

    /// Ends a run whose directory was deleted while no daemon holds it: nobody could find or end it later. A daemon looks
    /// after the state root itself.
    fn check_directory(&mut self) {
        if self.has_holder() || self.state() >= State::Exiting {
            self.check_directory_at = None;
            return;
        }
        let now = clock::awake();
        match self.check_directory_at {
            Some(at) if now < at => {}
            Some(_) if self.dir.is_deleted() => self.see(Seen::DirectoryDeleted),
            Some(_) | None => self.check_directory_at = Some(now + DIRECTORY_CHECK),
        }
    }

    fn take_signals(&mut self) {
        let mut child = false;
        while let Some(signal) = self.signals.next() {
            if signal == signals::CHILD {
                child = true;
            } else {
                self.see(Seen::Told);
            }
        }
        if child {
            self.mind_children();
        }
    }

    /// Reaps whoever came back to us and died, and sees whether the root has ended.
    fn mind_children(&mut self) {
        self.bury();
        if let RootState::Alive(root) = &self.root
            && let Some(exit) = root.exit()
        {
            // A command that ended at once was executed first; its report is waiting to be read.
            self.read_report();
            self.root_ended(exit);
        }
        self.notice_emptiness();
    }

    /// Reaps the dead, so that a list of the living is short. Bounded: a bomb's dead may come faster than they
    /// are buried, and the living are to be dealt with.
    fn bury(&self) {
        let buried = reaper::reap(self.kept(), clock::awake() + BURIAL).len();
        if buried > MANY {
            // They die faster than we look, and each unburied one holds a pid that the machine has few of.
            tree::hurry();
        }
    }

    /// Whether nobody is left but the child that stays unreaped.
    fn is_bare(&self) -> bool {
        tree::is_bare(self.kept(), &self.kin())
    }

    /// By what the run's processes are known.
    fn kin(&self) -> Kin<'_> {
        let root = match &self.root {
            RootState::Alive(root) | RootState::Held(root) => Some(root.identity()),
            RootState::Reaped => None,
        };
        Kin {
            enclosure: self.enclosure.as_ref(),
            root,
            mark: Some(&self.mark),
            since_ms: self.ticket.created_at_ms,
            known: &self.known,
        }
    }

    /// The child that stays unreaped: the root, whose number pins its group.
    fn kept(&self) -> Option<i32> {
        match &self.root {
            RootState::Alive(root) | RootState::Held(root) => Some(root.pid()),
            RootState::Reaped => None,
        }
    }

    fn root_ended(&mut self, exit: Exit) {
        pause::point("keeper-root-exited");
        let RootState::Alive(root) = std::mem::replace(&mut self.root, RootState::Reaped) else {
            return;
        };
        self.root = RootState::Held(root);
        let left = left_behind(&self.outlived(), self.session);
        if self.watch.cause().is_none() {
            self.note_left(&left);
        }
        self.see(Seen::RootExited { exit, left });
    }

    /// Who is alive beside the root. Somebody who forks and ends all the time may be missed by one look, so as
    /// long as nobody was found and somebody is there, the look is repeated. Time in which we stood still is no look.
    fn outlived(&self) -> Vec<tree::Member> {
        let until = clock::awake() + BURIAL;
        let mut looks = 0;
        loop {
            let living = self.living();
            looks += 1;
            if !living.is_empty() || self.is_bare() || (looks > FEW_LOOKS && clock::awake() > until) {
                return living;
            }
            self.bury();
        }
    }

    fn read_report(&mut self) {
        let Some((plan, report)) = &self.start else { return };
        match report.read(plan) {
            Outcome::Pending => {}
            Outcome::Executes => {
                self.start = None;
                pause::point("keeper-started");
                self.peers.iter_mut().for_each(|peer| peer.started(&self.note));
                self.note_start();
                self.see(Seen::Started);
                self.tell_leaving();
            }
            Outcome::Failed(error) => {
                self.start = None;
                self.peers
                    .iter_mut()
                    .for_each(|peer| peer.tell(&KeeperMessage::NotStarted { error: error.clone() }));
                self.see(Seen::NotStarted(error));
            }
        }
    }

    /// Tells the decider what was seen, and does what it says until there is nothing more to do.
    fn see(&mut self, seen: Seen) {
        let mut next = Some(seen);
        while let Some(seen) = next.take() {
            let before = self.state();
            let due = self.watch.see(seen, clock::awake());
            if before != self.state() {
                self.note_exiting();
                self.tell_leaving();
            }
            next = match due {
                Do::Nothing => None,
                Do::Sample => Some(Seen::Sampled(self.sample())),
                Do::Look => Some(Seen::Alive(self.give_up())),
                Do::Term(whom) => {
                    self.term(whom);
                    None
                }
                Do::Kill(whom) => {
                    self.kill(whom);
                    None
                }
                Do::Finish(termination) => {
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

    /// Up to where every foreground caller has taken the output; `None` if there is no such caller.
    fn taken(&self) -> Option<u64> {
        self.peers.iter().filter_map(Peer::required_from).min()
    }

    fn state(&self) -> State {
        self.watch.state()
    }
}

/// What a keeper waits for.
#[derive(Debug, Clone, Copy)]
enum What {
    Signals,
    Report,
    Listener,
    Output(Stream),
    Input,
    Peer(usize),
}

/// Who outlived the root: those of its session, and those outside of it.
fn left_behind(living: &[tree::Member], session: i32) -> Left {
    let (inside, outside): (Vec<_>, Vec<_>) = living.iter().partition(|member| member.is_of(session));
    let named =
        |members: Vec<&tree::Member>| members.into_iter().take(MOST_NAMED).map(tree::Member::note).collect();
    Left {
        leftovers: u32::try_from(inside.len()).unwrap_or(u32::MAX),
        leftover_processes: named(inside),
        escapees: named(outside),
    }
}
