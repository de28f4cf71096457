//! A program that was started and goes on: what it has printed so far, and how it ends.

use crate::{PATIENCE, eventually};
use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Instant;

/// A started program. If the test fails before it has ended, it is ended, and with it (it is the caller) its run.
#[derive(Debug)]
pub struct Started {
    child: Child,
    out: Captured,
    err: Captured,
    ended: Option<ExitStatus>,
}

/// What one that has ended has left.
#[derive(Debug)]
pub struct Output {
    /// Its exit code; `None` where a signal ended it.
    pub code: Option<i32>,
    /// What it wrote to standard output.
    pub out: String,
    /// What it wrote to standard error.
    pub err: String,
}

#[derive(Debug)]
struct Captured {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Captured {
    fn new(mut from: impl Read + Send + 'static) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&bytes);
        let reader = std::thread::spawn(move || {
            let mut chunk = [0; 8192];
            while let Ok(n) = from.read(&mut chunk) {
                if n == 0 {
                    break;
                }
                shared.lock().expect("no reader panics").extend_from_slice(&chunk[..n]);
            }
        });
        Self { bytes, reader }
    }

    fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().expect("no reader panics")).into_owned()
    }
}

impl Started {
    /// Starts a command with its output captured.
    #[track_caller]
    pub fn new(mut command: Command) -> Self {
        Self::try_new(&mut command).unwrap_or_else(|error| panic!("{command:?} does not start: {error}"))
    }

    fn try_new(command: &mut Command) -> std::io::Result<Self> {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let out = Captured::new(child.stdout.take().expect("piped"));
        let err = Captured::new(child.stderr.take().expect("piped"));
        Ok(Self { child, out, err, ended: None })
    }

    /// Its pid.
    pub fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// What it has written to standard output so far.
    pub fn out(&self) -> String {
        self.out.so_far()
    }

    /// What it has written to standard error so far.
    pub fn err(&self) -> String {
        self.err.so_far()
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().expect("wait");
        }
        self.ended.is_some()
    }

    /// Waits until its standard output holds this text.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.out().contains(text) {
            if self.has_ended() {
                // It may have printed the text just before it ended.
                self.wait_closed();
                assert!(self.out().contains(text), "it ended before {text:?}: {}", self.both());
                return;
            }
            assert!(Instant::now() < deadline, "no {text:?}: {}", self.both());
            std::thread::park_timeout(std::time::Duration::from_millis(3));
        }
    }

    /// Waits until it has ended, and returns what it left.
    #[track_caller]
    pub fn output(mut self) -> Output {
        let before = Instant::now();
        while !self.has_ended() {
            assert!(before.elapsed() < PATIENCE, "it does not end; so far {}", self.both());
            std::thread::park_timeout(std::time::Duration::from_millis(3));
        }
        self.wait_closed();
        let code = self.ended.expect("it has ended").code();
        Output { code, out: self.out(), err: self.err() }
    }

    /// Waits until nobody can write to its output any more: not it, and nobody whom it started.
    #[track_caller]
    fn wait_closed(&self) {
        eventually("that nobody holds the output of one that has ended", || {
            [&self.out, &self.err].iter().all(|one| one.reader.is_finished()).then_some(())
        });
    }

    fn both(&self) -> String {
        format!("{:?} / {:?}", self.out(), self.err())
    }
}

/// Runs a command to its end, for as long as anything is waited for; what it printed, if it came to that. It never fails:
/// this is for when a test has failed already.
pub(crate) fn attempt(mut command: Command) -> Option<String> {
    let mut started = Started::try_new(&mut command).ok()?;
    let deadline = Instant::now() + PATIENCE;
    let is_over = |one: &mut Started| one.has_ended() && one.out.reader.is_finished();
    while !is_over(&mut started) && Instant::now() < deadline {
        std::thread::park_timeout(std::time::Duration::from_millis(3));
    }
    is_over(&mut started).then(|| started.out())
}

impl Drop for Started {
    fn drop(&mut self) {
        if self.ended.is_none() {
            // Its run ends with it: it is the caller.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
