//! A lock on a file, held until the process that took it dies: free means dead. It is not inherited by
//! children, and asking who holds it does not take it.

use crate::linux;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags, openat};
use std::io;

/// A lock that this process holds until it dies. Never open and close the same file again in this process:
/// closing any descriptor of it drops the lock.
#[derive(Debug)]
pub struct Lock {
    file: OwnedFd,
}

/// Who holds a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// Nobody: whoever held it is dead.
    Nobody,
    /// A live process.
    Somebody,
}

impl Lock {
    /// Takes the lock on `name` in `dir`, making the file; `None` if somebody else holds it.
    pub fn take(dir: impl AsFd, name: &str) -> io::Result<Option<Self>> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = openat(dir, name, flags, Mode::RUSR | Mode::WUSR)?;
        Ok(linux::try_lock(file.as_fd())?.then_some(Self { file }))
    }

    /// The locked file's content. To open it again would drop the lock.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        let size = usize::try_from(rustix::fs::fstat(&self.file)?.st_size).unwrap_or(0);
        let mut bytes = vec![0; size];
        let read = rustix::io::pread(&self.file, &mut bytes[..], 0)?;
        bytes.truncate(read);
        Ok(bytes)
    }

    /// Writes the locked file's content, in one piece.
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        match rustix::io::pwrite(&self.file, bytes, 0)? {
            n if n == bytes.len() => Ok(()),
            n => {
                Err(io::Error::new(io::ErrorKind::StorageFull, format!("wrote {n} of {} bytes", bytes.len())))
            }
        }
    }
}

/// Who holds the lock on `name` in `dir`; a missing file is held by nobody.
pub fn holder(dir: impl AsFd, name: &str) -> io::Result<Holder> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    match openat(dir, name, flags, Mode::empty()) {
        Ok(file) => {
            linux::is_locked(file.as_fd()).map(|is| if is { Holder::Somebody } else { Holder::Nobody })
        }
        Err(rustix::io::Errno::NOENT) => Ok(Holder::Nobody),
        Err(error) => Err(error.into()),
    }
}
