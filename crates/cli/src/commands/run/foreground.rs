//! The foreground caller: its output is the command's, its death is the run's end. One thread waits for
//! everything; another prints, because a terminal or pipe that nobody reads may hold it up for ever.

use super::super::printer::{self, Printed, Printer};
use super::typing::{Input, Typing};
use super::{handover, print_record};
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::print;
use std::collections::HashSet;
use std::io;
use std::time::Duration;
use tenure_client::Client;
use tenure_core::api::RunRequest;
use tenure_core::ending::Reason;
use tenure_core::record::Ending;
use tenure_core::signal::Signal;
use tenure_core::spec::Spec;
use tenure_core::wire::{KeeperMessage, KeeperRequest, Role};
use tenure_keeper::launch::{Launched, Nursery};
use tenure_keeper::nursery;
use tenure_keeper::orphaned;
use tenure_keeper::orphaned::by_daemon::{Closing, NotClosed, OrphanedRun};
use tenure_keeper::orphaned::by_parent::{self, FallenRun};
use tenure_keeper::rundir::RunDir;
use tenure_keeper::state_root::StateRoot;
use tenure_os::complaint::complain;
use tenure_os::lock::{self, Holder};
use tenure_os::poll::{self, Interest};
use tenure_os::signals::{self, Signals};
use tenure_os::terminal::{self, Raw};
use tenure_os::{clock, reaper};
use tenure_settings::Settings;

/// How often a fallen keeper's run is looked at until somebody has closed it.
const CLOSE_POLL: Duration = Duration::from_millis(5);
/// How long the last output may take to be printed once somebody wants us to go.
const PRINT_LIMIT: Duration = Duration::from_secs(1);
/// How long the nursery may take to leave; it has nothing left to do.
const NURSERY_EXIT_LIMIT: Duration = Duration::from_secs(5);

struct Foreground<'a> {
    args: &'a RunArgs,
    state: &'a StateRoot,
    /// The nursery that we started ourselves.
    nursery: Option<Nursery>,
    nursery_pid: Option<i32>,
    launched: Launched,
    signals: Signals,
    typing: Typing,
    printer: Printer,
    raw: Option<Raw>,
    ending: Option<Ending>,
    /// Whether this process is the parent of last resort of nothing but this run.
    last_resort: bool,
    /// How often somebody asked us to leave.
    asked: u32,
    /// Whether the command executes, or is known not to.
    begun: bool,
    /// When a run that we were asked to leave is left, printed or not.
    leave_at: Option<Duration>,
    /// The run without keeper and nursery, while we close it as the parent of last resort,
    fallen: Option<Vec<FallenRun>>,
    /// or as anybody else.
    closing: Option<Closing>,
}

pub(super) fn run(args: &RunArgs, state: &StateRoot, mut spec: Spec) -> Result<u8, Failure> {
    // Orphans come to us only if there can be none but this run's: a shell may have left us its children.
    let last_resort = reaper::childless() && reaper::become_subreaper().is_ok();
    let signals = take_signals(args).map_err(Failure::ours)?;
    let nursery = Nursery::start(state).map_err(Failure::ours)?;
    let input = Input::of(args);
    if input == Input::Passed {
        spec.pass_stdin();
    }
    let mut launched = nursery.run(state, &spec, Role::Caller).map_err(Failure::ours)?;
    // A keeper that did not get it ends the run. If it is gone, and its nursery too, nobody but us writes the ending.
    let _ = input.pass(&mut launched.keeper);
    attend(args, state, (launched, input), signals, Some((nursery, last_resort)))
}

/// The same through the daemon, which has a nursery.
pub(super) fn by_daemon(
    args: &RunArgs,
    settings: &Settings,
    client: &Client,
    request: &RunRequest,
) -> Result<u8, Failure> {
    let state = crate::settings::open(settings)?;
    let signals = take_signals(args).map_err(Failure::ours)?;
    let launched = handover::launch(client, &state, args, request, &signals)?;
    attend(args, &state, launched, signals, None)
}

/// Sees a run through to its end. `own` is the nursery that we started ourselves, and whether we are the parent of last
/// resort of nothing but this run.
fn attend(
    args: &RunArgs,
    state: &StateRoot,
    (launched, input): (Launched, Input),
    signals: Signals,
    own: Option<(Nursery, bool)>,
) -> Result<u8, Failure> {
    let (nursery, last_resort) = own.map_or((None, false), |(nursery, last)| (Some(nursery), last));
    let printer = printer::start(&launched.dir.output(), 0).map_err(Failure::ours)?;
    let mut foreground = Foreground {
        nursery_pid: nursery.as_ref().map(Nursery::pid),
        nursery,
        typing: Typing::new(input),
        args,
        state,
        launched,
        signals,
        printer,
        raw: None,
        ending: None,
        last_resort,
        asked: 0,
        begun: false,
        leave_at: None,
        fallen: None,
        closing: None,
    };
    let refused = foreground.watch().map_err(Failure::ours)?;
    if refused.is_some() {
        foreground.put_terminal_back().map_err(Failure::ours)?;
    }
    foreground.raw = None;
    foreground.bid_farewell().map_err(Failure::ours)?;
    if let Some(why) = refused {
        return Err(Failure::ours(why));
    }
    foreground.report()
}

fn take_signals(args: &RunArgs) -> io::Result<Signals> {
    // One who started us with a signal ignored, as nohup does, wants it ignored.
    let mut taken: Vec<i32> =
        signals::LEAVE.into_iter().filter(|&signal| !signals::is_ignored(signal)).collect();
    taken.extend([signals::CHILD, signals::WINDOW]);
    if !args.pty {
        taken.extend([signals::TYPED_STOP, signals::CONTINUED]);
    }
    signals::ignore(&signals::BACKGROUND)?;
    signals::hear_of_children();
    Signals::take(&taken)
}

impl Foreground<'_> {
    /// Until the run has ended and its output is printed, or printing is of no more use. Returns why there is
    /// no run, if there is none.
    fn watch(&mut self) -> io::Result<Option<String>> {
        // What came together with the daemon's answer: it may be all that comes for long.
        if let Some(why) = self.hear()? {
            return Ok(Some(why));
        }
        loop {
            let typing = self.typing.interest();
            let mut interests = vec![Interest::reading(&self.signals)];
            interests.extend(self.printer.interest());
            let keeper_at = (!self.launched.keeper.ended()).then_some(interests.len());
            interests.extend(keeper_at.map(|_| self.launched.keeper.interest()));
            let typing_at = typing.as_ref().map(|_| interests.len());
            interests.extend(typing);
            let ready = poll::wait(&interests, self.timeout())?;
            let keeper_ready = keeper_at.is_some_and(|at| ready[at].read || ready[at].write);
            let typing_ready = typing_at.is_some_and(|at| ready[at].read);
            if ready[0].read {
                self.take_signals();
            }
            if keeper_ready {
                self.launched.keeper.flush();
                self.launched.keeper.fill();
                if let Some(why) = self.hear()? {
                    return Ok(Some(why));
                }
            }
            if typing_ready {
                self.typing.read(&mut self.launched.keeper);
            }
            if self.launched.keeper.ended() && self.ending.is_none() && !self.look_for_ending()? {
                return Ok(Some("how the run ended could not be recorded".to_owned()));
            }
            if self.printed() {
                return Ok(None);
            }
        }
    }

    fn timeout(&self) -> Option<Duration> {
        let fallen = self.launched.keeper.ended() && self.ending.is_none();
        let leave = self.leave_at.map(|at| at.saturating_sub(clock::awake()));
        fallen.then_some(CLOSE_POLL).or(leave)
    }

    /// What the keeper says; returns why there is no run, if there is none.
    fn hear(&mut self) -> io::Result<Option<String>> {
        while let Some((tell, body)) =
            self.launched.keeper.next_frame::<KeeperMessage>().map_err(io::Error::other)?
        {
            match tell {
                KeeperMessage::Started { .. } => self.started(),
                KeeperMessage::Grown { to } => self.printer.print_to(to),
                KeeperMessage::Unkept { offset, stream } => self.printer.print_bytes(offset, stream, body),
                KeeperMessage::StdinTaken { to } => self.typing.taken(to),
                KeeperMessage::StdinClosed | KeeperMessage::StdinRefused { .. } => self.typing.close(),
                KeeperMessage::Ended { ending } => self.end(*ending),
                KeeperMessage::NotStarted { .. } => self.begun = true,
                KeeperMessage::Unrecorded { why, .. } => return Ok(Some(why)),
                KeeperMessage::Refused { why } if !self.begun => return Ok(Some(why)),
                // A signal or a size that came too late for the run.
                KeeperMessage::Refused { .. }
                | KeeperMessage::Done
                | KeeperMessage::Welcome { .. }
                | KeeperMessage::Status { .. }
                | KeeperMessage::Typed { .. }
                | KeeperMessage::KeysTaken { .. }
                | KeeperMessage::Tree { .. }
                | KeeperMessage::Blocked { .. }
                | KeeperMessage::StillYours { .. }
                | KeeperMessage::Noted
                | KeeperMessage::Leaving { .. } => {}
            }
        }
        Ok(None)
    }

    /// The command executes: from now on keys are its own.
    fn started(&mut self) {
        self.begun = true;
        self.typing.begin(&mut self.launched.keeper);
        // From the background the terminal is somebody else's to set.
        if self.args.pty && self.typing.is_open() && terminal::stdin().in_foreground() {
            self.raw = Raw::enter(terminal::stdin()).ok();
        }
    }

    fn end(&mut self, ending: Ending) {
        self.typing.close();
        self.printer.print_to(ending.output.bytes);
        // A program that ended well may have meant what it left, as `tput civis` does.
        if ending.termination.code() != 0 {
            self.printer.leave();
        }
        self.printer.finish(ending.output.bytes);
        self.ending = Some(ending);
        if self.asked > 0 {
            self.leave_at = Some(clock::awake() + PRINT_LIMIT);
        }
    }

    fn take_signals(&mut self) {
        while let Some(signal) = self.signals.next() {
            match signal {
                signals::CHILD => self.reap(),
                signals::WINDOW => {
                    if let Some(size) = self.raw.as_ref().and_then(|_| terminal::stdin().size()) {
                        self.ask(&KeeperRequest::Resize(size));
                    }
                }
                signals::TYPED_STOP => {
                    self.ask(&KeeperRequest::Signal { signal: Signal::STOP });
                    signals::stop_self();
                }
                signals::CONTINUED => self.ask(&KeeperRequest::Signal { signal: Signal::CONT }),
                _ => self.leave(self.asked > 0),
            }
        }
    }

    /// Somebody wants us to go. From here on the run is not held up for a reader, who may never come.
    fn leave(&mut self, now: bool) {
        self.asked += 1;
        self.ask(&KeeperRequest::Cancel { now });
        self.ask(&KeeperRequest::Taken { to: u64::MAX });
        if self.ending.is_some() {
            self.leave_at = Some(clock::awake());
        } else if self.launched.keeper.ended() {
            // Nobody is left to be asked. Whoever is to write the ending has a moment for it.
            self.leave_at.get_or_insert(clock::awake() + NURSERY_EXIT_LIMIT);
        }
    }

    fn ask(&mut self, ask: &KeeperRequest) {
        self.launched.keeper.send(ask, &[]);
    }

    /// Takes ended children off the list; as the first process of a container we have others' too.
    fn reap(&mut self) {
        for ended in reaper::reap_now() {
            if Some(ended.pid) == self.nursery_pid {
                self.nursery = None;
            }
            self.fallen.iter_mut().flatten().for_each(|fallen| fallen.reaped(ended));
        }
    }

    /// The keeper is gone without a word. If the nursery lives it ends the run; if not, that is left to us.
    /// Returns whether there is still an ending to come.
    fn look_for_ending(&mut self) -> io::Result<bool> {
        let dir = &self.launched.dir;
        if let Some(ending) = dir.ending().map_err(io::Error::other)? {
            orphaned::clean_up(dir.path());
            self.end(ending);
            return Ok(true);
        }
        // Whoever comes now finds the lock taken; to ask for it would drop it.
        if self.closing.is_none() && (self.somebody_closes_it()? || dir.kept()?) {
            return Ok(true);
        }
        if !self.last_resort {
            return self.close();
        }
        let fallen = self.fallen.get_or_insert_with(|| FallenRun::read(dir.path()));
        if fallen.is_empty() {
            // It was closed, and the disk would not take that.
            return Ok(dir.ending().map_err(io::Error::other)?.is_some());
        }
        by_parent::stop_round(&HashSet::new(), fallen);
        self.reap();
        Ok(true)
    }

    /// One step of closing a run whose processes do not come back to us. Returns whether there is still an ending to
    /// come.
    fn close(&mut self) -> io::Result<bool> {
        let done = if let Some(closing) = &mut self.closing {
            closing.go_on().map(drop)
        } else {
            let dir = RunDir::open(self.launched.dir.path())?;
            let run = OrphanedRun::read(dir, &self.launched.ticket).map_err(io::Error::other)?;
            let how = run.keeper_killed();
            run.begin(how).map(|closing| self.closing = Some(closing))
        };
        // What cannot be read now, or has a keeper after all, is looked at again.
        Ok(!matches!(done, Err(NotClosed::Unwritten(_))))
    }

    /// Whether there is somebody to write the ending of a run whose keeper fell: its nursery, or a daemon.
    fn somebody_closes_it(&self) -> io::Result<bool> {
        if lock::holder(self.state.dir(), "daemon.lock")? == Holder::Somebody {
            return Ok(true);
        }
        let id = match &self.nursery {
            Some(nursery) => Some(nursery.id().clone()),
            // One that was ours has left; the daemon's is named in the keeper's note.
            None if self.nursery_pid.is_some() => None,
            None => self.launched.dir.note().map_err(io::Error::other)?.map(|note| note.nursery_id),
        };
        id.map_or(Ok(false), |id| nursery::lives(self.state.path(), &id))
    }

    /// Whether there is nothing more to print, or nobody to print for.
    fn printed(&mut self) -> bool {
        while let Some(printed) = self.printer.next() {
            match printed {
                Printed::UpTo(to) => self.launched.keeper.send(&KeeperRequest::Taken { to }, &[]),
                Printed::All => return self.ending.is_some(),
                Printed::NobodyReads if self.ending.is_some() => return true,
                Printed::NobodyReads => self.leave(false),
            }
        }
        self.leave_at.is_some_and(|at| clock::awake() >= at)
    }

    /// Undoes what the output of a run without an ending did to the terminal.
    fn put_terminal_back(&mut self) -> io::Result<()> {
        let deadline = clock::awake() + PRINT_LIMIT;
        self.printer.enough();
        self.printer.leave();
        self.printer.finish(0);
        loop {
            while let Some(printed) = self.printer.next() {
                if !matches!(printed, Printed::UpTo(_)) {
                    return Ok(());
                }
            }
            let left = deadline.saturating_sub(clock::awake());
            let Some(interest) = self.printer.interest().filter(|_| !left.is_zero()) else { return Ok(()) };
            poll::wait(&[interest], Some(left))?;
        }
    }

    /// Leaves nothing of ours behind: the nursery goes once nobody can ask it for anything.
    fn bid_farewell(&mut self) -> io::Result<()> {
        let deadline = clock::awake() + NURSERY_EXIT_LIMIT;
        self.launched.keeper.end();
        let Some(pid) = self.nursery_pid else { return Ok(()) };
        // Its connection ends here, so that it leaves.
        let has_more = |ending: &Ending| !ending.handed_over_to.is_empty() || !ending.termination.confirmed;
        let stays = self.ending.as_ref().is_some_and(has_more);
        if self.nursery.take().is_none() || stays {
            return Ok(());
        }
        loop {
            if reaper::reap_now().iter().any(|ended| ended.pid == pid) {
                return Ok(());
            }
            let left = deadline.saturating_sub(clock::awake());
            if left.is_zero() || reaper::childless() {
                return Ok(());
            }
            poll::wait(&[Interest::reading(&self.signals)], Some(left))?;
            while self.signals.next().is_some() {}
        }
    }

    fn report(&mut self) -> Result<u8, Failure> {
        let Some(ending) = &self.ending else {
            return Err(Failure::ours(
                "the run has no ending: its keeper is gone and its nursery has not written one",
            ));
        };
        // Quiet or not, a command that did not start has nobody else to say why.
        if !self.args.quiet || ending.termination.reason == Reason::SpawnError {
            complain(print::closing(&self.launched.ticket, ending));
        }
        if self.args.json {
            if !self.printer.ended_line() {
                print::line("")?;
            }
            print_record(&self.launched)?;
        }
        if self.printer.failed() {
            return Err(Failure::ours("some of the output could not be printed"));
        }
        Ok(ending.termination.code())
    }
}
