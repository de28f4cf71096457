//! `tenure attach`: attach to a run's terminal, together with other clients. Restores the run's screen first, then follows the
//! output. Keys go to the run, except for the detach keys.

mod key_forwarder;

use super::printer::{self, PrintReport, Printer};
use super::runs::ending_of;
use super::{ask, dial, ended_error, find, screen};
use crate::args::AttachArgs;
use crate::failure::Failure;
use crate::{print, settings};
use key_forwarder::KeyForwarder;
use std::io;
use std::time::Duration;
use tenure_core::record::Ending;
use tenure_core::spec::Size;
use tenure_core::wire::{KeeperMessage, KeeperRequest};
use tenure_keeper::frames::Frames;
use tenure_keeper::rundir::RunDir;
use tenure_os::clock;
use tenure_os::poll::{self, Interest};
use tenure_os::signals::{self, Signals};
use tenure_os::stderr::complain;
use tenure_os::terminal::{self, Raw};

/// Time limit for restoring the terminal when the client leaves.
const RESTORE_LIMIT: Duration = Duration::from_secs(1);
/// Time limit for the ending of a run whose keeper died.
const ENDING_LIMIT: Duration = Duration::from_secs(20);
/// Number of earlier lines shown for a run without a terminal.
const EARLIER_LINES: u64 = 20;

/// A client attached to a run.
struct AttachedClient {
    keeper: Frames,
    signals: Signals,
    /// True if the run's terminal takes the size of this one: not with --no-stdin.
    types: bool,
    keys: KeyForwarder,
    printer: Printer,
    leave_reason: Option<LeaveReason>,
    /// Deadline for leaving, even if output is not printed yet.
    leave_at: Option<Duration>,
}

/// Reason for leaving.
enum LeaveReason {
    /// The client detached; the run goes on.
    Detached,
    /// The run has ended.
    Ended(Box<Ending>),
    /// The keeper closed the connection without an ending.
    KeeperGone,
    /// The run has ended, but its ending could not be recorded.
    Unrecorded(String),
}

pub(crate) fn run(args: &AttachArgs) -> Result<u8, Failure> {
    let state = settings::state_root().map_err(Failure::with_run_code)?;
    let dir = find(&state, &args.id)?;
    let ticket = dir.ticket().map_err(Failure::refused)?;
    let mut keeper = dial(&dir)?.ok_or_else(|| ended_error(&dir))?;
    let signals = take_signals().map_err(Failure::refused)?;
    let printer = show(&dir, ticket.options.pty_size, !args.no_stdin, &mut keeper)?;
    let keys = KeyForwarder::begin(args, ticket.options.pty_size.is_some(), &mut keeper);
    let raw = (ticket.options.pty_size.is_some() && keys.is_at_terminal())
        .then(|| Raw::enter(terminal::stdin()).ok())
        .flatten();
    let types = !args.no_stdin;
    let mut client =
        AttachedClient { keeper, signals, types, keys, printer, leave_reason: None, leave_at: None };
    client.serve(&dir).map_err(Failure::refused)?;
    drop(raw);
    let id = print::short(dir.id().as_str());
    let ending = match client.leave_reason {
        None | Some(LeaveReason::Detached) => {
            complain(format_args!(
                "detached from run {id}, which goes on: `tenure attach {id}` attaches again"
            ));
            return Ok(0);
        }
        Some(LeaveReason::Unrecorded(why)) => return Err(Failure::unknown(why)),
        Some(LeaveReason::Ended(ending)) => *ending,
        Some(LeaveReason::KeeperGone) => {
            complain(format_args!("the keeper of run {id} is gone"));
            let found = ending_of(&state, &dir, Some(clock::awake() + ENDING_LIMIT))
                .map_err(Failure::with_run_code)?;
            found.ok_or_else(|| {
                Failure::unknown(format!(
                    "the ending of run {id} is not recorded yet: `tenure wait {id}` waits for it"
                ))
            })?
        }
    };
    complain(print::ending_line(&ticket, &ending));
    Ok(ending.termination.code())
}

fn take_signals() -> io::Result<Signals> {
    let mut taken: Vec<i32> =
        signals::LEAVE.into_iter().filter(|&signal| !signals::is_ignored(signal)).collect();
    taken.push(signals::WINDOW);
    signals::ignore(&signals::BACKGROUND)?;
    Signals::take(&taken)
}

/// Restores the run's screen, or its last lines, and subscribes to new output. A client that types gives the run's terminal
/// its own size; a read-only client changes nothing for the program or for other clients.
fn show(dir: &RunDir, size: Option<Size>, types: bool, keeper: &mut Frames) -> Result<Printer, Failure> {
    let Some(size) = size else {
        let at = tenure_output::tail_offset(&dir.output(), EARLIER_LINES, None).map_err(Failure::refused)?;
        keeper.send(&KeeperRequest::Follow, &[]);
        return printer::start(&dir.output(), at).map_err(Failure::refused);
    };
    if let Some(own) = own_size().filter(|_| types) {
        // A run that is ending refuses a new size.
        let _ = ask(keeper, &KeeperRequest::Resize(own), &[]);
    }
    let screen = screen::open(dir, size)?;
    keeper.send(&KeeperRequest::Follow, &[]);
    let printer = printer::start(&dir.output(), screen.offset()).map_err(Failure::refused)?;
    if terminal::stdout().is_terminal() {
        printer.restore(screen.restore());
    }
    Ok(printer)
}

/// Size of the local terminal.
fn own_size() -> Option<Size> {
    terminal::stdout().size().or_else(|| terminal::stdin().size())
}

impl AttachedClient {
    /// Runs until the client leaves and everything is printed, or printing fails or takes too long.
    fn serve(&mut self, dir: &RunDir) -> io::Result<()> {
        loop {
            let key_interest = self.keys.interest();
            let mut interests = vec![Interest::reading(&self.signals)];
            interests.extend(self.printer.interest());
            let keeper_at = (!self.keeper.ended()).then_some(interests.len());
            interests.extend(keeper_at.map(|_| self.keeper.interest()));
            let keys_at = key_interest.as_ref().map(|_| interests.len());
            interests.extend(key_interest);
            let timeout = self.leave_at.map(|at| at.saturating_sub(clock::awake()));
            let ready = poll::wait(&interests, timeout)?;
            let keeper_ready = keeper_at.is_some_and(|at| ready[at].read || ready[at].write);
            let keys_ready = keys_at.is_some_and(|at| ready[at].read);
            if ready[0].read {
                self.take_signals();
            }
            if keeper_ready {
                self.keeper.flush();
                self.keeper.fill();
                self.read_messages()?;
            }
            if keys_ready && self.keys.read(&mut self.keeper) {
                self.detach();
            }
            if self.keeper.ended() && self.leave_reason.is_none() {
                let end = tenure_output::totals(&dir.output()).map_or(0, |totals| totals.bytes);
                self.leave(LeaveReason::KeeperGone, end);
            }
            if self.is_printed() {
                return Ok(());
            }
        }
    }

    fn read_messages(&mut self) -> io::Result<()> {
        while let Some((message, _)) = self.keeper.next_frame::<KeeperMessage>().map_err(io::Error::other)? {
            match message {
                KeeperMessage::Grown { to } => self.printer.print_to(to),
                KeeperMessage::Typed { to } => self.keys.typed(to),
                KeeperMessage::KeysTaken { to } => self.keys.taken(to),
                KeeperMessage::StdinClosed | KeeperMessage::StdinRefused { .. } => self.keys.close(),
                KeeperMessage::Ended { ending } => {
                    let end = ending.output.bytes;
                    self.leave(LeaveReason::Ended(ending), end);
                }
                KeeperMessage::Unrecorded { why, .. } => self.leave(LeaveReason::Unrecorded(why), 0),
                // A size that came too late for the run, or messages for other clients.
                KeeperMessage::Refused { .. }
                | KeeperMessage::Done
                | KeeperMessage::Welcome { .. }
                | KeeperMessage::Started { .. }
                | KeeperMessage::NotStarted { .. }
                | KeeperMessage::Leaving { .. }
                | KeeperMessage::StdinTaken { .. }
                | KeeperMessage::Unkept { .. }
                | KeeperMessage::Status { .. }
                | KeeperMessage::Tree { .. }
                | KeeperMessage::Blocked { .. }
                | KeeperMessage::Noted
                | KeeperMessage::StillYours { .. } => {}
            }
        }
        Ok(())
    }

    fn take_signals(&mut self) {
        while let Some(signal) = self.signals.next() {
            if signal != signals::WINDOW {
                self.detach();
            } else if let Some(size) = own_size().filter(|_| self.types) {
                self.keeper.send(&KeeperRequest::Resize(size), &[]);
            }
        }
    }

    /// Detaches without waiting for more output.
    fn detach(&mut self) {
        self.printer.stop_output();
        self.leave_at.get_or_insert(clock::awake() + RESTORE_LIMIT);
        self.leave(LeaveReason::Detached, 0);
    }

    /// Leaves for the first reason given; later reasons are ignored. Prints the output up to `end` and restores the terminal.
    fn leave(&mut self, leave_reason: LeaveReason, end: u64) {
        if self.leave_reason.is_none() {
            self.leave_reason = Some(leave_reason);
            self.keys.close();
            self.printer.print_to(end);
            self.printer.reset_terminal();
            self.printer.finish(end);
        }
    }

    /// Returns true if everything is printed, nobody reads the output, or the deadline has passed.
    fn is_printed(&mut self) -> bool {
        while let Some(printed) = self.printer.next() {
            match printed {
                PrintReport::UpTo(_) => {}
                PrintReport::All => return true,
                PrintReport::ReaderGone => {
                    self.leave(LeaveReason::Detached, 0);
                    return true;
                }
            }
        }
        self.leave_at.is_some_and(|at| clock::awake() >= at)
    }
}
