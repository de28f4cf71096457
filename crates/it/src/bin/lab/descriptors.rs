//! Descriptors that stay open.

use crate::stranger::fork_to_do;
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use tenure_os::descriptors::{close_all_but, take_only};
use tenure_os::fork::SingleThread;
use tenure_os::socket::Conn;

/// Opens a descriptor at the first free number from `from`.
fn open_at(from: i32) -> OwnedFd {
    let null = rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).expect("open");
    rustix::io::fcntl_dupfd_cloexec(null, from).expect("dup")
}

/// The open descriptors from 3 up.
fn open() -> Vec<i32> {
    let dir =
        rustix::fs::open("/proc/self/fd", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).expect("open");
    let own = dir.as_raw_fd();
    let names: Vec<String> = rustix::fs::Dir::new(dir)
        .expect("a list")
        .filter_map(|entry| entry.ok()?.file_name().to_str().ok().map(str::to_owned))
        .collect();
    let mut numbers: Vec<i32> = names.iter().filter_map(|name| name.parse().ok()).collect();
    numbers.retain(|&fd| fd > 2 && fd != own);
    numbers.sort_unstable();
    numbers
}

pub(crate) fn all_but_the_passed_are_closed() {
    let alone = SingleThread::check().expect("one thread");
    let kept = [3, 4, 7, 50, 200, 201, 1000].map(|at| Conn::from_fd(open_at(at)).expect("a descriptor"));
    for wanted in &kept {
        let failed = fork_to_do(&alone, || {
            close_all_but(wanted).expect("closing");
            assert_eq!(open(), [wanted.as_fd().as_raw_fd()]);
        });
        assert_eq!(failed, 0);
    }
    let failed = fork_to_do(&alone, || {
        let only = take_only(&kept[1..4]).expect("closing");
        let numbers: Vec<_> = only.iter().map(|conn| conn.as_fd().as_raw_fd()).collect();
        assert_eq!(open(), numbers, "they were moved, not copied");
        std::mem::forget(only);
    });
    assert_eq!(failed, 0);
    let failed = fork_to_do(&alone, || {
        take_only(&[]).expect("closing");
        assert_eq!(open(), Vec::<i32>::new());
    });
    assert_eq!(failed, 0);
}
