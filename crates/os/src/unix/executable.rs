//! A program's file: its permissions, the users who could change it, and the facts that identify it.

use crate::executable::Facts;
use rustix::fs::{Access, Mode, OFlags, access};
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

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

/// Converts to nanoseconds. A time that is centuries away wraps around, but times are only ever compared.
fn nanoseconds(seconds: i64, rest: i64) -> i64 {
    seconds.wrapping_mul(1_000_000_000).wrapping_add(rest)
}

/// Returns the facts about the file behind all links.
pub fn facts(path: &Path) -> io::Result<Facts> {
    path.metadata().map(Facts::from)
}

/// Returns the facts about an open file.
pub fn facts_of(file: &File) -> io::Result<Facts> {
    file.metadata().map(Facts::from)
}

/// Opens a file for reading. No link is followed, and if it became a pipe meanwhile, no writer is waited for.
pub fn open(real: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(real, flags, Mode::empty()).map(File::from).map_err(Into::into)
}

/// Returns true if this user may execute a file.
pub fn may_execute(path: &Path) -> bool {
    access(path, Access::EXEC_OK).is_ok()
}

/// Returns true if this user can change a file, or replace it. An owner can give itself the permission.
pub fn may_change(path: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    let can = |path: &Path| {
        access(path, Access::WRITE_OK).is_ok()
            || path.metadata().is_ok_and(|it| it.uid() == user && user != 0)
    };
    can(path) || path.parent().is_some_and(can)
}

/// Returns the file names that a program of this name may have: its own.
pub fn spellings(name: &str) -> Vec<String> {
    vec![name.to_owned()]
}

/// Returns true if a word is a path, not a bare name.
pub fn has_place(word: &str) -> bool {
    word.contains('/')
}
