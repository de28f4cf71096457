//! `tenure run` in the foreground: prints the command's output, and ends the run if this process dies. One thread waits for
//! events; another one prints, because a terminal or pipe that nobody reads can block it forever.

use super::super::printer::{self, PrintReport, Printer};
use super::stdin_copy::{StdinCopy, StdinMode};
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
use tenure_keeper::launch::{LaunchedRun, NurseryHandle};
use tenure_keeper::nursery;
use tenure_keeper::orphaned;
use tenure_keeper::orphaned::by_daemon::{CloseError, OrphanCloser, OrphanedRun};
use tenure_keeper::orphaned::by_parent::{self, FallenRun};
use tenure_keeper::rundir::RunDir;
use tenure_keeper::state_root::StateRoot;
use tenure_os::lock::{self, Holder};
use tenure_os::poll::{self, Interest};
use tenure_os::signals::{self, Signals};
use tenure_os::stderr::complain;
use tenure_os::terminal::{self, Raw};
use tenure_os::{clock, reaper};
use tenure_settings::Settings;

/// Interval for polling a run whose keeper died, until its ending is written.
const CLOSE_POLL: Duration = Duration::from_millis(5);
/// Time limit for printing the last output after a termination signal.
const PRINT_LIMIT: Duration = Duration::from_secs(1);
/// Time limit for the nursery to exit: it has nothing left to do.
const NURSERY_EXIT_LIMIT: Duration = Duration::from_secs(5);

struct ForegroundRun<'a> {
    args: &'a RunArgs,
    state: &'a StateRoot,
    /// The nursery that this process started.
    nursery: Option<NurseryHandle>,
    nursery_pid: Option<i32>,
    launched: LaunchedRun,
    signals: Signals,
    stdin: StdinCopy,
    printer: Printer,
    raw: Option<Raw>,
    ending: Option<Ending>,
    /// True if orphans of this run, and of nothing else, are reparented to this process.
    is_subreaper: bool,
    /// Number of termination signals.
    terminations: u32,
    /// True once the command was executed, or could not be.
    has_started: bool,
    /// Deadline for leaving after a termination signal, even if output is not printed yet.
    leave_at: Option<Duration>,
    /// The run without keeper and nursery, while this process closes it as the parent of its orphans.
    fallen: Option<Vec<FallenRun>>,
    /// The same, while this process closes it without being their parent.
    closing: Option<OrphanCloser>,
}

pub(super) fn run(args: &RunArgs, state: &StateRoot, mut spec: Spec) -> Result<u8, Failure> {
    // Become a subreaper only if all orphans will be this run's: a shell may have left us its children.
    let is_subreaper = reaper::childless() && reaper::become_subreaper().is_ok();
    let signals = take_signals(args).map_err(Failure::tenure_failed)?;
    let nursery = NurseryHandle::start(state).map_err(Failure::tenure_failed)?;
    let input = StdinMode::of(args);
    if input == StdinMode::Passed {
        spec.pass_stdin();
    }
    let mut launched = nursery.run(state, &spec, Role::Caller).map_err(Failure::tenure_failed)?;
    // A keeper that gets no descriptor ends the run. If keeper and nursery are gone, this process writes the ending.
    let _ = input.pass(&mut launched.keeper);
    supervise(args, state, (launched, input), signals, Some((nursery, is_subreaper)))
}

/// Runs the command through the daemon, by the daemon's nursery.
pub(super) fn by_daemon(
    args: &RunArgs,
    settings: &Settings,
    client: &Client,
    request: &RunRequest,
) -> Result<u8, Failure> {
    let state = crate::settings::open(settings)?;
    let signals = take_signals(args).map_err(Failure::tenure_failed)?;
    let launched = handover::launch(client, &state, args, request, &signals)?;
    supervise(args, &state, launched, signals, None)
}

/// Runs the event loop until the run has ended, and reports the ending. `own` is the nursery that this process started, and
/// true if the run's orphans are reparented to this process.
fn supervise(
    args: &RunArgs,
    state: &StateRoot,
    (launched, input): (LaunchedRun, StdinMode),
    signals: Signals,
    own: Option<(NurseryHandle, bool)>,
) -> Result<u8, Failure> {
    let (nursery, is_subreaper) = own.map_or((None, false), |(nursery, last)| (Some(nursery), last));
    let printer = printer::start(&launched.dir.output(), 0).map_err(Failure::tenure_failed)?;
    let mut foreground = ForegroundRun {
        nursery_pid: nursery.as_ref().map(NurseryHandle::pid),
        nursery,
        stdin: StdinCopy::new(input),
        args,
        state,
        launched,
        signals,
        printer,
        raw: None,
        ending: None,
        is_subreaper,
        terminations: 0,
        has_started: false,
        leave_at: None,
        fallen: None,
        closing: None,
    };
    let refused = foreground.watch().map_err(Failure::tenure_failed)?;
    if refused.is_some() {
        foreground.reset_terminal().map_err(Failure::tenure_failed)?;
    }
    foreground.raw = None;
    foreground.wait_for_nursery().map_err(Failure::tenure_failed)?;
    if let Some(why) = refused {
        return Err(Failure::tenure_failed(why));
    }
    foreground.report()
}

fn take_signals(args: &RunArgs) -> io::Result<Signals> {
    // A signal that was ignored at our start, as by nohup, stays ignored.
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

impl ForegroundRun<'_> {
    /// Waits until the run has ended and its output is printed, or nobody reads the output. Returns the error if there is no
    /// run.
    fn watch(&mut self) -> io::Result<Option<String>> {
        // Messages that came together with the daemon's response: no other may come for a long time.
        if let Some(why) = self.read_messages()? {
            return Ok(Some(why));
        }
        loop {
            let stdin = self.stdin.interest();
            let mut interests = vec![Interest::reading(&self.signals)];
            interests.extend(self.printer.interest());
            let keeper_at = (!self.launched.keeper.ended()).then_some(interests.len());
            interests.extend(keeper_at.map(|_| self.launched.keeper.interest()));
            let stdin_at = stdin.as_ref().map(|_| interests.len());
            interests.extend(stdin);
            let ready = poll::wait(&interests, self.timeout())?;
            let keeper_ready = keeper_at.is_some_and(|at| ready[at].read || ready[at].write);
            let stdin_ready = stdin_at.is_some_and(|at| ready[at].read);
            if ready[0].read {
                self.take_signals();
            }
            if keeper_ready {
                self.launched.keeper.flush();
                self.launched.keeper.fill();
                if let Some(why) = self.read_messages()? {
                    return Ok(Some(why));
                }
            }
            if stdin_ready {
                self.stdin.read(&mut self.launched.keeper);
            }
            if self.launched.keeper.ended() && self.ending.is_none() && !self.look_for_ending()? {
                return Ok(Some("the run's ending could not be recorded".to_owned()));
            }
            if self.is_printed() {
                return Ok(None);
            }
        }
    }

    fn timeout(&self) -> Option<Duration> {
        let fallen = self.launched.keeper.ended() && self.ending.is_none();
        let leave = self.leave_at.map(|at| at.saturating_sub(clock::awake()));
        fallen.then_some(CLOSE_POLL).or(leave)
    }

    /// Handles the keeper's messages. Returns the error if there is no run.
    fn read_messages(&mut self) -> io::Result<Option<String>> {
        while let Some((message, body)) =
            self.launched.keeper.next_frame::<KeeperMessage>().map_err(io::Error::other)?
        {
            match message {
                KeeperMessage::Started { .. } => self.started(),
                KeeperMessage::Grown { to } => self.printer.print_to(to),
                KeeperMessage::Unkept { offset, stream } => self.printer.print_bytes(offset, stream, body),
                KeeperMessage::StdinTaken { to } => self.stdin.taken(to),
                KeeperMessage::StdinClosed | KeeperMessage::StdinRefused { .. } => self.stdin.close(),
                KeeperMessage::Ended { ending } => self.end(*ending),
                KeeperMessage::NotStarted { .. } => self.has_started = true,
                KeeperMessage::Unrecorded { why, .. } => return Ok(Some(why)),
                KeeperMessage::Refused { why } if !self.has_started => return Ok(Some(why)),
                // A signal or size came too late for the run.
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

    /// Starts to forward standard input, because the command executes.
    fn started(&mut self) {
        self.has_started = true;
        self.stdin.begin(&mut self.launched.keeper);
        // A background process must not change the terminal's mode.
        if self.args.pty && self.stdin.is_open() && terminal::stdin().in_foreground() {
            self.raw = Raw::enter(terminal::stdin()).ok();
        }
    }

    fn end(&mut self, ending: Ending) {
        self.stdin.close();
        self.printer.print_to(ending.output.bytes);
        // After success the terminal's modes stay: the program may have set them on purpose, as `tput civis` does.
        if ending.termination.code() != 0 {
            self.printer.reset_terminal();
        }
        self.printer.finish(ending.output.bytes);
        self.ending = Some(ending);
        if self.terminations > 0 {
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
                _ => self.leave(self.terminations > 0),
            }
        }
    }

    /// Cancels the run after a termination signal. From here on, unread output does not block the run.
    fn leave(&mut self, now: bool) {
        self.terminations += 1;
        self.ask(&KeeperRequest::Cancel { now });
        self.ask(&KeeperRequest::Taken { to: u64::MAX });
        if self.ending.is_some() {
            self.leave_at = Some(clock::awake());
        } else if self.launched.keeper.ended() {
            // There is no keeper to ask. Give the nursery or the daemon a moment to write the ending.
            self.leave_at.get_or_insert(clock::awake() + NURSERY_EXIT_LIMIT);
        }
    }

    fn ask(&mut self, ask: &KeeperRequest) {
        self.launched.keeper.send(ask, &[]);
    }

    /// Reaps ended children. As the first process of a container, this process gets those of others, too.
    fn reap(&mut self) {
        for ended in reaper::reap_now() {
            if Some(ended.pid) == self.nursery_pid {
                self.nursery = None;
            }
            self.fallen.iter_mut().flatten().for_each(|fallen| fallen.reaped(ended));
        }
    }

    /// Handles a keeper that is gone without an ending. If its nursery lives, that ends the run; otherwise this process does.
    /// Returns false if the ending cannot be written.
    fn look_for_ending(&mut self) -> io::Result<bool> {
        let dir = &self.launched.dir;
        if let Some(ending) = dir.ending().map_err(io::Error::other)? {
            orphaned::clean_up(dir.path());
            self.end(ending);
            return Ok(true);
        }
        // While this process closes the run it holds the lock: a check would release it.
        if self.closing.is_none() && (self.has_closer()? || dir.has_keeper()?) {
            return Ok(true);
        }
        if !self.is_subreaper {
            return self.close();
        }
        let fallen = self.fallen.get_or_insert_with(|| FallenRun::read(dir.path()));
        if fallen.is_empty() {
            // The run was closed, but its ending could not be written.
            return Ok(dir.ending().map_err(io::Error::other)?.is_some());
        }
        by_parent::stop_round(&HashSet::new(), fallen);
        self.reap();
        Ok(true)
    }

    /// Closes, step by step, a run whose orphans are not reparented to this process. Returns false if the ending cannot be
    /// written.
    fn close(&mut self) -> io::Result<bool> {
        let done = if let Some(closing) = &mut self.closing {
            closing.run_round().map(drop)
        } else {
            let dir = RunDir::open(self.launched.dir.path())?;
            let run = OrphanedRun::read(dir, &self.launched.ticket).map_err(io::Error::other)?;
            let how = run.keeper_killed();
            run.begin(how).map(|closing| self.closing = Some(closing))
        };
        // Retry if the run cannot be read now, or has a keeper after all.
        Ok(!matches!(done, Err(CloseError::Unwritten(_))))
    }

    /// Returns true if a nursery or a daemon will write the ending of a run whose keeper died.
    fn has_closer(&self) -> io::Result<bool> {
        if lock::holder(self.state.dir(), "daemon.lock")? == Holder::Somebody {
            return Ok(true);
        }
        let id = match &self.nursery {
            Some(nursery) => Some(nursery.id().clone()),
            // Our own nursery has exited. The keeper's note names a nursery of the daemon.
            None if self.nursery_pid.is_some() => None,
            None => self.launched.dir.note().map_err(io::Error::other)?.map(|note| note.nursery_id),
        };
        id.map_or(Ok(false), |id| nursery::lives(self.state.path(), &id))
    }

    /// Returns true if everything is printed, nobody reads the output, or the deadline has passed.
    fn is_printed(&mut self) -> bool {
        while let Some(printed) = self.printer.next() {
            match printed {
                PrintReport::UpTo(to) => self.launched.keeper.send(&KeeperRequest::Taken { to }, &[]),
                PrintReport::All => return self.ending.is_some(),
                PrintReport::ReaderGone if self.ending.is_some() => return true,
                PrintReport::ReaderGone => self.leave(false),
            }
        }
        self.leave_at.is_some_and(|at| clock::awake() >= at)
    }

    /// Resets the terminal modes that the output of a run without an ending changed.
    fn reset_terminal(&mut self) -> io::Result<()> {
        let deadline = clock::awake() + PRINT_LIMIT;
        self.printer.stop_output();
        self.printer.reset_terminal();
        self.printer.finish(0);
        loop {
            while let Some(printed) = self.printer.next() {
                if !matches!(printed, PrintReport::UpTo(_)) {
                    return Ok(());
                }
            }
            let left = deadline.saturating_sub(clock::awake());
            let Some(interest) = self.printer.interest().filter(|_| !left.is_zero()) else { return Ok(()) };
            poll::wait(&[interest], Some(left))?;
        }
    }

    /// Closes the nursery's connection, and waits until the nursery has exited. If the run has living processes, the nursery
    /// stays for them.
    fn wait_for_nursery(&mut self) -> io::Result<()> {
        let deadline = clock::awake() + NURSERY_EXIT_LIMIT;
        self.launched.keeper.end();
        let Some(pid) = self.nursery_pid else { return Ok(()) };
        // The nursery exits when its connection is closed, by the drop below.
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
            return Err(Failure::tenure_failed(
                "the run's ending is unknown: its keeper is gone, and its nursery wrote no ending",
            ));
        };
        // --quiet does not hide the error of a command that could not be started.
        if !self.args.quiet || ending.termination.reason == Reason::SpawnError {
            complain(print::ending_line(&self.launched.ticket, ending));
        }
        if self.args.json {
            if !self.printer.ended_line() {
                print::line("")?;
            }
            print_record(&self.launched)?;
        }
        if self.printer.failed() {
            return Err(Failure::tenure_failed("some of the output could not be printed"));
        }
        Ok(ending.termination.code())
    }
}
