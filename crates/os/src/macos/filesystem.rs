//! Which kind of file system a path lies on. Locks and shared memory that several processes of one machine agree
//! on hold only on local ones.

use rustix::fs::{statfs, statvfs};
use std::io;
use std::path::Path;

/// Returns the bytes that this user may still write to the file system of `path`, and its total size.
pub fn space(path: &Path) -> io::Result<(u64, u64)> {
    let told = statvfs(path)?;
    Ok((told.f_bavail.saturating_mul(told.f_frsize), told.f_blocks.saturating_mul(told.f_frsize)))
}

/// The name of the network file system that `path` lies on; `None` if it lies on a local one.
pub fn remote(path: &Path) -> io::Result<Option<String>> {
    let told = statfs(path)?;
    if told.f_flags & libc::MNT_LOCAL.cast_unsigned() != 0 {
        return Ok(None);
    }
    let name: Vec<u8> =
        told.f_fstypename.iter().map(|byte| byte.cast_unsigned()).take_while(|&byte| byte != 0).collect();
    Ok(Some(String::from_utf8_lossy(&name).into_owned()))
}
