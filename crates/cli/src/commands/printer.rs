//! The thread that prints a run's output. A slow reader blocks only this thread.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use tenure_core::output::Stream;
use tenure_os::poll::Interest;
use tenure_os::socket::{Conn, Got};
use tenure_os::stderr::complain;
use tenure_os::terminal;
use tenure_output::screen::ModeTracker;
use tenure_output::{Piece, Reader};

/// The handle to the printing thread.
pub(crate) struct Printer {
    jobs: Sender<PrintJob>,
    /// Set to stop printing output.
    stop_output: Arc<AtomicBool>,
    reports: Conn,
    unread: Vec<u8>,
    ended_line: bool,
    /// True once the thread has stopped.
    done: bool,
    /// True if the thread stopped on a write error other than a closed pipe.
    failed: bool,
}

enum PrintJob {
    /// Print what the files hold up to this offset.
    To(u64),
    /// Print these bytes, which no file holds.
    Bytes { offset: u64, stream: Stream, bytes: Vec<u8> },
    /// Print these bytes, which restore the run's screen on the terminal.
    Restore(Vec<u8>),
    /// Reset the terminal modes that the output changed.
    ResetTerminal,
    /// Print up to this offset, then stop.
    Finish { at: u64 },
}

/// Report of the thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PrintReport {
    /// Everything up to here is printed.
    UpTo(u64),
    /// Everything is printed.
    All,
    /// Nobody reads the output any more, or writing failed.
    ReaderGone,
}

const REPORT_BYTES: usize = 9;

/// Starts the thread for the output in this directory, from an offset on.
pub(crate) fn start(output: &Path, at: u64) -> io::Result<Printer> {
    let (reports, theirs) = Conn::pair()?;
    let (jobs, queue) = channel();
    let stop_output = Arc::new(AtomicBool::new(false));
    let thread = PrintThread {
        output: output.to_owned(),
        at,
        stop_output: Arc::clone(&stop_output),
        tracker: is_at_terminal().then(ModeTracker::default),
        restored: false,
        buffer: vec![0; 256 << 10],
        reports: theirs,
        ended_line: true,
    };
    std::thread::Builder::new().name("printer".to_owned()).spawn(move || thread.work(&queue))?;
    Ok(Printer {
        jobs,
        stop_output,
        reports,
        unread: Vec::new(),
        ended_line: true,
        done: false,
        failed: false,
    })
}

impl Printer {
    pub(crate) fn print_to(&self, to: u64) {
        self.submit(PrintJob::To(to));
    }

    pub(crate) fn print_bytes(&self, offset: u64, stream: Stream, bytes: Vec<u8>) {
        self.submit(PrintJob::Bytes { offset, stream, bytes });
    }

    pub(crate) fn restore(&self, bytes: Vec<u8>) {
        self.submit(PrintJob::Restore(bytes));
    }

    /// Stops printing output.
    pub(crate) fn stop_output(&self) {
        self.stop_output.store(true, Ordering::Relaxed);
    }

    /// Resets the terminal modes that the output changed, once it is printed.
    pub(crate) fn reset_terminal(&self) {
        self.submit(PrintJob::ResetTerminal);
    }

    pub(crate) fn finish(&self, at: u64) {
        self.submit(PrintJob::Finish { at });
    }

    fn submit(&self, job: PrintJob) {
        // A stopped thread has reported the reason.
        let _ = self.jobs.send(job);
    }

    /// Returns true if standard output is at the beginning of a line.
    pub(crate) fn ended_line(&self) -> bool {
        self.ended_line
    }

    /// Returns true if some of the output could not be written.
    pub(crate) fn failed(&self) -> bool {
        self.failed
    }

    /// Event of a report; `None` once the thread has stopped.
    pub(crate) fn interest(&self) -> Option<Interest<'_>> {
        (!self.done).then(|| Interest::reading(&self.reports))
    }

    /// Next report of the thread.
    pub(crate) fn next(&mut self) -> Option<PrintReport> {
        let mut bytes = [0; REPORT_BYTES * 16];
        if self.unread.len() < REPORT_BYTES
            && let Ok(Got::Bytes(n)) = self.reports.read(&mut bytes)
        {
            self.unread.extend_from_slice(&bytes[..n]);
        }
        let reports: [u8; REPORT_BYTES] = *self.unread.first_chunk()?;
        self.unread.drain(..REPORT_BYTES);
        let [kind, offset @ ..] = reports;
        match kind {
            b'u' => Some(PrintReport::UpTo(u64::from_le_bytes(offset))),
            b'n' | b'f' => {
                self.done = true;
                self.failed = kind == b'f';
                Some(PrintReport::ReaderGone)
            }
            _ => {
                self.done = true;
                self.ended_line = kind == b'a';
                Some(PrintReport::All)
            }
        }
    }
}

/// Returns true if at least one stream of the output goes to a terminal.
fn is_at_terminal() -> bool {
    terminal::stdout().is_terminal() || terminal::stderr().is_terminal()
}

/// State of the printing thread.
struct PrintThread {
    output: PathBuf,
    at: u64,
    stop_output: Arc<AtomicBool>,
    /// Tracks the terminal modes that the output changed, if there is a terminal.
    tracker: Option<ModeTracker>,
    /// True if the run's screen was restored on the terminal.
    restored: bool,
    buffer: Vec<u8>,
    reports: Conn,
    ended_line: bool,
}

impl PrintThread {
    fn work(mut self, queue: &Receiver<PrintJob>) {
        let mut reader = Reader::new(&self.output);
        for job in queue {
            let (result, last) = match job {
                PrintJob::To(to) => (self.copy(&mut reader, to), false),
                PrintJob::Bytes { offset, stream, bytes } => {
                    let result = self.copy(&mut reader, offset).and_then(|()| self.put(stream, &bytes));
                    self.at = self.at.max(offset + bytes.len() as u64);
                    (result, false)
                }
                PrintJob::Restore(bytes) => {
                    self.restored = true;
                    (self.put(Stream::Stdout, &bytes), false)
                }
                PrintJob::ResetTerminal => (self.reset_terminal(), false),
                PrintJob::Finish { at } => (self.copy(&mut reader, at), true),
            };
            if let Err(error) = &result
                && error.kind() != io::ErrorKind::BrokenPipe
            {
                complain(format_args!("the output cannot be printed: {error}"));
                self.report(b'f');
                return;
            }
            let kind = match (result, last) {
                (Err(_), _) => b'n',
                (Ok(()), true) if self.ended_line => b'a',
                (Ok(()), true) => b'A',
                (Ok(()), false) => b'u',
            };
            self.report(kind);
            if kind != b'u' {
                return;
            }
        }
    }

    /// Prints what the files hold up to `to`.
    fn copy(&mut self, reader: &mut Reader, to: u64) -> io::Result<()> {
        while self.at < to && !self.stop_output.load(Ordering::Relaxed) {
            let most = usize::try_from(to - self.at).unwrap_or(usize::MAX).min(self.buffer.len());
            // Unreadable output is reported as a gap. The run goes on.
            let piece =
                reader.read(self.at, &mut self.buffer[..most]).unwrap_or(Piece::Gap { from: self.at, to });
            match piece {
                Piece::Bytes { len, stream, .. } => {
                    let bytes = std::mem::take(&mut self.buffer);
                    let result = self.put(stream, &bytes[..len]);
                    self.buffer = bytes;
                    result?;
                }
                Piece::Gap { from, to } | Piece::Lost { from, to, .. } => {
                    complain(format_args!("bytes {from} to {to} of the output are missing"));
                }
                Piece::End { .. } => return Ok(()),
            }
            self.at = piece.end();
        }
        Ok(())
    }

    fn put(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        let to = match stream {
            Stream::Stdout => terminal::stdout(),
            Stream::Stderr => terminal::stderr(),
        };
        if let Some(tracker) = &mut self.tracker
            && to.is_terminal()
        {
            tracker.feed(bytes);
        }
        if stream == Stream::Stdout {
            self.ended_line = bytes.last().is_none_or(|&b| b == b'\n');
        }
        to.write_all(bytes)
    }

    /// Resets the terminal, and begins a new line.
    fn reset_terminal(&mut self) -> io::Result<()> {
        let Some(tracker) = self.tracker.take() else { return Ok(()) };
        let stdout = terminal::stdout();
        if !stdout.is_terminal() {
            return terminal::stderr().write_all(tracker.undo().as_bytes());
        }
        stdout.write_all(tracker.undo().as_bytes())?;
        // Leaving the alternate screen moves the cursor back to its old place: after a restore, a place of the run's screen.
        if self.restored || !(self.ended_line || tracker.is_alternate()) {
            stdout.write_all(b"\r\n")?;
        }
        self.ended_line = true;
        Ok(())
    }

    /// Reports to the main thread. If the report cannot be written, the process is exiting.
    fn report(&self, kind: u8) {
        let mut reports = [kind; REPORT_BYTES];
        reports[1..].copy_from_slice(&self.at.to_le_bytes());
        let _ = self.reports.write(&reports);
    }
}
