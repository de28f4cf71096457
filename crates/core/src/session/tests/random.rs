//! Forests that look random and are the same in every run: a test that fails once fails always.

use super::*;

/// A xorshift generator.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Returns a number below `end`.
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33).unwrap() % end
    }

    /// Returns true once in `n` times.
    pub(super) fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(super) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

const NAMES: [&str; 4] = ["a", "ab", "b", "lab-1"];

/// Creates sessions below each other, some without an agent, as in production.
pub(super) fn forest(random: &mut Random) -> Vec<SessionRow> {
    let mut rows: Vec<SessionRow> = Vec::new();
    for n in 0..2 + random.below(14) {
        let name = match random.below(5) {
            4 => format!("cli:{n}"),
            which => format!("agent:{}:{n}", NAMES[which]),
        };
        let parent =
            if rows.is_empty() || random.once_in(4) { None } else { Some(random.pick(&rows).clone()) };
        let by = parent.as_ref().filter(|_| !random.once_in(3)).map(|parent| {
            let above: Vec<_> = std::iter::once(&parent.key).chain(&parent.lineage).cloned().collect();
            random.pick(&above).clone()
        });
        let request = SpawnRequest { by, ..asked(&name) };
        let limits = SpawnLimits { depth: 99, children: 99 };
        rows.push(spawn(parent.as_ref(), request, Known::default(), limits).unwrap());
    }
    rows
}

/// Turns rows into those that another program wrote: any field may name any session.
pub(super) fn scribbled(random: &mut Random, mut rows: Vec<SessionRow>) -> Vec<SessionRow> {
    let keys: Vec<_> = rows.iter().map(|row| row.key.clone()).collect();
    for row in rows.iter_mut().filter(|row| !row.lineage.is_empty() || row.key.as_str().ends_with('1')) {
        let anybody = Some(random.pick(&keys).clone());
        match random.below(9) {
            0 => row.owner = anybody,
            1 => row.spawned_by = anybody,
            2 => row.parent = anybody,
            3 => row.lineage.extend(anybody),
            4 => row.lineage = anybody.into_iter().collect(),
            5 => (row.parent, row.owner) = (None, None),
            6 => row.agent = None,
            _ => {}
        }
    }
    rows
}

pub(super) fn policy(random: &mut Random) -> AgentToAgent {
    let routes = ["*->*", "a->b", "a*->lab-*", "b->a", "ab->a*", "lab-1->*", "*->b"];
    let allow = (0..random.below(4)).map(|_| random.pick(&routes).parse().unwrap()).collect();
    AgentToAgent { enabled: !random.once_in(3), allow }
}
