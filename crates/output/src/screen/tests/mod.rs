//! A run's output in a directory of the test's own, and the screen made from it.

mod answers;
mod checkpoints;
mod follow;
mod robust;
mod undo;

use crate::Writer;
use crate::screen::{Screen, View};
use std::path::PathBuf;
use tenure_core::output::{Keep, Stream};
use tenure_core::spec::Size;

const SIZE: Size = Size { cols: 20, rows: 5 };

struct Run {
    dir: tempfile::TempDir,
    writer: Writer,
}

impl Run {
    fn new() -> Self {
        Self::keeping(Keep::default())
    }

    fn keeping(keep: Keep) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let writer = Writer::create(&dir.path().join("output"), keep);
        Self { dir, writer }
    }

    fn with(bytes: impl AsRef<[u8]>) -> Self {
        let mut run = Self::new();
        run.write(bytes);
        run
    }

    fn write(&mut self, bytes: impl AsRef<[u8]>) {
        self.writer.append(Stream::Stdout, bytes.as_ref(), 1);
    }

    fn checkpoint(&self) -> PathBuf {
        self.dir.path().join("screen")
    }

    fn open(&self) -> Screen {
        Screen::open(&self.dir.path().join("output"), SIZE, &self.checkpoint()).unwrap()
    }

    fn screen(&self) -> Screen {
        let mut screen = self.open();
        screen.advance().unwrap();
        screen
    }
}

fn view(bytes: impl AsRef<[u8]>) -> View {
    Run::with(bytes).screen().view()
}

/// Numbers that are the same every time (xorshift).
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, sides: usize) -> usize {
        usize::try_from(self.roll() % sides as u64).unwrap()
    }
}
