//! Console events for a daemon, for asynchronous code.

use std::io;
use tokio::signal::windows::{CtrlC, ctrl_break, ctrl_c, ctrl_close, ctrl_logoff, ctrl_shutdown};

/// Waits for a request to exit. When a console closes, the system leaves a few seconds for that. When the user logs
/// off or the machine stops, only services are asked.
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

/// Does nothing: there is no list of children to reap.
#[expect(clippy::unused_async, reason = "elsewhere there is something to wait for")]
pub async fn bury_children() -> io::Result<()> {
    Ok(())
}

/// Typed interrupts (Ctrl-C).
#[derive(Debug)]
pub struct Interrupts(CtrlC);

impl Interrupts {
    /// Takes interrupts over: from now on they do not end this process.
    pub fn take() -> io::Result<Self> {
        ctrl_c().map(Self)
    }

    /// Waits for the next interrupt.
    pub async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}
