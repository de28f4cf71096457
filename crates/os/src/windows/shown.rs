//! Writes bytes to a console, which takes characters: an incomplete character waits for its last bytes.

use super::check;
use std::io;
use std::ptr::null;
use std::sync::{Mutex, PoisonError};
use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::Win32::System::Console::WriteConsoleW;

/// Maximum number of characters per write; older consoles refuse more than 64 KiB.
const MAX_CHARS: usize = 8 << 10;

/// The beginning of an incomplete character, for standard output and error each.
static UNFINISHED: [Mutex<Vec<u8>>; 2] = [Mutex::new(Vec::new()), Mutex::new(Vec::new())];

/// Writes bytes to a console.
pub(crate) fn show(console: HANDLE, is_error: bool, bytes: &[u8]) -> io::Result<()> {
    let mut unfinished = UNFINISHED[usize::from(is_error)].lock().unwrap_or_else(PoisonError::into_inner);
    unfinished.extend_from_slice(bytes);
    let whole = whole(&unfinished);
    let text: Vec<u16> = String::from_utf8_lossy(&unfinished[..whole]).encode_utf16().collect();
    unfinished.drain(..whole);
    let mut rest = &text[..];
    while !rest.is_empty() {
        let piece = &rest[..rest.len().min(MAX_CHARS)];
        let (len, mut shown) = (u32::try_from(piece.len()).map_err(io::Error::other)?, 0);
        // SAFETY: the piece has the length that is given; the count is ours.
        check(unsafe { WriteConsoleW(console, piece.as_ptr().cast(), len, &raw mut shown, null()) })?;
        if shown == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        rest = &rest[(shown as usize).min(rest.len())..];
    }
    Ok(())
}

/// Returns the number of bytes that are complete characters, or never will be any.
fn whole(bytes: &[u8]) -> usize {
    let mut at = 0;
    loop {
        match std::str::from_utf8(&bytes[at..]) {
            Ok(_) => return bytes.len(),
            Err(error) => match error.error_len() {
                None => return at + error.valid_up_to(),
                Some(len) => at += error.valid_up_to() + len,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::whole;

    #[test]
    fn a_character_waits_for_its_last_byte_and_nonsense_for_nothing() {
        let text = "aé→";
        assert_eq!(whole(text.as_bytes()), 6);
        assert_eq!([1, 2, 3, 4, 5].map(|cut| whole(&text.as_bytes()[..cut])), [1, 1, 3, 3, 3]);
        assert_eq!(whole(b"\xff\xffa\xc3"), 3);
        assert_eq!(whole(b""), 0);
    }
}
