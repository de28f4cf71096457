//! All small worlds: every order, with repetition, of up to seven sightings, sensible or not, each in time or just
//! as the next deadline passes. Every step keeps the rules below, and from every state a correct keeper comes to
//! exactly one ending. Equal worlds are followed once.

use super::*;
use std::collections::HashMap;

const SIGHTINGS: usize = 7;

#[derive(Clone)]
struct World {
    watch: Watch,
    now: Duration,
    past: Past,
    /// The steps so far, for the reader of a failure.
    path: Vec<(Duration, Sighting)>,
}

/// The facts of a world's past that the rules need.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Past {
    /// The root's exit, and the processes that outlived it if it exited by itself.
    exit: Option<Exit>,
    left: LeftBehind,
    termed: Option<StopScope>,
    killed: Option<StopScope>,
    looked: bool,
    /// A measurement was requested and still matters.
    sampling: bool,
    ending: Option<Termination>,
}

fn sightings() -> Vec<Sighting> {
    vec![
        Sighting::Started,
        not_found(),
        Sighting::Output,
        used(0, 0),
        used(60_000, 0),
        exits(Exit::Code(3)),
        exits(Exit::Signal(11)),
        left(1, &[]),
        left(0, &[7]),
        left(1, &[7]),
        CANCEL,
        CANCEL_NOW,
        Sighting::CallerHere,
        Sighting::CallerGone,
        Sighting::HolderGone,
        Sighting::HolderBack,
        Sighting::HolderReleased,
        Sighting::Terminated,
        Sighting::Empty,
        Sighting::Alive(vec![]),
        Sighting::Alive(vec![process(7)]),
        Sighting::Tick,
    ]
}

/// Both limits, and a measured silence.
fn measured(limits: &mut Limits) {
    limits.overall = Some(seconds(3));
    limits.no_output = Some(seconds(2));
    limits.activity = Activity::Cpu;
}

#[test]
fn every_order_of_sightings_ends_once_without_limits() {
    explore(unlimited());
}

#[test]
fn every_order_of_sightings_ends_once_with_both_limits() {
    explore(limited(|limits| {
        limits.overall = Some(seconds(3));
        limits.no_output = Some(seconds(2));
    }));
}

#[test]
fn every_order_of_sightings_ends_once_where_silence_is_measured_and_escapes_are_reaped() {
    explore(RunOptions { on_escape: OnEscape::Reap, orphan: Orphan::Keep, ..limited(measured) });
}

#[test]
fn every_order_of_sightings_ends_once_where_escapes_are_allowed() {
    explore(RunOptions { on_escape: OnEscape::Allow, ..limited(|limits| limits.overall = Some(seconds(3))) });
}

#[test]
fn every_order_of_sightings_ends_once_with_no_grace_at_all() {
    explore(limited(|limits| {
        measured(limits);
        limits.grace = Duration::ZERO;
        limits.orphan_grace = Duration::ZERO;
    }));
}

#[test]
fn every_order_of_sightings_ends_once_with_endless_grace_and_no_patience_after_it() {
    explore(limited(|limits| {
        measured(limits);
        limits.grace = Duration::MAX;
        limits.give_up = Duration::ZERO;
    }));
}

fn explore(options: RunOptions) {
    let mut known = Known::new();
    let mut newest = vec![World::new(options)];
    for _ in 0..SIGHTINGS {
        newest = newest.iter().flat_map(World::futures).filter(|world| world.is_new(&mut known)).collect();
        for world in &newest {
            for tree in [Tree::Polite, Tree::Stubborn, Tree::Immortal] {
                world.clone().complete(tree);
            }
        }
    }
    let worlds: usize = known.values().map(Vec::len).sum();
    assert!(worlds > 1_000, "only {worlds} worlds: the sightings no longer lead anywhere");
}

type Known = HashMap<(State, Option<Cause>, Duration, Option<Duration>), Vec<(Watch, Past)>>;

impl World {
    fn new(options: RunOptions) -> Self {
        Self { watch: Watch::new(options), now: Duration::ZERO, past: Past::default(), path: Vec::new() }
    }

    fn futures(&self) -> impl Iterator<Item = World> {
        let late = self.watch.wake_at().filter(|&at| at > self.now);
        [Some(self.now), late].into_iter().flatten().flat_map(move |now| {
            sightings().into_iter().map(move |seen| {
                let mut world = Self { now, ..self.clone() };
                world.step(&seen);
                world
            })
        })
    }

    fn is_new(&self, known: &mut Known) -> bool {
        let alike = (self.watch.state(), self.watch.cause(), self.now, self.watch.wake_at());
        let known = known.entry(alike).or_default();
        let new = !known.iter().any(|(watch, past)| *watch == self.watch && *past == self.past);
        if new {
            known.push((self.watch.clone(), self.past.clone()));
        }
        new
    }

    /// Feeds a sighting and checks every rule.
    fn step(&mut self, seen: &Sighting) {
        self.path.push((self.now, seen.clone()));
        let before = self.watch.clone();
        let due = self.watch.see(seen.clone(), self.now);
        let path = &self.path;

        assert!(self.watch.state() >= before.state(), "a state was left backwards: {path:?}");
        if self.past.ending.is_some() {
            assert_eq!((&due, &self.watch), (&Step::Nothing, &before), "something after the end: {path:?}");
        }
        let causes = match before.state() {
            State::Starting | State::Running => causes(seen),
            State::Exiting | State::Exited => vec![before.cause()],
        };
        assert!(causes.contains(&self.watch.cause()), "{:?} is not the cause: {path:?}", self.watch.cause());
        if *seen == Sighting::Tick {
            let early = before.wake_at().is_none_or(|at| at > self.now);
            assert_eq!(early, due == Step::Nothing, "a tick too early or in vain: {path:?}");
            assert!(!early || self.watch == before, "a tick too early: {path:?}");
        }
        self.past.note(&before, seen);
        self.past.obey(&due, seen, &self.watch, path);
        assert_eq!(self.watch.state() == State::Exited, self.past.ending.is_some(), "{path:?}");
    }

    /// Continues as a correct keeper with this kind of tree, until the end.
    fn complete(mut self, tree: Tree) {
        if self.past.ending.is_some() {
            return;
        }
        for _ in 0..12 {
            let seen = self.next(tree);
            self.step(&seen);
            if let Some(ending) = &self.past.ending {
                assert_eq!(ending.confirmed, tree != Tree::Immortal, "{:?}", self.path);
                return;
            }
        }
        panic!("it never ends: {:?}", self.path);
    }

    fn next(&mut self, tree: Tree) -> Sighting {
        let Past { exit, termed, killed, looked, sampling, .. } = &self.past;
        let gone = match tree {
            Tree::Polite => termed.is_some() || killed.is_some() || exit.is_some(),
            Tree::Stubborn => killed.is_some(),
            Tree::Immortal => false,
        };
        if *sampling {
            return used(0, 0);
        }
        if gone {
            return if exit.is_some() { Sighting::Empty } else { exits(Exit::Signal(15)) };
        }
        if *looked {
            return Sighting::Alive(vec![process(9)]);
        }
        if let Some(at) = self.watch.wake_at() {
            self.now = self.now.max(at);
            return Sighting::Tick;
        }
        if self.watch.state() == State::Starting { Sighting::Started } else { exits(Exit::Code(0)) }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Tree {
    /// Exits on SIGTERM, and with its root.
    Polite,
    /// Has to be killed.
    Stubborn,
    /// Cannot be killed.
    Immortal,
}

/// Returns the causes that this sighting may have in a run that is not being ended yet.
fn causes(seen: &Sighting) -> Vec<Option<Cause>> {
    match seen {
        Sighting::Cancel { .. } => vec![Some(Cause::ManualCancel)],
        Sighting::CallerGone | Sighting::Terminated | Sighting::Abandoned | Sighting::DirectoryDeleted => {
            vec![Some(Cause::OwnerLost)]
        }
        Sighting::HolderGone => vec![None, Some(Cause::OwnerLost)],
        Sighting::Sampled(_) => vec![None, Some(Cause::NoOutputTimeout)],
        Sighting::Tick => {
            vec![None, Some(Cause::OwnerLost), Some(Cause::OverallTimeout), Some(Cause::NoOutputTimeout)]
        }
        Sighting::Started
        | Sighting::NotStarted(_)
        | Sighting::Output
        | Sighting::RootExited { .. }
        | Sighting::CallerHere
        | Sighting::HolderBack
        | Sighting::HolderReleased
        | Sighting::Empty
        | Sighting::Alive(_) => vec![None],
    }
}

impl Past {
    fn note(&mut self, before: &Watch, seen: &Sighting) {
        match seen {
            Sighting::RootExited { exit, left } if self.ending.is_none() => {
                if before.cause().is_none() && self.exit.is_none() {
                    self.left = left.clone();
                }
                self.exit.get_or_insert(*exit);
            }
            Sighting::Sampled(_) | Sighting::Output => self.sampling = false,
            _ => {}
        }
    }

    /// Checks a step: signals climb the ladder, once per rung, for the same processes; the ending comes once.
    fn obey(&mut self, due: &Step, seen: &Sighting, watch: &Watch, path: &[(Duration, Sighting)]) {
        match due {
            Step::Nothing => {}
            Step::Sample => {
                assert!(!self.sampling, "asked twice: {path:?}");
                self.sampling = true;
            }
            Step::Term(scope) => {
                assert_eq!((self.termed, self.killed), (None, None), "a term too many: {path:?}");
                self.termed = Some(*scope);
            }
            Step::Kill(scope) => {
                assert_eq!(self.killed, None, "a kill too many: {path:?}");
                assert!(self.termed.is_none_or(|termed| termed == *scope), "others are killed: {path:?}");
                self.killed = Some(*scope);
            }
            Step::ListSurvivors => {
                assert!(self.killed.is_some() && !self.looked, "a look too many: {path:?}");
                self.looked = true;
            }
            Step::Finish(ending) => {
                assert_eq!(self.ending, None, "a second ending: {path:?}");
                assert_eq!(**ending, self.expected(seen, watch, ending.detail.clone()), "{path:?}");
                self.ending = Some((**ending).clone());
            }
        }
        if watch.state() != State::Running {
            self.sampling = false;
        }
        if let Step::Term(scope) | Step::Kill(scope) = due {
            assert_eq!(watch.state(), State::Exiting, "a signal out of season: {path:?}");
            let spares = watch.options.on_escape == OnEscape::Allow && !self.left.escapees.is_empty();
            assert_eq!(*scope, if spares { StopScope::Session } else { StopScope::All }, "{path:?}");
        }
    }

    /// Returns the ending that must follow from this past: from the exit and the first cause alone.
    fn expected(&self, seen: &Sighting, watch: &Watch, detail: Option<String>) -> Termination {
        let cause = watch.cause().map(Reason::from);
        if let Sighting::NotStarted(error) = seen {
            let never_run = Termination::not_started(error);
            return cause
                .map_or(never_run, |reason| Termination::new(reason, None, Some(error.detail.clone())));
        }
        let escaped = watch.options.on_escape == OnEscape::Fail && !self.left.escapees.is_empty();
        let own = match self.exit {
            _ if escaped => Reason::OwnershipEscape,
            Some(Exit::Signal(_)) => Reason::Signal,
            Some(Exit::Code(_)) | None => Reason::Exit,
        };
        let survivors = if let Sighting::Alive(list) = seen { list.clone() } else { Vec::new() };
        Termination {
            confirmed: survivors.is_empty(),
            survivors,
            leftovers: self.left.leftovers,
            leftover_processes: self.left.leftover_processes.clone(),
            escapees: self.left.escapees.clone(),
            ..Termination::new(cause.unwrap_or(own), self.exit, detail)
        }
    }
}
