//! Converts the system's text to the bytes in records and messages: UTF-8. The system's text consists of 16-bit
//! units, not all of which are valid; half a pair is encoded like a character, so that it can be decoded again.

use std::ffi::{OsStr, OsString};
use std::os::windows::ffi::{OsStrExt, OsStringExt};

/// Returns the text as bytes.
pub fn bytes(text: impl AsRef<OsStr>) -> Vec<u8> {
    let text = text.as_ref();
    if let Some(text) = text.to_str() {
        return text.as_bytes().to_vec();
    }
    let mut bytes = Vec::with_capacity(text.len());
    for found in char::decode_utf16(text.encode_wide()) {
        match found {
            Ok(c) => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            Err(half) => {
                let [high, low] = half.unpaired_surrogate().to_be_bytes();
                bytes.extend([0xed, 0x80 | ((high & 0x0f) << 2) | (low >> 6), 0x80 | (low & 0x3f)]);
            }
        }
    }
    bytes
}

/// Returns the text of these bytes; the inverse of [`bytes()`]. Other bytes that are not text become a replacement
/// character, which no file's name has.
pub fn from_bytes(bytes: &[u8]) -> OsString {
    let mut units = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while !rest.is_empty() {
        let valid = std::str::from_utf8(rest).map_or_else(|error| error.valid_up_to(), str::len);
        let (text, after) = rest.split_at(valid);
        units.extend(String::from_utf8_lossy(text).encode_utf16());
        rest = match after {
            [] => after,
            [0xed, high @ 0xa0..=0xbf, low @ 0x80..=0xbf, after @ ..] => {
                units.push(0xd000 | (u16::from(high & 0x3f) << 6) | u16::from(low & 0x3f));
                after
            }
            [_, after @ ..] => {
                units.push(0xfffd);
                after
            }
        };
    }
    OsString::from_wide(&units)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_reads_back_as_it_was_even_where_it_is_none() {
        for units in
            [&[][..], &[0x61, 0xe4, 0x20ac], &[0xd83d, 0xde00], &[0x61, 0xd83d, 0x62], &[0xdfff, 0xd800]]
        {
            let text = OsString::from_wide(units);
            assert_eq!(from_bytes(&bytes(&text)), text, "{units:x?}");
        }
        assert_eq!(bytes("aä€"), "aä€".as_bytes());
    }

    #[test]
    fn bytes_that_are_no_text_become_no_other_text() {
        assert_eq!(from_bytes(b"a\xffb\xed\xa0"), OsString::from("a\u{fffd}b\u{fffd}\u{fffd}"));
    }
}
