//! The kind of file system of a path. Locks and memory shared by the processes of a machine work only on local
//! ones.

use rustix::fs::{statfs, statvfs};
use std::io;
use std::path::Path;

/// Returns the bytes that this user may still write to the file system of `path`, and its total size.
pub fn space(path: &Path) -> io::Result<(u64, u64)> {
    let told = statvfs(path)?;
    Ok((told.f_bavail.saturating_mul(told.f_frsize), told.f_blocks.saturating_mul(told.f_frsize)))
}

/// Returns the name of the network file system of `path`; `None` if it is local.
pub fn remote(path: &Path) -> io::Result<Option<String>> {
    let told = statfs(path)?;
    if told.f_flags & libc::MNT_LOCAL.cast_unsigned() != 0 {
        return Ok(None);
    }
    let name: Vec<u8> =
        told.f_fstypename.iter().map(|byte| byte.cast_unsigned()).take_while(|&byte| byte != 0).collect();
    Ok(Some(String::from_utf8_lossy(&name).into_owned()))
}
