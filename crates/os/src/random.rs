//! Random bytes from the system.

use crate::system;
use std::io;

/// Returns `N` unpredictable bytes.
pub fn bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    system::fill_random(&mut bytes)?;
    Ok(bytes)
}
