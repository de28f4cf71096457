//! What the facades promise, tried on the real system. Tests that fork, lock or list a whole tree need a process of
//! their own: they are in `crates/it`, as experiments of its `lab`.

mod beneath;
mod cgroup;
mod file;
mod pty;
mod refused;
mod socket;
mod tree;

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Starts a shell command, killed when this is dropped.
#[expect(clippy::disallowed_methods, reason = "a test starts a process to look at")]
fn shell(script: &str) -> Shell {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
    Shell(command.spawn().expect("sh starts"))
}

struct Shell(Child);

impl Shell {
    fn pid(&self) -> i32 {
        self.0.id().cast_signed()
    }

    /// Waits until it has printed a line.
    fn line(&mut self) -> String {
        use std::io::Read;
        let out = self.0.stdout.as_mut().expect("piped");
        let mut line = String::new();
        let mut byte = [0];
        while out.read(&mut byte).expect("it prints") == 1 && byte[0] != b'\n' {
            line.push(char::from(byte[0]));
        }
        line
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Looks again every few milliseconds: other processes send no events.
#[track_caller]
fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::park_timeout(Duration::from_millis(2));
    }
}
