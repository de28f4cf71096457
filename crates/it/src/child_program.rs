//! A running program: its output so far, and its end.

use crate::{WAIT_LIMIT, within};
use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A started program. If the test fails before it has ended, it is killed, and with it (its caller) its run.
#[derive(Debug)]
pub struct ChildProgram {
    child: Child,
    out: OutputCapture,
    err: OutputCapture,
    ended: Option<ExitStatus>,
}

#[derive(Debug)]
struct OutputCapture {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl OutputCapture {
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
        Self { bytes, reader: Some(reader) }
    }

    fn so_far(&self) -> Vec<u8> {
        self.bytes.lock().expect("no reader panics").clone()
    }
}

impl ChildProgram {
    /// Starts a command with its output captured and its input open if the command asked for a pipe.
    #[track_caller]
    pub fn new(mut command: Command) -> Self {
        Self::try_new(&mut command).unwrap_or_else(|error| panic!("{command:?} does not start: {error}"))
    }

    fn try_new(command: &mut Command) -> std::io::Result<Self> {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let out = OutputCapture::new(child.stdout.take().expect("piped"));
        let err = OutputCapture::new(child.stderr.take().expect("piped"));
        Ok(Self { child, out, err, ended: None })
    }

    /// Its pid.
    pub fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// Its standard output so far.
    pub fn out(&self) -> String {
        String::from_utf8_lossy(&self.out.so_far()).into_owned()
    }

    /// Its standard output so far, as bytes.
    pub fn out_bytes(&self) -> Vec<u8> {
        self.out.so_far()
    }

    /// Its standard error so far.
    pub fn err(&self) -> String {
        String::from_utf8_lossy(&self.err.so_far()).into_owned()
    }

    /// Its standard input, for a thread that writes more than is read; `None` if there is none.
    pub fn take_input(&mut self) -> Option<std::process::ChildStdin> {
        self.child.stdin.take()
    }

    /// Waits until its standard output holds this text.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) {
        assert!(self.prints(text), "it ended before {text:?}: {:?} / {:?}", self.out(), self.err());
    }

    /// Waits for this text on its standard output; false if it ends without it.
    #[track_caller]
    pub fn prints(&mut self, text: &str) -> bool {
        let deadline = Instant::now() + WAIT_LIMIT;
        while !self.out().contains(text) {
            if let Some(status) = self.child.try_wait().expect("wait") {
                // The program may have printed the text just before it ended.
                self.ended = Some(status);
                self.read_to_end();
                return self.out().contains(text);
            }
            assert!(Instant::now() < deadline, "no {text:?}: {:?} / {:?}", self.out(), self.err());
            std::thread::park_timeout(Duration::from_millis(3));
        }
        true
    }

    /// Its exit status, if it has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().expect("wait");
        }
        self.ended
    }

    /// Waits until its output is read to the end.
    fn read_to_end(&mut self) {
        for captured in [&mut self.out, &mut self.err] {
            let Some(reader) = captured.reader.take() else { continue };
            within(WAIT_LIMIT, "the end of the output of a program that has ended", || {
                reader.is_finished().then_some(())
            });
        }
    }

    /// Writes to its standard input.
    #[track_caller]
    pub fn write(&mut self, bytes: &[u8]) {
        self.child.stdin.as_mut().expect("an open input").write_all(bytes).expect("it reads");
    }

    /// Ends its standard input.
    pub fn close_input(&mut self) {
        self.child.stdin = None;
    }

    /// Waits until it has ended and returns status and output. Unlike `Command::output` this has a time
    /// limit.
    #[track_caller]
    pub fn output(mut self) -> Output {
        let status = self.end_within(WAIT_LIMIT);
        Output { status, stdout: self.out.so_far(), stderr: self.err.so_far() }
    }

    /// Waits until it has ended and all of its output was read.
    #[track_caller]
    pub fn end_within(&mut self, limit: Duration) -> ExitStatus {
        let status = self.ended.unwrap_or_else(|| {
            within(limit, &format!("its end; so far {:?} / {:?}", self.out(), self.err()), || {
                self.child.try_wait().expect("wait")
            })
        });
        self.ended = Some(status);
        self.read_to_end();
        status
    }
}

impl Drop for ChildProgram {
    fn drop(&mut self) {
        if self.ended.is_none() {
            // Its run ends with it, its caller.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Runs a command within the usual time limit; returns its output, or `None`. It never panics: it is for
/// tests that have failed already.
pub fn attempt(mut command: Command) -> Option<String> {
    let mut started = ChildProgram::try_new(&mut command).ok()?;
    let deadline = Instant::now() + WAIT_LIMIT;
    let is_over = |one: &mut ChildProgram| {
        one.ended().is_some() && one.out.reader.as_ref().is_none_or(JoinHandle::is_finished)
    };
    while !is_over(&mut started) && Instant::now() < deadline {
        std::thread::park_timeout(Duration::from_millis(3));
    }
    is_over(&mut started).then(|| started.out())
}
