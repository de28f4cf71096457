//! The kind of disk of a path. Locks and memory shared by the processes of a machine work only on local ones.

use super::{check, wide};
use std::io;
use std::path::Path;
use std::ptr::null_mut;
use windows_sys::Win32::Storage::FileSystem::{GetDiskFreeSpaceExW, GetDriveTypeW, GetVolumePathNameW};
use windows_sys::Win32::System::WindowsProgramming::DRIVE_REMOTE;

/// Returns the bytes that this user may still write to the file system of `path`, and its total size.
pub fn space(path: &Path) -> io::Result<(u64, u64)> {
    let (name, mut free, mut total) = (wide(path), 0, 0);
    // SAFETY: the name ends in a zero; the counts are ours, and the pointer for the unused count is null.
    check(unsafe { GetDiskFreeSpaceExW(name.as_ptr(), &raw mut free, &raw mut total, null_mut()) })?;
    Ok((free, total))
}

/// Returns the name of the network file system of `path`; `None` if it is local.
pub fn remote(path: &Path) -> io::Result<Option<String>> {
    std::fs::metadata(path)?;
    let name = wide(std::path::absolute(path)?);
    let mut volume = vec![0_u16; name.len().max(260) + 1];
    let len = u32::try_from(volume.len()).map_err(io::Error::other)?;
    // SAFETY: the name ends in a zero; the volume's name is ours, of the length that is given.
    check(unsafe { GetVolumePathNameW(name.as_ptr(), volume.as_mut_ptr(), len) })?;
    // SAFETY: the call has written a name that ends in a zero.
    let kind = unsafe { GetDriveTypeW(volume.as_ptr()) };
    Ok((kind == DRIVE_REMOTE).then(|| "a network drive".to_owned()))
}
