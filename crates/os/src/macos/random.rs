//! Random bytes from the system.

use super::check;
use std::io;

/// Maximum number of bytes per call.
const MAX_BYTES: usize = 256;

pub(crate) fn fill_random(bytes: &mut [u8]) -> io::Result<()> {
    for part in bytes.chunks_mut(MAX_BYTES) {
        // SAFETY: the bytes are ours, and as many as we say.
        check(unsafe { libc::getentropy(part.as_mut_ptr().cast(), part.len()) }.into())?;
    }
    Ok(())
}
