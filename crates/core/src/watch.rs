//! The decider of one live run: [`Watch::see`] takes a sighting and returns the step that is due. It has no clock:
//! `now` is the time since any fixed moment on a clock that stops while the machine sleeps (I12). The keeper
//! reports and obeys; it makes no choice. Of two sightings the first to arrive stands: a root whose exit is seen
//! first was not timed out, whatever the clock says. Every end takes the one ladder here (I7).

mod ladder;
mod silence;
#[cfg(test)]
mod tests;
mod words;

use crate::duration::show;
use crate::ending::{Cause, Exit, ProcessNote, Reason, SpawnError, Termination};
use crate::spec::{OnEscape, Orphan, RunOptions};
use crate::state::State;
use ladder::Ladder;
use silence::Silence;
use std::time::Duration;

pub use ladder::StopScope;
pub use silence::{Usage, worked};
pub use words::{LeftBehind, Sighting, Step};

/// A live run, as its keeper knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watch {
    options: RunOptions,
    state: State,
    cause: Option<Cause>,
    /// The details of the cause, for people.
    detail: Option<String>,
    exit: Option<Exit>,
    /// The processes that outlived a root that exited by itself. After a cause they do not count, because all were
    /// being ended anyway.
    left: LeftBehind,
    /// True if the holder left on purpose.
    released: bool,
    /// True if a foreground caller is connected: then no holder is missed.
    caller: bool,
    overall: Option<Duration>,
    silence: Option<Silence>,
    orphan: Option<Duration>,
    ladder: Ladder,
}

/// The purpose of a deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Alarm {
    Overall,
    Silence,
    Sample,
    Orphan,
    Ladder,
}

impl Watch {
    /// Starts with a run that has not started.
    pub fn new(options: RunOptions) -> Self {
        Self {
            options,
            state: State::Starting,
            cause: None,
            detail: None,
            exit: None,
            left: LeftBehind::default(),
            released: false,
            caller: false,
            overall: None,
            silence: None,
            orphan: None,
            ladder: Ladder::new(),
        }
    }

    /// Returns the run's state.
    pub fn state(&self) -> State {
        self.state
    }

    /// Returns the cause, if the command itself does not end the run.
    pub fn cause(&self) -> Option<Cause> {
        self.cause
    }

    /// Returns the root's exit, if it was seen.
    pub fn exit(&self) -> Option<Exit> {
        self.exit
    }

    /// Returns the details of the cause, for people.
    pub fn detail(&self) -> Option<&str> {
        self.detail.as_deref()
    }

    /// Returns the processes whose absence [`Sighting::Empty`] reports.
    pub fn scope(&self) -> StopScope {
        self.ladder.scope
    }

    /// Returns the next deadline; `None` needs no timer.
    pub fn wake_at(&self) -> Option<Duration> {
        self.alarms().map(|(at, _)| at).min()
    }

    /// Takes a sighting and returns the step that is due.
    pub fn see(&mut self, seen: Sighting, now: Duration) -> Step {
        match self.state {
            State::Starting | State::Running => match seen {
                Sighting::Started => self.started(now),
                Sighting::NotStarted(error) => self.never_started(error),
                Sighting::Output => self.heard(now),
                Sighting::Sampled(usage) => self.sampled(usage, now),
                Sighting::RootExited { exit, left } => self.root_exited(exit, left, now),
                Sighting::Cancel { now: false } => self.end(Cause::ManualCancel, None, now),
                Sighting::Cancel { now: true } => {
                    self.blame(Cause::ManualCancel, None);
                    self.ladder.kill(&self.options.limits, now)
                }
                Sighting::CallerHere => self.attended(),
                Sighting::CallerGone => self.end(Cause::OwnerLost, Some("the caller is gone".into()), now),
                Sighting::Terminated => {
                    self.end(Cause::OwnerLost, Some("the keeper was told to end".into()), now)
                }
                Sighting::DirectoryDeleted => {
                    self.end(Cause::OwnerLost, Some("its directory was deleted".into()), now)
                }
                Sighting::Abandoned => self.end(Cause::OwnerLost, Some("its owner was lost".into()), now),
                Sighting::HolderGone => self.holder_gone(now),
                Sighting::HolderBack => self.hold(false),
                Sighting::HolderReleased => self.hold(true),
                Sighting::Empty => self.finish(Vec::new()),
                Sighting::Tick => self.tick(now),
                Sighting::Alive(_) => Step::Nothing,
            },
            State::Exiting => match seen {
                Sighting::NotStarted(error) => self.never_started(error),
                Sighting::RootExited { exit, left: _ } => {
                    self.exit.get_or_insert(exit);
                    Step::Nothing
                }
                Sighting::Cancel { now: true } => self.ladder.hasten(&self.options.limits, now),
                Sighting::Empty => self.finish(Vec::new()),
                Sighting::Alive(survivors) => self.survivors_listed(survivors),
                Sighting::Tick => self.tick(now),
                Sighting::Started
                | Sighting::Output
                | Sighting::Sampled(_)
                | Sighting::Cancel { now: false }
                | Sighting::CallerHere
                | Sighting::CallerGone
                | Sighting::Terminated
                | Sighting::Abandoned
                | Sighting::DirectoryDeleted
                | Sighting::HolderGone
                | Sighting::HolderBack
                | Sighting::HolderReleased => Step::Nothing,
            },
            State::Exited => Step::Nothing,
        }
    }

    /// Starts both time limits. A repeated report changes nothing.
    fn started(&mut self, now: Duration) -> Step {
        if self.state == State::Starting {
            self.go(State::Running);
            let limits = &self.options.limits;
            self.overall = limits.overall.map(|limit| now.saturating_add(limit));
            self.silence = limits.no_output.map(|limit| Silence::new(limit, limits.activity, now));
        }
        Step::Nothing
    }

    fn heard(&mut self, now: Duration) -> Step {
        if let Some(silence) = &mut self.silence {
            silence.restart(now);
        }
        Step::Nothing
    }

    fn sampled(&mut self, usage: Usage, now: Duration) -> Step {
        let idle = self.silence.as_mut().is_some_and(|silence| silence.sampled(usage, now));
        if idle { self.too_silent(now) } else { Step::Nothing }
    }

    /// Acts on the first deadline that passed. A measurement comes last: it decides nothing by itself and could
    /// only put off another step that is due.
    fn tick(&mut self, now: Duration) -> Step {
        let passed = self.alarms().filter(|&(at, _)| at <= now);
        let limits = &self.options.limits;
        match passed.min_by_key(|&(at, alarm)| (alarm == Alarm::Sample, at)).map(|(_, alarm)| alarm) {
            None => Step::Nothing,
            Some(Alarm::Overall) => {
                let detail = limits.overall.map(|limit| format!("ran longer than {}", show(limit)));
                self.end(Cause::OverallTimeout, detail, now)
            }
            Some(Alarm::Silence) => self.too_silent(now),
            Some(Alarm::Sample) => {
                if let Some(silence) = &mut self.silence {
                    silence.ask();
                }
                Step::Sample
            }
            Some(Alarm::Orphan) => self.orphaned(now),
            Some(Alarm::Ladder) => self.ladder.climb(limits, now),
        }
    }

    fn alarms(&self) -> impl Iterator<Item = (Duration, Alarm)> {
        [
            self.overall.map(|at| (at, Alarm::Overall)),
            self.silence.as_ref().and_then(Silence::alarm),
            self.orphan.map(|at| (at, Alarm::Orphan)),
            self.ladder.deadline().map(|at| (at, Alarm::Ladder)),
        ]
        .into_iter()
        .flatten()
    }

    /// Starts the orphan grace. A repeated report does not restart it.
    fn holder_gone(&mut self, now: Duration) -> Step {
        let grace = self.options.limits.orphan_grace;
        match self.options.orphan {
            Orphan::Keep => Step::Nothing,
            Orphan::Terminate if self.caller || self.released || self.orphan.is_some() => Step::Nothing,
            Orphan::Terminate if grace.is_zero() => self.orphaned(now),
            Orphan::Terminate => {
                self.orphan = Some(now.saturating_add(grace));
                Step::Nothing
            }
        }
    }

    /// Stops the orphan grace: the holder is back, or released the run and is not missed.
    fn hold(&mut self, released: bool) -> Step {
        self.released = released;
        self.orphan = None;
        Step::Nothing
    }

    /// Notes that a caller owns the run; when it goes, the run ends.
    fn attended(&mut self) -> Step {
        self.caller = true;
        self.orphan = None;
        Step::Nothing
    }

    fn orphaned(&mut self, now: Duration) -> Step {
        let grace = show(self.options.limits.orphan_grace);
        self.end(Cause::OwnerLost, Some(format!("no owner came back within {grace}")), now)
    }

    fn too_silent(&mut self, now: Duration) -> Step {
        let detail = self.options.limits.no_output.map(|limit| format!("no output for {}", show(limit)));
        self.end(Cause::NoOutputTimeout, detail, now)
    }

    /// Handles a root that exited by itself. Escapes are judged only here; a declared daemon is spared.
    fn root_exited(&mut self, exit: Exit, left: LeftBehind, now: Duration) -> Step {
        self.leave();
        self.exit = Some(exit);
        let escaped = !left.escapees.is_empty();
        let spared = escaped && self.options.on_escape == OnEscape::Allow;
        let somebody = left.leftovers > 0 || (escaped && !spared);
        self.left = left;
        self.ladder.scope = if spared { StopScope::Session } else { StopScope::All };
        let limits = &self.options.limits;
        if somebody { self.ladder.settle(limits, now) } else { self.ladder.wait(limits, now) }
    }

    /// Ends the run for a cause.
    fn end(&mut self, cause: Cause, detail: Option<String>, now: Duration) -> Step {
        self.blame(cause, detail);
        self.ladder.term(&self.options.limits, now)
    }

    /// Records the cause. The first one stands, because the run can start to exit only once.
    fn blame(&mut self, cause: Cause, detail: Option<String>) {
        self.leave();
        self.cause = Some(cause);
        self.detail = detail;
    }

    /// Takes the survivors. They count only after the stop was given up.
    fn survivors_listed(&mut self, survivors: Vec<ProcessNote>) -> Step {
        if self.ladder.given_up() { self.finish(survivors) } else { Step::Nothing }
    }

    /// Ends a run whose command was never executed. It has no exit of its own; at most its prepared process was
    /// seen to exit.
    fn never_started(&mut self, error: SpawnError) -> Step {
        self.close(match self.cause {
            None => Termination::not_started(&error),
            Some(cause) => Termination::new(cause.into(), None, Some(error.detail)),
        })
    }

    fn finish(&mut self, survivors: Vec<ProcessNote>) -> Step {
        let LeftBehind { leftovers, leftover_processes, escapees } = std::mem::take(&mut self.left);
        let failed = self.options.on_escape == OnEscape::Fail && !escapees.is_empty();
        let reason = match (self.cause, self.exit) {
            (Some(cause), _) => cause.into(),
            (None, _) if failed => Reason::OwnershipEscape,
            (None, Some(Exit::Signal(_))) => Reason::Signal,
            (None, Some(Exit::Code(_)) | None) => Reason::Exit,
        };
        let ended = Termination::new(reason, self.exit, self.detail.take());
        let confirmed = survivors.is_empty();
        self.close(Termination { confirmed, survivors, leftovers, leftover_processes, escapees, ..ended })
    }

    /// Finishes the run. Every run passes through `exiting`, be it for a moment.
    fn close(&mut self, termination: Termination) -> Step {
        if self.state != State::Exiting {
            self.leave();
        }
        self.ladder.descend();
        self.go(State::Exited);
        Step::Finish(Box::new(termination))
    }

    /// Enters `exiting`. From here on, only the ladder has deadlines.
    fn leave(&mut self) {
        self.go(State::Exiting);
        self.overall = None;
        self.silence = None;
        self.orphan = None;
    }

    fn go(&mut self, to: State) {
        self.state = self.state.advance(to).expect("`see` offers each state only the moves it has");
    }
}
