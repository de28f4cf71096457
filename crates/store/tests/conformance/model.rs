//! The registry compared with a simple model: random operations must have the same results. A failure names its
//! seed; `TENURE_SEED` repeats it.

mod twin;

use crate::sample::{NOW, ended, hold, instance, leaving, listed, new_run, run_id, started};
use crate::store::on_every_store;
use std::sync::Arc;
use tenure_core::state::State;
use tenure_store::{Beat, Change, Cursor, Hold, Query, Registry, Retention};
use twin::Twin;

const SEEDS: u64 = 6;
const STEPS: u64 = 200;
/// Few runs, so that operations interact.
const RUNS: u64 = 24;
const STATES: [State; 4] = [State::Starting, State::Running, State::Exiting, State::Exited];

/// Numbers that look random and are the same for the same seed (splitmix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }

    fn maybe<T>(&mut self, of: &[T]) -> Option<T>
    where
        T: Clone,
    {
        let at = self.below(of.len() as u64 + 1);
        of.get(usize::try_from(at).unwrap()).cloned()
    }
}

/// A registry, its twin, and the dice that choose operations for both.
struct Game {
    registry: Arc<dyn Registry>,
    twin: Twin,
    dice: Dice,
    /// The beat by which instance 1 was unseated.
    unseated: Beat,
}

impl Game {
    async fn new(registry: Arc<dyn Registry>, seed: u64) -> Self {
        let beat = registry.enrol(instance(1), String::new(), NOW).await.unwrap();
        registry.enrol(instance(2), String::new(), u64::MAX).await.unwrap();
        let unseated = registry.unseat(instance(1), beat, NOW + 1).await.unwrap().unwrap();
        Self { registry, twin: Twin::default(), dice: Dice(seed), unseated }
    }

    /// Returns a hold, mostly the true one.
    fn hold(&mut self, run: u64) -> Hold {
        let known = self.twin.hold(run).unwrap_or(hold(1));
        match self.dice.below(6) {
            0 => Hold { epoch: known.epoch + 1, ..known },
            1 => Hold { instance: instance(2), ..known },
            _ => known,
        }
    }

    fn change(&mut self, run: u64) -> Change {
        match self.dice.below(3) {
            0 => started(),
            1 => leaving(),
            _ => ended(run),
        }
    }

    async fn step(&mut self) {
        let run = self.dice.below(RUNS);
        match self.dice.below(12) {
            0..=3 => {
                let mut new = new_run(run);
                // Several runs of the same moment, so that ids decide the order.
                new.ticket.created_at_ms = NOW + self.dice.below(6);
                new.ticket.options.scope = self.dice.maybe(&["s".to_owned(), "t".to_owned()]);
                new.ticket.options.session_id =
                    self.dice.maybe(&["agent:a:1".to_owned(), "agent:b:1".to_owned()]);
                let expected = self.twin.create(run, &new);
                assert_eq!(self.registry.create(new).await.map_err(drop_text), expected, "create {run}");
            }
            4..=7 => {
                let (hold, change) = (self.hold(run), self.change(run));
                let expected = self.twin.record(run, &hold, &change);
                let recorded = self.registry.record(run_id(run), hold, change, NOW).await;
                assert_eq!(recorded, Ok(expected), "record {run}");
            }
            8..=9 => {
                let from = self.hold(run);
                let expected = self.twin.steal(run, &from);
                let stolen =
                    self.registry.steal(run_id(run), from, self.unseated, instance(2), NOW + 1).await;
                assert_eq!(stolen, Ok(expected), "steal {run}");
            }
            10 => {
                self.twin.hide(run);
                self.registry.hide(run_id(run)).await.unwrap();
            }
            _ => {
                let others = vec![run, self.dice.below(RUNS)];
                self.twin.forget(&others);
                self.registry.forget(others.into_iter().map(run_id).collect()).await.unwrap();
            }
        }
    }

    async fn compare(&mut self) {
        for run in 0..RUNS {
            let row = self.registry.run(run_id(run)).await.unwrap();
            self.twin.check(run, row.as_ref());
        }
        let states = STATES.into_iter().filter(|_| self.dice.below(3) == 0).collect();
        let query = Query {
            states,
            session: self.dice.maybe(&["agent:a:1".to_owned()]),
            scope: self.dice.maybe(&["s".to_owned()]),
            agent: self.dice.maybe(&["a".to_owned(), "b".to_owned()]),
            after: self.dice.maybe(&[Cursor { created_at_ms: NOW + 3, run_id: run_id(RUNS / 2) }]),
            limit: usize::try_from(1 + self.dice.below(5)).unwrap(),
        };
        assert_eq!(listed(&self.registry, query.clone()).await, self.twin.list(&query), "{query:?}");
        let digits = usize::try_from(20 + self.dice.below(5)).unwrap();
        let prefix = run_id(self.dice.below(RUNS)).as_str()[..digits].to_owned();
        assert_eq!(
            self.registry.find(prefix.clone(), 7).await.unwrap(),
            self.twin.find(&prefix, 7),
            "{prefix}"
        );
        let unfinished = self.registry.unfinished().await.unwrap();
        assert_eq!((unfinished.runs.len(), unfinished.unreadable), (self.twin.unfinished(), Vec::new()));
        let keep = Retention {
            age_ms: self.dice.below(RUNS),
            count: self.dice.below(9),
            bytes: self.dice.below(90),
        };
        for of in [1, 2].map(instance) {
            let outlived = self.registry.outlived(of.clone(), keep, NOW + RUNS, 9).await.unwrap();
            let outlived: Vec<_> = outlived.into_iter().map(|run| run.ticket.run_id).collect();
            assert_eq!(outlived, self.twin.outlived(&of, keep, NOW + RUNS, 9), "{keep:?}");
        }
    }
}

/// Reduces a failure to its meaning, since the words are the store's own.
fn drop_text(failed: tenure_store::Failed) -> Option<tenure_core::ids::RunId> {
    match failed {
        tenure_store::Failed::ScopeTaken { holder, .. } => Some(holder),
        tenure_store::Failed::Unavailable(_) => None,
        other => panic!("no answer about a run: {other}"),
    }
}

/// Prints the seed of a failed game.
struct Played(u64);

impl Drop for Played {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("the seed was TENURE_SEED={}", self.0);
        }
    }
}

#[test]
fn a_registry_answers_as_a_simple_model_of_it_does() {
    let wanted = std::env::var("TENURE_SEED").ok().map(|seed| seed.parse().unwrap());
    let fresh = || u64::from_ne_bytes(tenure_os::random::bytes().unwrap());
    let seeds: Vec<u64> = wanted.map_or_else(|| (0..SEEDS).map(|_| fresh()).collect(), |seed| vec![seed]);
    for seed in seeds {
        on_every_store(async |store| {
            let _played = Played(seed);
            let mut game = Game::new(store.open(), seed).await;
            for step in 0..STEPS {
                game.step().await;
                if step % 5 == 0 {
                    game.compare().await;
                }
            }
            game.compare().await;
            let told = game.registry.events(0, None, usize::MAX).await.unwrap().len();
            // Before the game, two instances enrolled and one was unseated.
            assert_eq!(told, game.twin.events + 3);
            assert_eq!(game.registry.check().await.unwrap(), None);
        });
    }
}
