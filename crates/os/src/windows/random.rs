//! Random bytes from the system.

use std::io;
use windows_sys::Win32::Security::Authentication::Identity::RtlGenRandom;

pub(crate) fn fill_random(bytes: &mut [u8]) -> io::Result<()> {
    let len = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    // SAFETY: the buffer is ours, of the length that is given.
    if unsafe { RtlGenRandom(bytes.as_mut_ptr().cast(), len) } {
        Ok(())
    } else {
        Err(io::Error::other("the system has no random bytes"))
    }
}
