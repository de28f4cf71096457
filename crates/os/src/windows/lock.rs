//! Locks on files, held by a process until it dies. Others cannot read locked bytes, so the locked byte is one
//! beyond any file's end.

use std::fs::File;
use std::io;
use std::os::windows::io::AsRawHandle;
use std::time::Duration;
use windows_sys::Win32::Foundation::ERROR_LOCK_VIOLATION;
use windows_sys::Win32::Storage::FileSystem::{
    LOCKFILE_EXCLUSIVE_LOCK, LOCKFILE_FAIL_IMMEDIATELY, LockFileEx, UnlockFileEx,
};
use windows_sys::Win32::System::IO::OVERLAPPED;

/// Time limit for a look at a lock.
const PROBE_TIMEOUT: Duration = Duration::from_millis(50);

/// The upper half of the byte's offset.
const OFFSET_HIGH: u32 = 0x4000_0000;

fn far_byte() -> OVERLAPPED {
    let mut place = OVERLAPPED::default();
    place.Anonymous.Anonymous.OffsetHigh = OFFSET_HIGH;
    place
}

fn try_with(file: &File, flags: u32) -> io::Result<bool> {
    let mut place = far_byte();
    // SAFETY: the file is open, and the call fails at once instead of keeping the structure.
    let locked = unsafe {
        LockFileEx(file.as_raw_handle(), flags | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &raw mut place)
    };
    match super::check(locked) {
        Ok(()) => Ok(true),
        Err(error) if super::number(&error) == ERROR_LOCK_VIOLATION => Ok(false),
        Err(error) => Err(error),
    }
}

/// Takes the lock; `false` if another handle holds it. A look holds it too, for a moment, so this retries until any
/// look must be over.
pub(crate) fn try_lock(file: &File) -> io::Result<bool> {
    let deadline = super::awake() + PROBE_TIMEOUT;
    loop {
        let taken = try_with(file, LOCKFILE_EXCLUSIVE_LOCK)?;
        if taken || super::awake() >= deadline {
            return Ok(taken);
        }
        std::thread::yield_now();
    }
}

/// Looks at the lock by taking a share of it for a moment; looks do not see each other.
pub(crate) fn is_locked(file: &File) -> io::Result<bool> {
    if !try_with(file, 0)? {
        return Ok(true);
    }
    let mut place = far_byte();
    // SAFETY: the file is open; the place is the one that was just locked.
    super::check(unsafe { UnlockFileEx(file.as_raw_handle(), 0, 1, 0, &raw mut place) })?;
    Ok(false)
}
