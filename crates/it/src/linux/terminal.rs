//! A terminal of the test: it holds the master, and the program that it starts has the slave.

use crate::{WAIT_LIMIT, eventually};
use rustix::fs::{Mode, OFlags};
use rustix::termios::{Termios, Winsize};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

/// A terminal and the program that was started in it, as the leader of its session.
#[derive(Debug)]
pub struct Terminal {
    master: File,
    /// Kept open, so that the terminal's settings can be read after the program's exit.
    slave: File,
    child: Child,
    screen: Arc<Mutex<Vec<u8>>>,
    /// Position from which [`Terminal::wait_for`] searches.
    seen: usize,
}

impl Terminal {
    /// Starts a command with a new terminal of this size as its controlling terminal.
    #[track_caller]
    pub fn start(mut command: Command, cols: u16, rows: u16) -> Self {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let master = rustix::pty::openpt(
            rustix::pty::OpenptFlags::RDWR
                | rustix::pty::OpenptFlags::NOCTTY
                | rustix::pty::OpenptFlags::CLOEXEC,
        )
        .expect("a pty");
        rustix::pty::grantpt(&master).expect("grantpt");
        rustix::pty::unlockpt(&master).expect("unlockpt");
        let name = rustix::pty::ptsname(&master, Vec::new()).expect("ptsname");
        let slave: File = rustix::fs::open(&name, flags, Mode::empty()).expect("open the slave").into();
        set_size(&master, cols, rows);
        let end = || Stdio::from(slave.try_clone().expect("dup"));
        command.stdin(end()).stdout(end()).stderr(end());
        lead_a_session(&mut command);
        let child = command.spawn().expect("it starts");
        let master = File::from(master);
        let screen = Arc::new(Mutex::new(Vec::new()));
        let (shared, mut from) = (Arc::clone(&screen), master.try_clone().expect("dup"));
        // The thread ends with the test: the open slave prevents a hang-up.
        std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(n) = from.read(&mut chunk) {
                shared.lock().expect("no reader panics").extend_from_slice(&chunk[..n]);
            }
        });
        Self { master, slave, child, screen, seen: 0 }
    }

    /// All output to the terminal so far.
    pub fn screen(&self) -> String {
        String::from_utf8_lossy(&self.screen.lock().expect("no reader panics")).into_owned()
    }

    /// Asserts that a terminal emulator that got all of this is in its initial state: the main screen with a
    /// visible cursor, and no mode of the keyboard, the mouse or pasting.
    #[track_caller]
    pub fn assert_put_back(&self) {
        let shown = self.screen();
        let mut emulator = vt100::Parser::default();
        let fresh = emulator.screen().input_mode_formatted();
        emulator.process(shown.as_bytes());
        let screen = emulator.screen();
        assert!(!screen.alternate_screen() && !screen.hide_cursor() && !screen.inverse(), "{shown:?}");
        assert_eq!(screen.input_mode_formatted(), fresh, "{shown:?}");
        let mut tracker = tenure_output::screen::ModeTracker::default();
        tracker.feed(shown.as_bytes());
        assert_eq!(tracker.undo(), "", "{shown:?}");
    }

    /// Types keys.
    #[track_caller]
    pub fn keys(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).expect("a terminal takes keys");
    }

    /// Waits until this text arrives, after the text of the last wait.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) {
        let deadline = std::time::Instant::now() + WAIT_LIMIT;
        loop {
            let screen = self.screen.lock().expect("no reader panics").clone();
            let found = screen[self.seen..].windows(text.len()).position(|window| window == text.as_bytes());
            if let Some(at) = found {
                self.seen += at + text.len();
                return;
            }
            let rest = String::from_utf8_lossy(&screen[self.seen..]).into_owned();
            assert!(std::time::Instant::now() < deadline, "{text:?} does not arrive: {rest:?}");
            std::thread::park_timeout(std::time::Duration::from_millis(3));
        }
    }

    /// Resizes the terminal, as a window manager would.
    pub fn resize(&self, cols: u16, rows: u16) {
        set_size(&self.master, cols, rows);
    }

    /// The terminal's settings.
    pub fn settings(&self) -> Termios {
        rustix::termios::tcgetattr(&self.slave).expect("settings")
    }

    /// The program's pid.
    pub fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// Waits until the program has ended and returns its exit code; a signal counts as 128 plus its number.
    #[track_caller]
    pub fn code(&mut self) -> i32 {
        use std::os::unix::process::ExitStatusExt;
        let status = eventually("the end of the terminal's program", || self.child.try_wait().expect("wait"));
        status.code().or(status.signal().map(|signal| 128 + signal)).expect("a code or a signal")
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Its run ends with it, its caller.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn set_size(terminal: impl AsFd, cols: u16, rows: u16) {
    let size = Winsize { ws_col: cols, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(terminal, size).expect("a size");
}

#[expect(unsafe_code, reason = "a session and its terminal are made between fork and exec")]
fn lead_a_session(command: &mut Command) {
    // SAFETY: both calls are plain system calls without any allocation or lock.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
            Ok(())
        });
    }
}
