//! A lock on a file, held until the process that took it dies: free means dead. Children do not inherit it, and
//! looking for its holder does not take it.

use crate::file::Dir;
use crate::system::{self, Open};
use std::fs::File;
use std::io;

/// A lock that this process holds until it dies. Never open and close the same file again in this process:
/// closing any descriptor of it drops the lock.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

/// The holder of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// No process: the one that held it is dead.
    Nobody,
    /// A live process.
    Somebody,
}

impl Lock {
    /// Takes the lock on `name` in `dir`, and creates the file; `None` if another process holds it.
    pub fn take(dir: &Dir, name: &str) -> io::Result<Option<Self>> {
        let file = system::open_file(&dir.handle, name, Open::Lock)?;
        Ok(system::try_lock(&file)?.then_some(Self { file }))
    }

    /// Returns the locked file's content. Opening it again would drop the lock.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        let size = usize::try_from(self.file.metadata()?.len()).unwrap_or(0);
        let mut bytes = vec![0; size];
        let read = system::read_at(&self.file, &mut bytes[..], 0)?;
        bytes.truncate(read);
        Ok(bytes)
    }

    /// Writes the locked file's content, in one piece.
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        match system::write_at(&self.file, bytes, 0)? {
            n if n == bytes.len() => Ok(()),
            n => {
                Err(io::Error::new(io::ErrorKind::StorageFull, format!("wrote {n} of {} bytes", bytes.len())))
            }
        }
    }
}

/// Returns the holder of the lock on `name` in `dir`; a missing file has none.
pub fn holder(dir: &Dir, name: &str) -> io::Result<Holder> {
    match system::open_file(&dir.handle, name, Open::Look) {
        Ok(file) => system::is_locked(&file).map(|is| if is { Holder::Somebody } else { Holder::Nobody }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Holder::Nobody),
        Err(error) => Err(error),
    }
}
