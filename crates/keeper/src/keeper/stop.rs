//! The steps of the stop ladder, and the proof that the run is empty.

use super::{Keeper, RootState, split_leftovers};
use crate::rundir::MOST_NAMED;
use std::collections::HashSet;
use std::time::Duration;
use tenure_core::defaults::FREEZE;
use tenure_core::ending::ProcessNote;
use tenure_core::identity::{Evidence, Identity};
use tenure_core::record::Ticket;
use tenure_core::signal::Signal;
use tenure_core::state::State;
use tenure_core::watch::{Sighting, StopScope};
use tenure_os::process::Sent;
use tenure_os::{clock, process, reaper, tree};

/// The first and the longest pause between two rounds.
const FIRST_PAUSE: Duration = Duration::from_micros(500);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// More new processes than this between two rounds are a fork bomb, not a command finishing its work.
const FORK_BOMB_NEW: usize = 32;

/// A stop in progress: repeated rounds of signals.
pub(super) struct StopRounds {
    scope: StopScope,
    rung: Rung,
    /// True if the root's group was signalled as a whole.
    group_signalled: bool,
    pub(super) again_at: Duration,
    pause: Duration,
    /// The processes that were signalled already.
    signalled: HashSet<i32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rung {
    Term,
    Kill,
}

impl Keeper {
    /// Lists the run's live processes: all of our descendants, and all in its enclosure.
    pub(super) fn living(&self) -> Vec<tree::Member> {
        tree::members(&HashSet::new(), &self.marks())
    }

    /// Returns the processes to name when a stop is given up. One that cannot be listed is still a child.
    pub(super) fn survivors(&self) -> Vec<ProcessNote> {
        self.reap();
        let mut survivors: Vec<_> = self.targets(self.watch.scope()).iter().map(tree::Member::note).collect();
        if survivors.is_empty() && self.watch.scope() == StopScope::All {
            let others = tree::own_children().into_iter().filter(|&pid| Some(pid) != self.unreaped_child());
            survivors.extend(others.take(MOST_NAMED).map(|pid| ProcessNote { pid, exe: None }));
        }
        survivors.truncate(MOST_NAMED);
        survivors
    }

    /// Lists the live processes within a scope.
    fn targets(&self, scope: StopScope) -> Vec<tree::Member> {
        let mut targets = self.living();
        targets.retain(|member| match scope {
            StopScope::All => true,
            StopScope::Session => member.is_of(self.session),
        });
        targets
    }

    /// Sends SIGTERM. Stopped processes also get SIGCONT, or they could not handle it. A terminal's processes also
    /// get SIGHUP, because an interactive shell ignores SIGTERM.
    pub(super) fn term(&mut self, scope: StopScope) {
        self.remember_all();
        let mut heard = false;
        if let RootState::Alive(root) | RootState::Unreaped(root) = &self.root {
            heard = true;
            for &signal in term_signals(&self.ticket) {
                let sent = root.signal_group(signal);
                self.journal.group_signalled(root, signal, sent);
                heard &= sent == Sent::Yes;
            }
        }
        self.begin_stop_rounds(scope, Rung::Term, heard);
    }

    /// Sends SIGKILL, again and again until no process is left or the decider gives up.
    pub(super) fn kill(&mut self, scope: StopScope) {
        self.begin_stop_rounds(scope, Rung::Kill, false);
    }

    fn begin_stop_rounds(&mut self, scope: StopScope, rung: Rung, group_signalled: bool) {
        tree::hurry();
        let again_at = clock::awake();
        let signalled = HashSet::new();
        self.stop_rounds =
            Some(StopRounds { scope, rung, group_signalled, again_at, pause: FIRST_PAUSE, signalled });
        self.run_stop_round();
    }

    /// Runs the next round of a stop when it is due. Processes that the last round did not see were forked since.
    /// After SIGTERM, new processes only get SIGTERM too; before SIGKILL, everything is stopped first, or a fork bomb
    /// would fork faster than it dies.
    pub(super) fn run_stop_round(&mut self) {
        let Some(rounds) = &mut self.stop_rounds else { return };
        if clock::awake() < rounds.again_at || self.draining.is_some() {
            return;
        }
        let (scope, rung) = (rounds.scope, rounds.rung);
        rounds.pause = (rounds.pause * 2).min(LONGEST_PAUSE);
        if (scope, rung) == (StopScope::All, Rung::Kill) {
            self.remember_all();
            self.kill_all_at_once();
        }
        self.reap();
        let targets = self.targets(scope);
        self.remember(&targets);
        if self.send(rung, &targets) && (scope, rung) == (StopScope::All, Rung::Kill) {
            self.freeze_and_kill(clock::awake() + FREEZE);
        }
        if let Some(rounds) = &mut self.stop_rounds {
            let known = rounds.signalled.len();
            rounds.signalled.extend(targets.iter().map(tree::Member::pid));
            // SIGTERM only makes a fork bomb fork: leave it alone until SIGKILL.
            let is_bomb = known > 0 && rounds.signalled.len() - known > FORK_BOMB_NEW;
            rounds.again_at =
                clock::awake() + if is_bomb && rung == Rung::Term { FREEZE } else { rounds.pause };
        }
        self.check_children();
    }

    /// Lists the processes before a signal kills their parents, after which nothing would lead to them.
    fn remember_all(&mut self) {
        if !tree::orphans_come_back() {
            self.remember(&self.living());
        }
    }

    /// Remembers these processes by identity, on systems where orphans could be lost.
    fn remember(&mut self, members: &[tree::Member]) {
        if tree::orphans_come_back() {
            return;
        }
        let listed: HashSet<i32> = members.iter().map(tree::Member::pid).collect();
        let is_gone = |one: &Identity| matches!(process::look(one).0, Evidence::Gone | Evidence::Other);
        self.seen_members.retain(|one| !listed.contains(&one.pid) && !is_gone(one));
        self.seen_members.extend(members.iter().map(|member| member.identity().clone()));
    }

    /// Kills the whole enclosure and the whole group, each in one call that no fork outruns.
    fn kill_all_at_once(&mut self) {
        if let Some(enclosure) = &self.enclosure {
            self.journal.kill_enclosure(enclosure);
        }
        if let RootState::Alive(root) | RootState::Unreaped(root) = &self.root {
            self.journal.group_signalled(root, Signal::KILL, root.signal_group(Signal::KILL));
        }
    }

    /// Stops everything before it kills: nothing tells a tree that exits from one that forks forever.
    pub(super) fn freeze_and_kill(&mut self, until: Duration) {
        // Taken out of `self`, whose marks are borrowed meanwhile.
        let mut journal = std::mem::take(&mut self.journal);
        let mut stopped = |member: &tree::Member, sent| journal.signalled(member, Signal::STOP, sent);
        let frozen = tree::freeze(&HashSet::new(), &[self.marks()], until, &mut stopped);
        for member in &frozen {
            journal.signalled(member, Signal::KILL, member.signal(Signal::KILL));
        }
        self.journal = journal;
    }

    /// Sends the rung's signals; returns true if there is a new process. If the root's group was signalled as a
    /// whole, its members are skipped in the first round.
    fn send(&mut self, rung: Rung, targets: &[tree::Member]) -> bool {
        let Some(rounds) = &self.stop_rounds else { return false };
        let (journal, session) = (&mut self.journal, self.session);
        let first_round = rounds.signalled.is_empty();
        let heard =
            |member: &tree::Member| first_round && rounds.group_signalled && member.group() == session;
        let is_new = |member: &&tree::Member| !rounds.signalled.contains(&member.pid());
        for member in targets {
            match rung {
                Rung::Kill => {
                    member.forbid_forking();
                    journal.signalled(member, Signal::KILL, member.signal(Signal::KILL));
                }
                Rung::Term if is_new(&member) && !heard(member) => {
                    for &signal in term_signals(&self.ticket) {
                        journal.signalled(member, signal, member.signal(signal));
                    }
                }
                Rung::Term => {}
            }
        }
        !first_round && targets.iter().any(|member| is_new(&member))
    }

    /// Checks whether the run is empty: no descendant, and an empty enclosure. The root is reaped last; only then can
    /// the system confirm that there is no child.
    pub(super) fn check_empty(&mut self) {
        if self.draining.is_some()
            || self.state() != State::Exiting
            || matches!(self.root, RootState::Alive(_))
        {
            return;
        }
        let scope = self.watch.scope();
        // The cheap check first: during a fork bomb, every list is long.
        let anybody = match scope {
            StopScope::All => !self.is_bare() || !self.targets(scope).is_empty(),
            StopScope::Session => !self.targets(scope).is_empty(),
        };
        if anybody {
            return;
        }
        if scope == StopScope::All {
            if let RootState::Unreaped(root) = std::mem::replace(&mut self.root, RootState::Reaped)
                && let Err(root) = root.reap()
            {
                self.root = RootState::Unreaped(*root);
                return;
            }
            reaper::reap_now();
            if !reaper::childless() {
                // A process was forked after the list was made: the stop continues without the root's pid.
                return self.restart_stop();
            }
        }
        self.stop_rounds = None;
        self.see(Sighting::Empty);
    }

    /// Restarts the stop, independently of the decider: the list was empty, but a process is alive.
    fn restart_stop(&mut self) {
        if self.stop_rounds.is_none() {
            let left = split_leftovers(&self.living(), self.session);
            if left.leftovers > 0 || !left.escapees.is_empty() {
                self.term(StopScope::All);
            }
        }
    }
}

/// Returns the signals that ask a run's processes to exit.
fn term_signals(ticket: &Ticket) -> &'static [Signal] {
    if ticket.options.pty_size.is_some() {
        &[Signal::TERM, Signal::HUP, Signal::CONT]
    } else {
        &[Signal::TERM, Signal::CONT]
    }
}
