//! What is typed at one's own terminal, on its way to the run. Only as much is read as the command takes.

use crate::args::AttachArgs;
use std::io;
use tenure_core::detach::Detach;
use tenure_core::wire::KeeperRequest;
use tenure_keeper::frames::Frames;
use tenure_os::poll::Interest;
use tenure_os::terminal;

/// How much may be on its way: well below what a keeper lets wait.
const WINDOW: u64 = 16 << 10;
/// Who only looks on leaves with this, too.
const CTRL_C: u8 = 3;

pub(super) struct Typist {
    open: bool,
    /// Whether what is typed goes to the run.
    passes: bool,
    /// Where a person types, the keys to leave with; a file has none.
    detach: Option<Detach>,
    /// Whether the keeper has not said yet where the last keys end.
    unanswered: bool,
    /// Where they end, and up to where the command has taken them.
    end: u64,
    taken: u64,
}

impl Typist {
    /// Tells the keeper that somebody types here.
    pub(super) fn begin(args: &AttachArgs, pty: bool, keeper: &mut Frames) -> Self {
        let at_terminal = terminal::stdin().is_terminal() && terminal::stdin().in_foreground();
        let passes = !args.no_stdin && keeper.understands(&KeeperRequest::Type);
        if passes {
            keeper.send(&KeeperRequest::Type, &[]);
        }
        Self {
            // Whoever looks on at a terminal is asked nothing, but must be able to leave.
            open: passes || (at_terminal && pty),
            passes,
            detach: at_terminal.then(|| Detach::new(args.detach_keys.clone())),
            unanswered: passes,
            end: 0,
            taken: 0,
        }
    }

    /// Whether a person types here.
    pub(super) fn is_at_terminal(&self) -> bool {
        self.open && self.detach.is_some()
    }

    /// The run takes no more input. A person goes on to be able to detach.
    pub(super) fn close(&mut self) {
        self.open &= self.detach.is_some();
        self.passes = false;
        self.unanswered = false;
    }

    pub(super) fn typed(&mut self, to: u64) {
        self.unanswered = false;
        self.end = to;
    }

    pub(super) fn taken(&mut self, to: u64) {
        self.taken = to;
    }

    /// What to wait for, if anything. A terminal is not read from the background: that would stop us.
    pub(super) fn interest(&self) -> Option<Interest<'static>> {
        let room = !self.passes || (!self.unanswered && self.end.saturating_sub(self.taken) < WINDOW);
        let stdin = terminal::stdin();
        let in_background = stdin.is_terminal() && !stdin.in_foreground();
        let wanted = self.open && room && !in_background;
        wanted.then(|| stdin.reading())
    }

    /// Reads what is there and passes it on; returns whether the keys to leave were among it.
    pub(super) fn read(&mut self, keeper: &mut Frames) -> bool {
        let mut bytes = vec![0; 4096];
        let n = match terminal::stdin().read(&mut bytes) {
            Ok(n) => n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return false,
            // A terminal that is gone, or a descriptor that was never open, has no more to say.
            Err(_) => 0,
        };
        if n == 0 {
            // The run's input goes on: others may type.
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
