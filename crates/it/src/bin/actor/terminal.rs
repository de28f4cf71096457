//! What a process does with its terminal.

use crate::family::stdio_to_null;
use crate::life::pause_for_ever;
use crate::signals;
use crate::stage::{Stage, say};
use crate::words::{Fault, Outcome, Words};
use rustix::fs::{Mode, OFlags};
use rustix::stdio::{stderr, stdin, stdout};
use rustix::termios::{Winsize, isatty, tcgetwinsize, ttyname};
use std::os::fd::BorrowedFd;

/// Prints `size COLSxROWS` at first and at each change.
pub(crate) fn winch(stage: &mut Stage, words: Words) -> Outcome {
    words.end()?;
    // Blocked before the first look, so that no change falls between.
    signals::block([libc::SIGWINCH]);
    stage.begin("winch")?;
    loop {
        let size = tcgetwinsize(terminal()?)?;
        say(&format!("size {}x{}\n", size.ws_col, size.ws_row))?;
        signals::take(libc::SIGWINCH);
    }
}

/// A child in its own session, without stdio, keeps the slave open when everybody else has left.
pub(crate) fn hold_pty(stage: &mut Stage, words: Words) -> Outcome {
    words.end()?;
    let path = ttyname(terminal()?, Vec::new())?;
    let slave = rustix::fs::open(path, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
    stage.start(|stage| {
        let _held = slave;
        rustix::process::setsid()?;
        stdio_to_null()?;
        stage.begin("pty-holder")?;
        pause_for_ever()
    })?;
    stage.ready("hold-pty")?;
    Ok(0)
}

pub(crate) fn window_size() -> Option<Winsize> {
    terminal().ok().and_then(|terminal| tcgetwinsize(terminal).ok())
}

fn terminal() -> Result<BorrowedFd<'static>, Fault> {
    let stdio = [stdin(), stdout(), stderr()];
    stdio.into_iter().find(|fd| isatty(fd)).ok_or_else(|| Fault::Failed("stdio has no terminal".to_owned()))
}
