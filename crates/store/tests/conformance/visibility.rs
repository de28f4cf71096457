//! A list that is narrowed by an index and then decided row by row equals the list of all that may be seen.

use crate::sample::{NOW, instance};
use crate::store::on_every_store;
use crate::talk::{asked, listed};
use std::collections::BTreeSet;
use tenure_core::session::{
    AgentToAgent, Known, Requester, SessionRow, SpawnLimits, SpawnRequest, Visibility, can_see, narrow, spawn,
};
use tenure_store::SessionQuery;

/// Numbers that look random and are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33).unwrap() % end
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

const NAMES: [&str; 4] = ["a", "ab", "b", "lab-1"];

/// Creates sessions below each other, some without an agent, some with fields that name any session.
fn forest(random: &mut Random, salt: u64) -> Vec<SessionRow> {
    let mut rows: Vec<SessionRow> = Vec::new();
    for n in 0..3 + random.below(12) {
        let name = NAMES
            .get(random.below(5))
            .map_or_else(|| format!("cli:{salt}:{n}"), |agent| format!("agent:{agent}:{salt}:{n}"));
        let parent = (!rows.is_empty() && random.below(4) > 0).then(|| random.pick(&rows).clone());
        let by = parent.as_ref().filter(|_| random.below(3) > 0).map(|parent| parent.key.clone());
        let now_ms = NOW + random.below(6) as u64;
        let request = SpawnRequest { by, now_ms, instance: instance(1), ..asked(&name).request };
        let limits = SpawnLimits { depth: 99, children: 99 };
        rows.push(spawn(parent.as_ref(), request, Known::default(), limits).unwrap());
    }
    let keys: Vec<_> = rows.iter().map(|row| row.key.clone()).collect();
    for row in &mut rows {
        let anybody = Some(random.pick(&keys).clone());
        match random.below(12) {
            0 => row.owner = anybody,
            1 => row.spawned_by = anybody,
            2 => row.parent = anybody,
            3 => row.lineage.extend(anybody),
            4 => (row.parent, row.owner) = (None, None),
            5 => row.agent = None,
            _ => {}
        }
    }
    rows
}

fn policy(random: &mut Random) -> AgentToAgent {
    let routes = ["*->*", "a->b", "a*->lab-*", "b->a", "ab->a*", "lab-1->*", "*->b"];
    let allow = (0..random.below(4)).map(|_| random.pick(&routes).parse().unwrap()).collect();
    AgentToAgent { enabled: random.below(3) > 0, allow }
}

#[test]
fn narrowed_and_decided_is_the_same_as_decided_over_all() {
    on_every_store(async |store| {
        let registry = store.open();
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let mut all: Vec<SessionRow> = Vec::new();
        let mut seen = 0;
        for salt in 0..10 {
            for row in forest(&mut random, salt) {
                registry.adopt_session(row.clone(), None, None).await.unwrap();
                all.push(row);
            }
            all.sort_by(|a, b| (b.created_at_ms, &b.key).cmp(&(a.created_at_ms, &a.key)));
            for _ in 0..30 {
                let requester = Requester::of(random.pick(&all), random.below(3) == 0);
                let (visibility, a2a) = (*random.pick(Visibility::ALL), policy(&mut random));
                let visible = |row: &&SessionRow| can_see(row, &requester, visibility, &a2a).is_allowed();
                let narrowing = Some(narrow(&requester, visibility, &a2a));
                let query = SessionQuery { narrowing, limit: 1 + random.below(9), ..SessionQuery::default() };
                let found = listed(&registry, query).await;
                let once: BTreeSet<_> = found.iter().map(|row| &row.key).collect();
                assert_eq!(once.len(), found.len(), "{requester:?} {visibility} {a2a:?}");
                let found: Vec<_> = found.iter().filter(visible).collect();
                let expected: Vec<_> = all.iter().filter(visible).collect();
                assert_eq!(found, expected, "{requester:?} {visibility} {a2a:?}");
                seen += found.len();
            }
        }
        assert!(seen > 1_000, "{seen} is little to go by");
    });
}
