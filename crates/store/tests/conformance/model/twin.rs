//! The model: a map, and the rules in their simplest form.

use crate::sample::{NOW, instance, note, run_id};
use std::collections::{BTreeMap, BTreeSet};
use tenure_core::ids::{InstanceId, RunId};
use tenure_core::state::State;
use tenure_store::{Change, Hold, NewRun, Query, Retention, RunRow};

struct Known {
    new: NewRun,
    hold: Hold,
    state: State,
    noted: bool,
    hidden: bool,
}

/// The expected content of the registry.
#[derive(Default)]
pub(crate) struct Twin {
    runs: BTreeMap<u64, Known>,
    sessions: BTreeSet<String>,
    /// The number of events.
    pub(crate) events: usize,
}

impl Twin {
    pub(crate) fn hold(&self, run: u64) -> Option<Hold> {
        self.runs.get(&run).map(|known| known.hold.clone())
    }

    pub(crate) fn create(&mut self, run: u64, new: &NewRun) -> Result<(), Option<RunId>> {
        let scope = &new.ticket.options.scope;
        let holds = |known: &Known| known.state != State::Exited && known.new.ticket.options.scope == *scope;
        if let Some((&holder, _)) = self.runs.iter().find(|(_, known)| scope.is_some() && holds(known)) {
            return Err(Some(run_id(holder)));
        }
        if self.runs.contains_key(&run) {
            return Err(None);
        }
        let hold = Hold { instance: instance(1), epoch: 1 };
        let known = Known { new: new.clone(), hold, state: State::Starting, noted: false, hidden: false };
        self.runs.insert(run, known);
        // The first run of a session also creates the session.
        let is_first = new.ticket.options.session_id.clone().is_some_and(|key| self.sessions.insert(key));
        self.events += 1 + usize::from(is_first);
        Ok(())
    }

    pub(crate) fn record(&mut self, run: u64, hold: &Hold, change: &Change) -> bool {
        let Some(known) = self.runs.get_mut(&run) else { return false };
        if known.hold != *hold || known.state == State::Exited {
            return false;
        }
        match change {
            Change::Started(_) if known.noted => return false,
            Change::Started(_) => {
                known.noted = true;
                known.state = known.state.max(State::Running);
            }
            Change::Leaving { .. } if known.state == State::Exiting => return false,
            Change::Leaving { .. } => known.state = State::Exiting,
            // The model's runs have empty journals.
            Change::Noted(_) => return false,
            Change::Ended(_) => known.state = State::Exited,
        }
        self.events += 1;
        true
    }

    /// Steals a run. Instance 1 has been unseated, instance 2 never is.
    pub(crate) fn steal(&mut self, run: u64, from: &Hold) -> Option<Hold> {
        let known = self.runs.get_mut(&run)?;
        if known.hold != *from || known.hold.instance != instance(1) || known.state == State::Exited {
            return None;
        }
        known.hold = Hold { instance: instance(2), epoch: from.epoch + 1 };
        self.events += 1;
        Some(known.hold.clone())
    }

    pub(crate) fn hide(&mut self, run: u64) {
        if let Some(known) = self.runs.get_mut(&run).filter(|known| !known.hidden) {
            known.hidden = true;
            self.events += 1;
        }
    }

    pub(crate) fn forget(&mut self, runs: &[u64]) {
        for run in runs {
            if self.runs.get(run).is_some_and(|known| known.state == State::Exited) {
                self.runs.remove(run);
                self.events += 1;
            }
        }
    }

    pub(crate) fn check(&self, run: u64, row: Option<&RunRow>) {
        let (Some(known), Some(row)) = (self.runs.get(&run), row) else {
            assert!(row.is_none() && !self.runs.contains_key(&run), "only one of us knows run {run}");
            return;
        };
        assert_eq!((&row.ticket, &row.hold), (&known.new.ticket, &known.hold));
        assert_eq!((row.state, row.hidden), (known.state, known.hidden), "run {run}");
        assert_eq!(row.note, known.noted.then(note));
        assert_eq!(row.ending.is_some(), known.state == State::Exited);
        assert_eq!(row.expires_at_ms, if row.hold.instance == instance(1) { NOW } else { u64::MAX });
    }

    /// Returns all pages of a list.
    pub(crate) fn list(&self, query: &Query) -> Vec<RunId> {
        let wanted = |known: &&Known| {
            let ticket = &known.new.ticket;
            let agent = ticket.options.session_id.as_deref().and_then(|session| session.split(':').nth(1));
            let after = query.after.as_ref().map(|after| (after.created_at_ms, &after.run_id));
            !known.hidden
                && (query.states.is_empty() || query.states.contains(&known.state))
                && (query.session.is_none() || query.session == ticket.options.session_id)
                && (query.scope.is_none() || query.scope == ticket.options.scope)
                && (query.agent.is_none() || query.agent.as_deref() == agent)
                && after.is_none_or(|after| (ticket.created_at_ms, &ticket.run_id) < after)
        };
        let mut found: Vec<_> = self.runs.values().filter(wanted).map(|known| &known.new.ticket).collect();
        found.sort_by_key(|ticket| std::cmp::Reverse((ticket.created_at_ms, ticket.run_id.clone())));
        found.into_iter().map(|ticket| ticket.run_id.clone()).collect()
    }

    pub(crate) fn find(&self, prefix: &str, limit: usize) -> Vec<RunId> {
        let shown = self.runs.iter().filter(|(_, known)| !known.hidden).map(|(&run, _)| run_id(run));
        shown.filter(|id| id.as_str().starts_with(prefix)).take(limit).collect()
    }

    pub(crate) fn unfinished(&self) -> usize {
        self.runs.values().filter(|known| known.state != State::Exited).count()
    }

    /// Returns the runs to remove. Every run ends at `NOW` + its number, with ten bytes.
    pub(crate) fn outlived(&self, of: &InstanceId, keep: Retention, now_ms: u64, limit: usize) -> Vec<RunId> {
        let ended = |hidden| {
            let is = move |known: &Known| {
                known.hold.instance == *of && known.state == State::Exited && known.hidden == hidden
            };
            self.runs.iter().filter(move |(_, known)| is(known)).map(|(&run, _)| run)
        };
        let mut gone: Vec<u64> = ended(true).collect();
        let shown: Vec<u64> = ended(false).collect();
        for (before, &run) in (0..).zip(&shown) {
            let left = shown.len() as u64 - before;
            if NOW + run < now_ms - keep.age_ms || left > keep.count || left * 10 > keep.bytes {
                gone.push(run);
            }
        }
        gone.into_iter().take(limit).map(run_id).collect()
    }
}
