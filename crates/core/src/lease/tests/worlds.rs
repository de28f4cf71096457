//! Small worlds, all of them: an owner and two observers with skewed wall clocks share a registry, on a machine that
//! sleeps and where anybody may stall or start again, in every order. No steal ever succeeds against an owner that
//! may act, and an owner that keeps its heartbeat is never held for gone.

use super::*;
use crate::lease::Rhythm;
use std::collections::HashSet;

const STEPS: usize = 9;
const HOUR_MS: u64 = 3_600_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Step {
    /// Five seconds pass for everybody.
    Pass,
    /// The machine sleeps an hour: only wall clocks go on.
    Sleep,
    /// The owner sends its heartbeat.
    Beat,
    /// An observer looks and steals if it may.
    Look(usize),
    /// An observer starts again, with no memory.
    Restart(usize),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct World {
    awake: Duration,
    wall_ms: u64,
    row: Beat,
    owner: Tenancy,
    observers: [Observer; 2],
    stolen: bool,
}

/// The lead of each observer's wall clock over the owner's.
const AHEAD_MS: [u64; 2] = [HOUR_MS, 0];

impl World {
    fn new() -> Self {
        let mut owner = Tenancy::begin(1, Rhythm::default());
        let row = owner.next(HOUR_MS);
        owner.renewed(row, Duration::ZERO).unwrap();
        let observers = [Observer::new(Rhythm::default()), Observer::new(Rhythm::default())];
        Self { awake: Duration::ZERO, wall_ms: HOUR_MS, row, owner, observers, stolen: false }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Pass => {
                self.awake += s(5);
                self.wall_ms += 5_000;
            }
            Step::Sleep => self.wall_ms += HOUR_MS,
            Step::Beat => self.beat(),
            Step::Look(who) => self.look(who),
            Step::Restart(who) => self.observers[who] = Observer::new(Rhythm::default()),
        }
    }

    fn beat(&mut self) {
        let next = self.owner.next(self.wall_ms);
        if self.row.incarnation == next.incarnation {
            self.owner.renewed(next, self.awake).unwrap();
            self.row = next;
        } else {
            self.owner.found(self.row.incarnation);
        }
    }

    fn look(&mut self, who: usize) {
        // A decision on the memory of an earlier look must be as safe as one on a fresh look.
        self.steal(who);
        self.observers[who].see(&owner(), self.row, self.awake);
        self.steal(who);
    }

    /// The compare-and-swap of the registry.
    fn steal(&mut self, who: usize) {
        let wall = self.wall_ms + AHEAD_MS[who];
        let Some(expired) = self.observers[who].expired(&owner(), wall, self.awake) else { return };
        if self.row.is(&expired.beat()) {
            self.row.incarnation += 1;
            self.stolen = true;
            assert!(
                !self.owner.may_act(self.awake, self.wall_ms),
                "stolen from an owner that may act: {self:?}"
            );
        }
    }
}

/// Follows every order of steps, equal worlds once; returns how many of them saw a steal.
fn explore(steps: &[Step], each: impl Fn(&mut World, Step)) -> usize {
    let mut worlds = HashSet::from([World::new()]);
    let mut steals = 0;
    for _ in 0..STEPS {
        let mut next = HashSet::new();
        for world in worlds {
            for step in steps {
                let mut world = world.clone();
                each(&mut world, *step);
                steals += usize::from(world.stolen);
                if !world.stolen {
                    next.insert(world);
                }
            }
        }
        worlds = next;
    }
    steals
}

#[test]
fn nobody_steals_from_an_owner_that_may_act() {
    use Step::{Beat, Look, Pass, Restart, Sleep};
    let steals = explore(&[Pass, Sleep, Beat, Look(0), Look(1), Restart(0)], World::step);
    assert!(steals > 0, "no world is long enough for a steal");
}

#[test]
fn an_owner_that_keeps_its_heartbeat_is_never_held_for_gone() {
    use Step::{Look, Pass, Restart, Sleep};
    let steals = explore(&[Pass, Sleep, Look(0), Look(1), Restart(0), Restart(1)], |world, step| {
        world.step(step);
        if step == Pass {
            world.beat();
        }
    });
    assert_eq!(steals, 0);
}

#[test]
fn an_owner_that_lost_its_leases_learns_it_from_its_next_heartbeat() {
    let mut world = World::new();
    for step in
        [Step::Look(0), Step::Pass, Step::Look(0), Step::Pass, Step::Look(0), Step::Pass, Step::Look(0)]
    {
        world.step(step);
    }
    assert!(world.stolen);
    world.step(Step::Beat);
    assert_eq!(world.owner.standing(world.awake, world.wall_ms), Standing::Superseded);
}

#[test]
fn of_two_observers_one_steals() {
    let mut world = World::new();
    for _ in 0..3 {
        world.step(Step::Look(0));
        world.step(Step::Look(1));
        world.step(Step::Pass);
    }
    for who in [0, 1] {
        // The second clock is not ahead: to it the date passes a moment later.
        world.wall_ms += 1;
        world.observers[who].see(&owner(), world.row, world.awake);
    }
    world.steal(1);
    world.steal(0);
    assert!(world.stolen);
    assert_eq!(world.row.incarnation, 2, "both stole");
}
