//! Signals to a daemon, for asynchronous code.

use crate::reaper;
use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Waits for a request to exit. A hang-up is none, because a daemon has no terminal of its own.
pub async fn leave() -> io::Result<()> {
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let mut hangups = signal(SignalKind::hangup())?;
    loop {
        tokio::select! {
            _ = term.recv() => return Ok(()),
            _ = int.recv() => return Ok(()),
            _ = hangups.recv() => {}
        }
    }
}

/// Reaps the children that have ended, for ever.
pub async fn bury_children() -> io::Result<()> {
    let mut children = signal(SignalKind::child())?;
    while children.recv().await.is_some() {
        reaper::reap_now();
    }
    Ok(())
}

/// Typed interrupts (Ctrl-C).
#[derive(Debug)]
pub struct Interrupts(Signal);

impl Interrupts {
    /// Takes interrupts over: from now on they do not end this process.
    pub fn take() -> io::Result<Self> {
        signal(SignalKind::interrupt()).map(Self)
    }

    /// Waits for the next interrupt.
    pub async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}
