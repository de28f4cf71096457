//! Forwards keys from the local terminal to the run. Reads only as much as the command accepts.

use crate::args::AttachArgs;
use std::io;
use tenure_core::detach::Detach;
use tenure_core::wire::KeeperRequest;
use tenure_keeper::frames::Frames;
use tenure_os::poll::Interest;
use tenure_os::terminal;

/// Maximum number of bytes sent but not accepted by the command: well below the keeper's queue.
const WINDOW: u64 = 16 << 10;
/// Also detaches a read-only client.
const CTRL_C: u8 = 3;

pub(super) struct KeyForwarder {
    open: bool,
    /// True if keys go to the run.
    passes: bool,
    /// Detach keys, if standard input is a terminal: a file has none.
    detach: Option<Detach>,
    /// True until the keeper reports the end offset of the last keys.
    unanswered: bool,
    /// End offset of the last keys.
    end: u64,
    /// Offset up to which the command has accepted keys.
    taken: u64,
}

impl KeyForwarder {
    /// Announces this client's keys to the keeper, unless it is read-only.
    pub(super) fn begin(args: &AttachArgs, pty: bool, keeper: &mut Frames) -> Self {
        let at_terminal = terminal::stdin().is_terminal() && terminal::stdin().in_foreground();
        let passes = !args.no_stdin && keeper.understands(&KeeperRequest::Type);
        if passes {
            keeper.send(&KeeperRequest::Type, &[]);
        }
        Self {
            // A read-only client at a terminal reads keys as well, to be able to detach.
            open: passes || (at_terminal && pty),
            passes,
            detach: at_terminal.then(|| Detach::new(args.detach_keys.clone())),
            unanswered: passes,
            end: 0,
            taken: 0,
        }
    }

    /// Returns true if keys are read from a terminal.
    pub(super) fn is_at_terminal(&self) -> bool {
        self.open && self.detach.is_some()
    }

    /// Stops forwarding: the run accepts no more input. A terminal is still read, to be able to detach.
    pub(super) fn close(&mut self) {
        self.open &= self.detach.is_some();
        self.passes = false;
        self.unanswered = false;
    }

    /// Records the end offset of the last keys.
    pub(super) fn typed(&mut self, to: u64) {
        self.unanswered = false;
        self.end = to;
    }

    pub(super) fn taken(&mut self, to: u64) {
        self.taken = to;
    }

    /// Event to wait for, if any. A background process does not read the terminal: SIGTTIN is ignored, so the read would fail
    /// like an end of input.
    pub(super) fn interest(&self) -> Option<Interest<'static>> {
        let room = !self.passes || (!self.unanswered && self.end.saturating_sub(self.taken) < WINDOW);
        let stdin = terminal::stdin();
        let in_background = stdin.is_terminal() && !stdin.in_foreground();
        let is_ready = self.open && room && !in_background;
        is_ready.then(|| stdin.reading())
    }

    /// Reads pending keys and forwards them; returns true if they contain the detach keys.
    pub(super) fn read(&mut self, keeper: &mut Frames) -> bool {
        let mut bytes = vec![0; 4096];
        let n = match terminal::stdin().read(&mut bytes) {
            Ok(n) => n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return false,
            // A closed terminal, or a descriptor that was never open, counts as the end of input.
            Err(_) => 0,
        };
        if n == 0 {
            // The run's input stays open: other clients may type.
            self.open = false;
            return false;
        }
        let bytes = &bytes[..n];
        let (pass, detached) = match &mut self.detach {
            Some(detach) => {
                let typed = detach.feed(bytes);
                (typed.pass, typed.detach)
            }
            None => (bytes.to_vec(), false),
        };
        if self.passes && !pass.is_empty() {
            keeper.send(&KeeperRequest::Type, &pass);
            self.unanswered = true;
        }
        detached || (!self.passes && self.detach.is_some() && pass.contains(&CTRL_C))
    }
}
