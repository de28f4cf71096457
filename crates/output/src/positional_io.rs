//! Reads and writes at a position of a file: the only system calls of this crate beyond `std`.

use std::fs::File;
use std::io;
use tenure_os::file::{read_at, write_at};

/// Writes the beginning of `bytes`, as much as one call takes; returns its length.
pub(crate) fn write(file: &File, bytes: &[u8], at: u64) -> io::Result<usize> {
    #[cfg(test)]
    let bytes = disk::grant(file, bytes, at)?;
    again(|| write_at(file, bytes, at))
}

/// Writes all of `bytes`.
pub(crate) fn write_all(file: &File, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = write(file, bytes, at)?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        bytes = &bytes[written..];
        at += written as u64;
    }
    Ok(())
}

/// Fills `buf` as far as the file reaches; returns the length.
pub(crate) fn read(file: &File, buf: &mut [u8], at: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buf.len() {
        match again(|| read_at(file, &mut buf[filled..], at + filled as u64))? {
            0 => break,
            more => filled += more,
        }
    }
    Ok(filled)
}

fn again<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// A simulated disk that is full at a byte set by the test (only growth of a file costs space), under a writer that
/// dies at a write set by the test.
#[cfg(test)]
pub(crate) mod disk {
    use std::cell::Cell;
    use std::fs::File;
    use std::io;

    thread_local! {
        static FREE: Cell<u64> = const { Cell::new(u64::MAX) };
        static WRITES: Cell<u64> = const { Cell::new(u64::MAX) };
    }

    /// Sets the number of bytes by which this thread's files may still grow.
    pub(crate) fn set_free(bytes: u64) {
        FREE.set(bytes);
    }

    /// Sets the number of writes of this thread that still reach the disk.
    pub(crate) fn set_writes(writes: u64) {
        WRITES.set(writes);
    }

    pub(super) fn grant<'b>(file: &File, bytes: &'b [u8], at: u64) -> io::Result<&'b [u8]> {
        let Some(left) = WRITES.get().checked_sub(1) else { return Err(io::ErrorKind::Other.into()) };
        WRITES.set(left);
        let overwritten = file.metadata()?.len().saturating_sub(at);
        let granted = (bytes.len() as u64).min(overwritten.saturating_add(FREE.get()));
        if granted == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        FREE.set(FREE.get() - granted.saturating_sub(overwritten));
        Ok(&bytes[..usize::try_from(granted).expect("a part of a slice")])
    }
}
