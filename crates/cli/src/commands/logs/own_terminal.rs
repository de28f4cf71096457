//! The terminal that `logs` prints raw output to. Signals to leave are taken, so that the terminal is put back before they
//! act; one that takes no more output does not keep them from acting.

use crate::args::LogsArgs;
use std::io;
use std::time::Duration;
use tenure_os::poll::{self, Interest};
use tenure_os::signals::{self, Signals};
use tenure_os::socket::{Conn, Got};
use tenure_os::terminal;
use tenure_output::screen::ModeTracker;

/// How long the terminal may take to be put back once somebody wants us to leave.
const COURTESY: Duration = Duration::from_secs(1);

pub(super) struct OwnTerminal {
    tracker: ModeTracker,
    /// Where the number of a signal comes from.
    heard: Conn,
    stopped: Option<u8>,
}

impl OwnTerminal {
    /// `None` if standard output is no terminal, or gets nothing that could change one.
    pub(super) fn take(args: &LogsArgs) -> io::Result<Option<Self>> {
        if !terminal::stdout().is_terminal() || args.text || args.json {
            return Ok(None);
        }
        let taken: Vec<i32> =
            signals::LEAVE.into_iter().filter(|&signal| !signals::is_ignored(signal)).collect();
        let signals = Signals::take(&taken)?;
        let (heard, theirs) = Conn::pair()?;
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || watch(&signals, &theirs))?;
        Ok(Some(Self { tracker: ModeTracker::default(), heard, stopped: None }))
    }

    /// These bytes are printed.
    pub(super) fn shows(&mut self, bytes: &[u8]) {
        self.tracker.feed(bytes);
    }

    /// Until somebody wants us to leave.
    pub(super) fn interest(&self) -> Interest<'_> {
        Interest::reading(&self.heard)
    }

    /// Whether somebody wants us to leave.
    pub(super) fn is_stopped(&mut self) -> bool {
        let mut number = [0];
        if self.stopped.is_none() && matches!(self.heard.read(&mut number), Ok(Got::Bytes(_))) {
            self.stopped = Some(number[0]);
        }
        self.stopped.is_some()
    }

    /// Undoes what the output did; returns the signal that we were to leave by.
    pub(super) fn put_back(mut self) -> Option<u8> {
        // A terminal that is gone needs no putting back.
        let _ = terminal::stdout().write_all(self.tracker.undo().as_bytes());
        self.is_stopped();
        self.stopped
    }
}

/// Passes the first signal on. If that does not make us leave in time, a write to the terminal is stuck.
fn watch(signals: &Signals, to: &Conn) {
    let number = loop {
        if poll::wait(&[Interest::reading(signals)], None).is_err() {
            return;
        }
        if let Some(number) = signals.next() {
            break number;
        }
    };
    // The other side has left if it does not listen.
    let _ = to.write(&[u8::try_from(number).unwrap_or(0)]);
    let _ = poll::wait(&[], Some(COURTESY));
    signals::die_of(number);
}
