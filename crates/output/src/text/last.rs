//! The end of the text, without reading the text before it.

use super::collected::before_chars;
use super::cursor::TextCursor;
use super::walk::Walk;
use crate::reader::end;
use crate::{Error, Piece, Reader};
use std::ops::Range;
use std::path::Path;

/// Minimum distance to look back; larger if a character takes more than 4 bytes of output.
const LOOK_BACK: u64 = 64 << 10;

/// Returns the last `chars` characters of the text of the output in `dir`.
///
/// Reading begins at most some 64 KiB before them, after the first line end there. If a sequence or a character
/// began before that and ends after it (an image, say), its rest may be shown as text, or text may be taken for its
/// rest.
pub fn last(dir: &Path, chars: usize, over: bool) -> Result<String, Error> {
    let end = end(dir)?;
    let mut back = LOOK_BACK.saturating_add((chars as u64).saturating_mul(4));
    loop {
        let from = end.saturating_sub(back);
        let mut text = text_between(dir, from..end, over)?;
        match before_chars(&text, chars) {
            Some(at) => {
                text.drain(..at);
                return Ok(text);
            }
            None if from == 0 => return Ok(text),
            None => back = back.saturating_mul(2),
        }
    }
}

/// Returns the text of these bytes from the first line on that begins after the first byte, or from the first byte
/// if no line does.
fn text_between(dir: &Path, bytes: Range<u64>, over: bool) -> Result<String, Error> {
    let mut text = String::new();
    let from = if bytes.start == 0 { 0 } else { line_start(dir, bytes.start)? };
    let mut walk = Walk::new(dir, TextCursor::at(from)).until(bytes.end);
    while !matches!(walk.piece(&mut text)?, Piece::End { .. }) {}
    if over {
        walk.finish(&mut text);
    }
    Ok(text)
}

fn line_start(dir: &Path, from: u64) -> Result<u64, Error> {
    let mut reader = Reader::new(dir);
    let mut buf = vec![0; 4 << 10];
    let mut at = from;
    while at < from + LOOK_BACK {
        let piece = reader.read(at, &mut buf)?;
        match piece {
            Piece::Bytes { len, .. } => {
                if let Some(end) = buf[..len].iter().position(|&byte| byte == b'\n') {
                    return Ok(at + end as u64 + 1);
                }
            }
            // The position is in the middle of missing bytes, whose number is unknown.
            Piece::Gap { to, .. } | Piece::Lost { to, .. } if at == from => return Ok(to),
            // After missing bytes, everything begins anew.
            Piece::Gap { .. } | Piece::Lost { .. } => return Ok(at),
            Piece::End { .. } => break,
        }
        at = piece.end();
    }
    // Within an unterminated line, begin at least with a whole character.
    let len = match reader.read(from, &mut buf[..4])? {
        Piece::Bytes { len, .. } => len,
        Piece::Gap { .. } | Piece::Lost { .. } | Piece::End { .. } => 0,
    };
    Ok(from + buf[..len].iter().take_while(|byte| (0x80..0xc0).contains(*byte)).count() as u64)
}
