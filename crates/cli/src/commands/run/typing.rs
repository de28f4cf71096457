//! The caller's standard input on its way to the command. Only as much is read as the command takes.

use std::io;
use tenure_core::wire::Ask;
use tenure_keeper::frames::Frames;
use tenure_os::poll::Interest;
use tenure_os::terminal;

/// How much may be on its way: well below what a keeper lets wait.
const WINDOW: u64 = 64 << 10;

pub(super) struct Typing {
    open: bool,
    begun: bool,
    /// The offset of the next byte to be read.
    next: u64,
    /// Up to where the command has taken it.
    taken: u64,
}

impl Typing {
    pub(super) fn new(open: bool) -> Self {
        Self { open, begun: false, next: 0, taken: 0 }
    }

    /// The command executes: it may be typed to, and by nobody else.
    pub(super) fn begin(&mut self, keeper: &mut Frames) {
        self.begun = true;
        if self.open {
            keeper.send(&Ask::Stdin { offset: 0, eof: false }, &[]);
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    pub(super) fn close(&mut self) {
        self.open = false;
    }

    pub(super) fn taken(&mut self, to: u64) {
        self.taken = to;
    }

    /// What to wait for, if anything. A terminal is not read from the background: that would stop us.
    pub(super) fn interest(&self) -> Option<Interest<'static>> {
        let stdin = terminal::stdin();
        let in_background = stdin.is_terminal() && !stdin.in_foreground();
        let wanted =
            self.open && self.begun && self.next.saturating_sub(self.taken) < WINDOW && !in_background;
        wanted.then(|| stdin.reading())
    }

    /// Reads what is there and passes it on.
    pub(super) fn read(&mut self, keeper: &mut Frames) {
        let space = usize::try_from(WINDOW.saturating_sub(self.next.saturating_sub(self.taken))).unwrap_or(0);
        let mut bytes = vec![0; space];
        let n = match terminal::stdin().read(&mut bytes) {
            Ok(n) => n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return,
            // A terminal that is gone, or a descriptor that was never open, has no more to say.
            Err(_) => 0,
        };
        keeper.send(&Ask::Stdin { offset: self.next, eof: n == 0 }, &bytes[..n]);
        self.next += n as u64;
        self.open = n > 0;
    }
}
