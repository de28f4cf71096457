//! Text of the system's as the bytes that records and messages have: here they are the same.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// The text as bytes.
pub fn bytes(text: impl AsRef<OsStr>) -> Vec<u8> {
    text.as_ref().as_bytes().to_vec()
}

/// The text that these bytes are: of what [`bytes()`] gave, the same. Where not all bytes are text, others have a
/// replacement character, which no file's name has.
pub fn from_bytes(bytes: &[u8]) -> OsString {
    OsString::from_vec(bytes.to_vec())
}
