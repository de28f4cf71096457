//! Verbs that use the terminal.

use crate::args::{Args, VerbError, VerbResult};
use crate::context::{ActorContext, say};
use crate::lifetime::pause_for_ever;
use crate::process_trees::stdio_to_null;
use crate::signals;
use rustix::fs::{Mode, OFlags};
use rustix::stdio::{stderr, stdin, stdout};
use rustix::termios::{Winsize, isatty, tcgetwinsize, ttyname};
use std::os::fd::BorrowedFd;

/// Prints `size COLSxROWS` at the start and at each change.
pub(crate) fn winch(context: &mut ActorContext, words: Args) -> VerbResult {
    words.end()?;
    // Blocked before the first query, so that no change is missed.
    signals::block([libc::SIGWINCH]);
    context.begin("winch")?;
    loop {
        let size = tcgetwinsize(terminal()?)?;
        say(&format!("size {}x{}\n", size.ws_col, size.ws_row))?;
        signals::take(libc::SIGWINCH);
    }
}

/// Leaves a child in its own session, without stdio, which keeps the slave open after all others are gone.
pub(crate) fn hold_pty(context: &mut ActorContext, words: Args) -> VerbResult {
    words.end()?;
    let path = ttyname(terminal()?, Vec::new())?;
    let slave = rustix::fs::open(path, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
    context.start(|context| {
        let _held = slave;
        rustix::process::setsid()?;
        stdio_to_null()?;
        context.begin("pty-holder")?;
        pause_for_ever()
    })?;
    context.ready("hold-pty")?;
    Ok(0)
}

pub(crate) fn window_size() -> Option<Winsize> {
    terminal().ok().and_then(|terminal| tcgetwinsize(terminal).ok())
}

fn terminal() -> Result<BorrowedFd<'static>, VerbError> {
    let stdio = [stdin(), stdout(), stderr()];
    stdio
        .into_iter()
        .find(|fd| isatty(fd))
        .ok_or_else(|| VerbError::Failed("stdio has no terminal".to_owned()))
}
