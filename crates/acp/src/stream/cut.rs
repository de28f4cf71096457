//! Cuts the middle out of a line that is too long. Lines are long because of a text, and a message with a shorter text is
//! still a message.

use crate::message::Message;

/// The length of the longest escape, a pair of surrogates. Without a backslash in so many bytes there is no escape.
const ESCAPE: usize = 12;
/// Distance from the cut in which a position outside of escapes is searched for.
const SEARCH_DISTANCE: usize = 1_000;

/// Reads the messages of a line from its beginning and its end; also returns the number of bytes left out.
pub(super) fn read(head: &[u8], tail: &[u8], length: u64) -> Option<(Vec<Message>, u64)> {
    let [heads, tails] = [ends_of(head), begins_of(tail)];
    heads.iter().flat_map(|&head| tails.iter().map(move |&tail| (head, tail))).find_map(|(end, begin)| {
        let (head, tail) = (&head[..end], &tail[begin..]);
        let cut = length.saturating_sub((head.len() + tail.len()) as u64);
        let note = format!(" … ({cut} bytes left out) … ");
        let line = [head, note.as_bytes(), tail].concat();
        // Parameters stay unparsed: check now that they are valid JSON.
        serde_json::from_slice::<serde_json::Value>(&line).ok()?;
        Message::read(line.trim_ascii()).ok().map(|all| (all, cut))
    })
}

/// Returns the positions where a text can end, the likeliest first.
fn ends_of(head: &[u8]) -> Vec<usize> {
    let least = head.len().saturating_sub(SEARCH_DISTANCE).max(ESCAPE.min(head.len()));
    // The last character may not be whole: none ends at the very end.
    let plain = (least..head.len())
        .rev()
        .find(|&end| is_boundary(head, end) && !head[end.saturating_sub(ESCAPE)..end].contains(&b'\\'));
    let before_escapes = (least..head.len()).rev().filter(|&end| begins_escape(head, end));
    let any = [head.len(), head.len().saturating_sub(1)];
    plain.into_iter().chain(before_escapes.take(3)).chain(any).collect()
}

/// Returns the positions where the rest of a text can begin, the likeliest first.
fn begins_of(tail: &[u8]) -> Vec<usize> {
    let most = tail.len().min(SEARCH_DISTANCE);
    let plain = (ESCAPE..most)
        .find(|&begin| is_boundary(tail, begin) && !tail[begin - ESCAPE..begin].contains(&b'\\'));
    let at_escapes = (1..most).filter(|&begin| begins_escape(tail, begin));
    plain.into_iter().chain(at_escapes.take(3)).chain([0, 1]).filter(|&begin| begin <= tail.len()).collect()
}

/// Returns true if a character begins here.
fn is_boundary(bytes: &[u8], at: usize) -> bool {
    bytes[at] & 0xc0 != 0x80
}

/// Returns true if an escape surely begins here: after another backslash it is unknown.
fn begins_escape(bytes: &[u8], at: usize) -> bool {
    bytes[at] == b'\\' && bytes[at - 1] != b'\\'
}
