//! What the system tells a daemon, for whoever waits for many things at once.

use crate::reaper;
use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Waits until somebody asks this process politely to leave. That its terminal has gone is no such thing: a daemon has
/// none of its own.
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

/// Takes the children that have ended off the system's list, for ever.
pub async fn bury_children() -> io::Result<()> {
    let mut children = signal(SignalKind::child())?;
    while children.recv().await.is_some() {
        reaper::reap_now();
    }
    Ok(())
}

/// The interrupts that somebody types.
#[derive(Debug)]
pub struct Interrupts(Signal);

impl Interrupts {
    /// From now on they do not end this process.
    pub fn take() -> io::Result<Self> {
        signal(SignalKind::interrupt()).map(Self)
    }

    /// Waits for the next.
    pub async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}
