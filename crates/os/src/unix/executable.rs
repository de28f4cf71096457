//! A program's file: whether it may be executed, who could change it, and what tells it from another.

use rustix::fs::{Access, Mode, OFlags, access};
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What tells a file from another, and from itself at another time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Whether it is a regular file.
    pub is_file: bool,
    /// The device it is on.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
    /// Its length in bytes.
    pub size: u64,
    /// When its content changed, in nanoseconds of the epoch.
    pub modified_ns: i64,
    /// When anything about it changed, in nanoseconds of the epoch.
    pub changed_ns: i64,
    /// Its kind and permissions, as the system writes them.
    pub mode: u32,
}

impl From<Metadata> for Facts {
    fn from(its: Metadata) -> Self {
        Self {
            is_file: its.is_file(),
            device: its.dev(),
            inode: its.ino(),
            size: its.size(),
            modified_ns: nanoseconds(its.mtime(), its.mtime_nsec()),
            changed_ns: nanoseconds(its.ctime(), its.ctime_nsec()),
            mode: its.mode(),
        }
    }
}

/// A time that is centuries away wraps around; it is only ever compared.
fn nanoseconds(seconds: i64, rest: i64) -> i64 {
    seconds.wrapping_mul(1_000_000_000).wrapping_add(rest)
}

/// The facts about the file behind all links.
pub fn facts(path: &Path) -> io::Result<Facts> {
    path.metadata().map(Facts::from)
}

/// The facts about a file that is open.
pub fn facts_of(file: &File) -> io::Result<Facts> {
    file.metadata().map(Facts::from)
}

/// Opens a file to read it. No link is followed, and if it became a pipe meanwhile, no writer is waited for.
pub fn open(real: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(real, flags, Mode::empty()).map(File::from).map_err(Into::into)
}

/// Whether this user may execute a file.
pub fn may_execute(path: &Path) -> bool {
    access(path, Access::EXEC_OK).is_ok()
}

/// Whether this user can change a file, or put another one in its place. An owner can give itself the permission.
pub fn may_change(path: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    let can = |path: &Path| {
        access(path, Access::WRITE_OK).is_ok()
            || path.metadata().is_ok_and(|it| it.uid() == user && user != 0)
    };
    can(path) || path.parent().is_some_and(can)
}

/// The names that a program may have that is called by this one: its own.
pub fn spellings(name: &str) -> Vec<String> {
    vec![name.to_owned()]
}

/// Whether a word says where a program is, instead of what it is called.
pub fn has_place(word: &str) -> bool {
    word.contains('/')
}
