//! The stop ladder's rungs, and the certainty that nobody is left.

use super::{Keeper, RootState, left_behind};
use crate::rundir::MOST_NAMED;
use std::collections::HashSet;
use std::time::Duration;
use tenure_core::defaults::FREEZE;
use tenure_core::ending::ProcessNote;
use tenure_core::identity::{Evidence, Identity};
use tenure_core::record::Ticket;
use tenure_core::signal::Signal;
use tenure_core::state::State;
use tenure_core::watch::{Seen, Whom};
use tenure_os::process::Sent;
use tenure_os::{clock, process, reaper, tree};

/// The first pause between two rounds of a hunt, and the longest.
const FIRST_PAUSE: Duration = Duration::from_micros(500);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// So many newcomers between two rounds are not a command that finishes its work.
const BOMB: usize = 32;

/// A stop in progress: who is to leave, what they are sent, and when to look again.
pub(super) struct Hunt {
    whom: Whom,
    rung: Rung,
    /// Whether the root's group was asked to leave as one.
    group_has_heard: bool,
    pub(super) again_at: Duration,
    pause: Duration,
    /// Who was sent it already.
    reached: HashSet<i32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rung {
    Term,
    Kill,
}

impl Keeper {
    /// The run's living processes: everything below us, and everything in its enclosure.
    pub(super) fn living(&self) -> Vec<tree::Member> {
        tree::members(&HashSet::new(), &self.kin())
    }

    /// Who is named when a stop is given up. Somebody who cannot be listed is still a child.
    pub(super) fn survivors(&self) -> Vec<ProcessNote> {
        self.bury();
        let mut survivors: Vec<_> = self.targets(self.watch.whom()).iter().map(tree::Member::note).collect();
        if survivors.is_empty() && self.watch.whom() == Whom::All {
            let others = tree::own_children().into_iter().filter(|&pid| Some(pid) != self.kept());
            survivors.extend(others.take(MOST_NAMED).map(|pid| ProcessNote { pid, exe: None }));
        }
        survivors.truncate(MOST_NAMED);
        survivors
    }

    /// Those of them that are to leave.
    fn targets(&self, whom: Whom) -> Vec<tree::Member> {
        let mut targets = self.living();
        targets.retain(|member| match whom {
            Whom::All => true,
            Whom::Session => member.is_of(self.session),
        });
        targets
    }

    /// Asks everybody to leave. Stopped processes are continued, or they would not hear; a terminal's are also
    /// told that it hung up, because an interactive shell ignores the rest.
    pub(super) fn term(&mut self, whom: Whom) {
        self.look_first();
        let mut heard = false;
        if let RootState::Alive(root) | RootState::Held(root) = &self.root {
            heard = true;
            for &signal in term_signals(&self.ticket) {
                let sent = root.signal_group(signal);
                self.journal.group_signalled(root, signal, sent);
                heard &= sent == Sent::Yes;
            }
        }
        self.begin_hunt(whom, Rung::Term, heard);
    }

    /// Kills everybody, again and again until nobody is left or the decider gives up.
    pub(super) fn kill(&mut self, whom: Whom) {
        self.begin_hunt(whom, Rung::Kill, false);
    }

    fn begin_hunt(&mut self, whom: Whom, rung: Rung, group_has_heard: bool) {
        tree::hurry();
        let again_at = clock::awake();
        let reached = HashSet::new();
        self.hunt = Some(Hunt { whom, rung, group_has_heard, again_at, pause: FIRST_PAUSE, reached });
        self.go_on_hunting();
    }

    /// The next round of a hunt, when it is due. Whoever was not there in the round before was forked since: to
    /// ask newcomers is enough while they may still leave by themselves, but then everything is stopped before
    /// it is killed, or a bomb would fork faster than it dies.
    pub(super) fn go_on_hunting(&mut self) {
        let Some(hunt) = &mut self.hunt else { return };
        if clock::awake() < hunt.again_at || self.draining.is_some() {
            return;
        }
        let (whom, rung) = (hunt.whom, hunt.rung);
        hunt.pause = (hunt.pause * 2).min(LONGEST_PAUSE);
        if (whom, rung) == (Whom::All, Rung::Kill) {
            self.look_first();
            self.kill_all_at_once();
        }
        self.bury();
        let targets = self.targets(whom);
        self.remember(&targets);
        if self.send(rung, &targets) && (whom, rung) == (Whom::All, Rung::Kill) {
            self.freeze_and_kill(clock::awake() + FREEZE);
        }
        if let Some(hunt) = &mut self.hunt {
            let known = hunt.reached.len();
            hunt.reached.extend(targets.iter().map(tree::Member::pid));
            // Asking a bomb only makes it fork: it is left alone until it is killed.
            let is_bomb = known > 0 && hunt.reached.len() - known > BOMB;
            hunt.again_at = clock::awake() + if is_bomb && rung == Rung::Term { FREEZE } else { hunt.pause };
        }
        self.mind_children();
    }

    /// Sees who is there before a signal ends their parents, where nobody would find them after it.
    fn look_first(&mut self) {
        if !tree::orphans_come_back() {
            self.remember(&self.living());
        }
    }

    /// From now on these are found by who they are, where they could be lost.
    fn remember(&mut self, members: &[tree::Member]) {
        if tree::orphans_come_back() {
            return;
        }
        let listed: HashSet<i32> = members.iter().map(tree::Member::pid).collect();
        let is_gone = |one: &Identity| matches!(process::look(one).0, Evidence::Gone | Evidence::Other);
        self.known.retain(|one| !listed.contains(&one.pid) && !is_gone(one));
        self.known.extend(members.iter().map(|member| member.identity().clone()));
    }

    /// What ends a whole group or enclosure in one stroke; a fork cannot outrun either.
    fn kill_all_at_once(&mut self) {
        if let Some(enclosure) = &self.enclosure {
            self.journal.kill_enclosure(enclosure);
        }
        if let RootState::Alive(root) | RootState::Held(root) = &self.root {
            self.journal.group_signalled(root, Signal::KILL, root.signal_group(Signal::KILL));
        }
    }

    /// Stops everything first: nothing tells a tree that leaves from one that forks for ever.
    pub(super) fn freeze_and_kill(&mut self, until: Duration) {
        // It is taken out, since what the run is known by is borrowed meanwhile.
        let mut journal = std::mem::take(&mut self.journal);
        let mut stopped = |member: &tree::Member, sent| journal.signalled(member, Signal::STOP, sent);
        let frozen = tree::freeze(&HashSet::new(), &[self.kin()], until, &mut stopped);
        for member in &frozen {
            journal.signalled(member, Signal::KILL, member.signal(Signal::KILL));
        }
        self.journal = journal;
    }

    /// Sends the rung's signals; returns whether somebody is new. If the root's group was asked to leave as one,
    /// its members of the first round are not asked again.
    fn send(&mut self, rung: Rung, targets: &[tree::Member]) -> bool {
        let Some(hunt) = &self.hunt else { return false };
        let (journal, session) = (&mut self.journal, self.session);
        let first_round = hunt.reached.is_empty();
        let heard = |member: &tree::Member| first_round && hunt.group_has_heard && member.group() == session;
        let is_new = |member: &&tree::Member| !hunt.reached.contains(&member.pid());
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

    /// Sees whether the run is empty: nobody below us, nobody in the enclosure. The root is reaped last, and only
    /// then does the system tell for certain that there is no child.
    pub(super) fn notice_emptiness(&mut self) {
        if self.draining.is_some()
            || self.state() != State::Exiting
            || matches!(self.root, RootState::Alive(_))
        {
            return;
        }
        let whom = self.watch.whom();
        // The short look first: while a bomb goes off, every list is long.
        let anybody = match whom {
            Whom::All => !self.is_bare() || !self.targets(whom).is_empty(),
            Whom::Session => !self.targets(whom).is_empty(),
        };
        if anybody {
            return;
        }
        if whom == Whom::All {
            if let RootState::Held(root) = std::mem::replace(&mut self.root, RootState::Reaped)
                && let Err(root) = root.reap()
            {
                self.root = RootState::Held(*root);
                return;
            }
            reaper::reap_now();
            if !reaper::childless() {
                // Somebody was forked between the list and now: the hunt goes on without the root's number.
                return self.look_again();
            }
        }
        self.hunt = None;
        self.see(Seen::Empty);
    }

    /// The list was empty but somebody is alive: hunt them, whatever the decider was told.
    fn look_again(&mut self) {
        if self.hunt.is_none() {
            let left = left_behind(&self.living(), self.session);
            if left.leftovers > 0 || !left.escapees.is_empty() {
                self.term(Whom::All);
            }
        }
    }
}

/// What asks a run's processes to leave.
fn term_signals(ticket: &Ticket) -> &'static [Signal] {
    if ticket.options.pty_size.is_some() {
        &[Signal::TERM, Signal::HUP, Signal::CONT]
    } else {
        &[Signal::TERM, Signal::CONT]
    }
}
