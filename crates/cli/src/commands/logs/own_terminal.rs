//! The terminal that `logs` prints raw output to. Termination signals are caught, so that the terminal is restored before
//! they act. A terminal that accepts no more output delays them only for a moment.

use crate::args::LogsArgs;
use std::io;
use std::time::Duration;
use tenure_os::poll::{self, Interest};
use tenure_os::signals::{self, Signals};
use tenure_os::socket::{Conn, Got};
use tenure_os::terminal;
use tenure_output::screen::ModeTracker;

/// Time limit for restoring the terminal after a termination signal.
const RESTORE_LIMIT: Duration = Duration::from_secs(1);

pub(super) struct OwnTerminal {
    tracker: ModeTracker,
    /// Connection that delivers the number of a caught signal.
    signal: Conn,
    stopped: Option<u8>,
}

impl OwnTerminal {
    /// Catches the signals; returns `None` if standard output is no terminal or gets no raw output.
    pub(super) fn take(args: &LogsArgs) -> io::Result<Option<Self>> {
        if !terminal::stdout().is_terminal() || args.text || args.json {
            return Ok(None);
        }
        let taken: Vec<i32> =
            signals::LEAVE.into_iter().filter(|&signal| !signals::is_ignored(signal)).collect();
        let signals = Signals::take(&taken)?;
        let (signal, theirs) = Conn::pair()?;
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || watch(&signals, &theirs))?;
        Ok(Some(Self { tracker: ModeTracker::default(), signal, stopped: None }))
    }

    /// Tracks the terminal modes that these printed bytes change.
    pub(super) fn track(&mut self, bytes: &[u8]) {
        self.tracker.feed(bytes);
    }

    /// Event of a caught signal.
    pub(super) fn interest(&self) -> Interest<'_> {
        Interest::reading(&self.signal)
    }

    /// Returns true if a termination signal was caught.
    pub(super) fn is_stopped(&mut self) -> bool {
        let mut number = [0];
        if self.stopped.is_none() && matches!(self.signal.read(&mut number), Ok(Got::Bytes(_))) {
            self.stopped = Some(number[0]);
        }
        self.stopped.is_some()
    }

    /// Restores the terminal; returns the caught signal.
    pub(super) fn restore(mut self) -> Option<u8> {
        // A closed terminal needs no restoring.
        let _ = terminal::stdout().write_all(self.tracker.undo().as_bytes());
        self.is_stopped();
        self.stopped
    }
}

/// Delivers the first signal to the main thread. If the process has not exited by the time limit, a write to the terminal is
/// stuck, and the signal ends the process from here.
fn watch(signals: &Signals, to: &Conn) {
    let number = loop {
        if poll::wait(&[Interest::reading(signals)], None).is_err() {
            return;
        }
        if let Some(number) = signals.next() {
            break number;
        }
    };
    // If the main thread does not listen, the process is exiting.
    let _ = to.write(&[u8::try_from(number).unwrap_or(0)]);
    let _ = poll::wait(&[], Some(RESTORE_LIMIT));
    signals::die_of(number);
}
