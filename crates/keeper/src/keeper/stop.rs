//! The stop ladder's rungs, and the certainty that nobody is left.

use super::{Keeper, RootState, left_behind};
use std::collections::HashSet;
use std::io;
use std::time::Duration;
use tenure_core::signal::Signal;
use tenure_core::state::State;
use tenure_core::watch::{Seen, Whom};
use tenure_os::{clock, reaper, tree};

/// The first pause between two rounds of a hunt, and the longest.
const FIRST_PAUSE: Duration = Duration::from_micros(500);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// A stop in progress: who is to leave, what they were last sent, and when to look again.
pub(super) struct Hunt {
    whom: Whom,
    rung: Rung,
    pub(super) again_at: Duration,
    pause: Duration,
    /// Who was asked to leave already: newcomers are asked too, nobody twice.
    asked: HashSet<i32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rung {
    Term,
    Kill,
}

impl Keeper {
    /// The run's living processes: everything below us, and everything in its cgroup.
    pub(super) fn living(&self) -> io::Result<Vec<tree::Member>> {
        tree::members(&HashSet::new(), self.cgroup.as_ref())
    }

    /// Those of them that are to leave.
    fn targets(&self, whom: Whom) -> io::Result<Vec<tree::Member>> {
        let session = self.note.root.pid;
        let mut targets = self.living()?;
        targets.retain(|member| match whom {
            Whom::All => true,
            Whom::Session => member.session() == session,
        });
        Ok(targets)
    }

    /// Asks everybody to leave. Stopped processes are continued, or they would not hear; a terminal's are also
    /// told that it hung up, because an interactive shell ignores the rest.
    pub(super) fn term(&mut self, whom: Whom) -> io::Result<()> {
        self.begin_hunt(whom, Rung::Term);
        let signals = self.term_signals();
        if let RootState::Alive(root) | RootState::Held(root) = &self.root {
            for &signal in signals {
                root.signal_group(signal);
            }
        }
        self.ask_newcomers(true)?;
        self.notice_emptiness()
    }

    fn term_signals(&self) -> &'static [Signal] {
        if self.ticket.pty_size.is_some() {
            &[Signal::TERM, Signal::HUP, Signal::CONT]
        } else {
            &[Signal::TERM, Signal::CONT]
        }
    }

    /// Asks those who were not asked yet. In the first round the root's group has heard already.
    fn ask_newcomers(&mut self, group_has_heard: bool) -> io::Result<()> {
        let Some(hunt) = &self.hunt else { return Ok(()) };
        let group = self.note.root.pid;
        let signals = self.term_signals();
        let newcomers: Vec<tree::Member> =
            self.targets(hunt.whom)?.into_iter().filter(|member| !hunt.asked.contains(&member.pid())).collect();
        for member in newcomers.iter().filter(|member| !(group_has_heard && member.group() == group)) {
            for &signal in signals {
                member.signal(signal);
            }
        }
        if let Some(hunt) = &mut self.hunt {
            hunt.asked.extend(newcomers.iter().map(tree::Member::pid));
        }
        Ok(())
    }

    /// Kills everybody, again and again until nobody is left or the decider gives up.
    pub(super) fn start_hunting(&mut self, whom: Whom) -> io::Result<()> {
        tree::hurry();
        self.begin_hunt(whom, Rung::Kill);
        self.kill_once(whom)?;
        self.notice_emptiness()
    }

    fn begin_hunt(&mut self, whom: Whom, rung: Rung) {
        let again_at = clock::awake() + FIRST_PAUSE;
        self.hunt = Some(Hunt { whom, rung, again_at, pause: FIRST_PAUSE, asked: HashSet::new() });
    }

    fn kill_once(&self, whom: Whom) -> io::Result<()> {
        match whom {
            Whom::All => {
                if let Some(cgroup) = &self.cgroup {
                    // A kernel without it is served by the list.
                    let _ = cgroup.kill();
                }
                if let RootState::Alive(root) | RootState::Held(root) = &self.root {
                    root.signal_group(Signal::KILL);
                }
            }
            Whom::Session => {}
        }
        let targets = self.targets(whom)?;
        for target in &targets {
            target.forbid_forking();
            target.signal(Signal::KILL);
        }
        Ok(())
    }

    /// The next round of a hunt, when it is due.
    pub(super) fn go_on_hunting(&mut self) -> io::Result<()> {
        let now = clock::awake();
        let Some(hunt) = &mut self.hunt else { return Ok(()) };
        if now < hunt.again_at || self.draining.is_some() {
            return Ok(());
        }
        hunt.pause = (hunt.pause * 2).min(LONGEST_PAUSE);
        hunt.again_at = now + hunt.pause;
        let (whom, rung) = (hunt.whom, hunt.rung);
        match rung {
            Rung::Term => self.ask_newcomers(false)?,
            Rung::Kill => self.kill_once(whom)?,
        }
        self.mind_children()
    }

    /// Sees whether the run is empty: nobody below us, nobody in the cgroup. The root is reaped last, and only
    /// then does the system tell for certain that there is no child.
    pub(super) fn notice_emptiness(&mut self) -> io::Result<()> {
        if self.draining.is_some() || self.state() != State::Exiting || matches!(self.root, RootState::Alive(_)) {
            return Ok(());
        }
        let whom = self.watch.whom();
        if !self.targets(whom)?.is_empty() {
            return Ok(());
        }
        if whom == Whom::All {
            if let RootState::Held(root) = std::mem::replace(&mut self.root, RootState::Reaped)
                && let Err(root) = root.reap()
            {
                self.root = RootState::Held(root);
                return Ok(());
            }
            while reaper::reap(None).is_some() {}
            if !reaper::childless() {
                // Somebody was forked between the list and now: the hunt goes on without the root's number.
                return self.look_again();
            }
        }
        self.hunt = None;
        self.see(Seen::Empty)
    }

    /// The list was empty but somebody is alive: hunt them, whatever the decider was told.
    fn look_again(&mut self) -> io::Result<()> {
        if self.hunt.is_none() {
            let left = left_behind(&self.living()?, self.note.root.pid);
            if left.leftovers > 0 || !left.escapees.is_empty() {
                self.term(Whom::All)?;
            }
        }
        Ok(())
    }
}
