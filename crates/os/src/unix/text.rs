//! Converts the system's text to the bytes in records and messages: here they are the same.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Returns the text as bytes.
pub fn bytes(text: impl AsRef<OsStr>) -> Vec<u8> {
    text.as_ref().as_bytes().to_vec()
}

/// Returns the text of these bytes; the inverse of [`bytes()`]. On systems where not all bytes are text, other
/// bytes become a replacement character, which no file's name has.
pub fn from_bytes(bytes: &[u8]) -> OsString {
    OsString::from_vec(bytes.to_vec())
}
