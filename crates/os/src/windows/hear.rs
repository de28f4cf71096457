//! What the system tells a daemon, for whoever waits for many things at once.

use std::io;
use tokio::signal::windows::{CtrlC, ctrl_break, ctrl_c, ctrl_close, ctrl_logoff, ctrl_shutdown};

/// Waits until somebody asks this process politely to leave. Once a console closes, the system leaves it a few seconds for
/// that. When the user logs off or the machine stops, only services are asked.
pub async fn leave() -> io::Result<()> {
    let (mut interrupt, mut stop) = (ctrl_c()?, ctrl_break()?);
    let (mut close, mut logoff, mut shutdown) = (ctrl_close()?, ctrl_logoff()?, ctrl_shutdown()?);
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = stop.recv() => {}
        _ = close.recv() => {}
        _ = logoff.recv() => {}
        _ = shutdown.recv() => {}
    }
    Ok(())
}

/// Takes the children that have ended off the system's list, for ever. There is no such list here.
#[expect(clippy::unused_async, reason = "elsewhere there is something to wait for")]
pub async fn bury_children() -> io::Result<()> {
    Ok(())
}

/// The interrupts that somebody types.
#[derive(Debug)]
pub struct Interrupts(CtrlC);

impl Interrupts {
    /// From now on they do not end this process.
    pub fn take() -> io::Result<Self> {
        ctrl_c().map(Self)
    }

    /// Waits for the next.
    pub async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}
