//! The exact moment at which the last process of a tree is dead: each holds the writing end of a FIFO, so the reading
//! end sees a hang-up then, and not before.

use crate::WAIT_LIMIT;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The reading end.
#[derive(Debug)]
pub struct Witness {
    path: PathBuf,
    end: std::fs::File,
}

impl Witness {
    /// Makes the FIFO in a directory; every user may open it.
    pub fn new(dir: &Path) -> Self {
        use rustix::fs::{FileType, Mode, OFlags};
        let path = dir.join("witness");
        rustix::fs::mknodat(rustix::fs::CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o666), 0)
            .expect("mkfifo");
        rustix::fs::chmod(&path, Mode::from_raw_mode(0o666)).expect("chmod");
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let end = rustix::fs::open(&path, flags, Mode::empty()).expect("open the FIFO").into();
        Self { path, end }
    }

    /// The FIFO, for `actor --witness`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// True if every process that ever opened the FIFO is dead. False before the first did.
    pub fn all_dead(&self) -> bool {
        self.wait(Duration::ZERO)
    }

    /// Waits until every process that opened the FIFO is dead.
    #[track_caller]
    pub fn wait_all_dead(&self) {
        assert!(self.wait(WAIT_LIMIT), "a process of the tree is alive after {WAIT_LIMIT:?}");
    }

    /// Waits until no process has the FIFO open, even if none ever had. Only for when no more can come.
    #[track_caller]
    pub fn wait_nobody(&self, patience: Duration) {
        // After a writer, a hang-up means that there is none.
        drop(std::fs::OpenOptions::new().write(true).open(&self.path).expect("open the FIFO"));
        assert!(self.wait(patience), "a process of the tree is alive after {patience:?}");
    }

    fn wait(&self, patience: Duration) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let deadline = Instant::now() + patience;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout =
                Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: i64::from(left.subsec_nanos()) };
            let mut fds = [PollFd::new(&self.end, PollFlags::empty())];
            let _ = poll(&mut fds, Some(&timeout));
            if fds[0].revents().contains(PollFlags::HUP) {
                return true;
            }
            if left.is_zero() {
                return false;
            }
        }
    }
}
