//! A line that is too long, without its middle: where the cut is in a text, which is what makes lines long, the rest is still
//! a message.

use crate::message::Message;

/// The length of the longest escape, a pair of surrogates: without a backslash in so many bytes there is none.
const ESCAPE: usize = 12;
/// How far from the cut a place is looked for that is in no escape.
const NEAR: usize = 1_000;

/// Reads the messages of a line of which the beginning and the end are there; returns how many bytes were left out, too.
pub(super) fn read(head: &[u8], tail: &[u8], length: u64) -> Option<(Vec<Message>, u64)> {
    let [heads, tails] = [ends_of(head), begins_of(tail)];
    heads.iter().flat_map(|&head| tails.iter().map(move |&tail| (head, tail))).find_map(|(end, begin)| {
        let (head, tail) = (&head[..end], &tail[begin..]);
        let cut = length.saturating_sub((head.len() + tail.len()) as u64);
        let note = format!(" … ({cut} bytes left out) … ");
        let line = [head, note.as_bytes(), tail].concat();
        // What is read later must be JSON to its last escape.
        serde_json::from_slice::<serde_json::Value>(&line).ok()?;
        Message::read(line.trim_ascii()).ok().map(|all| (all, cut))
    })
}

/// Where a text can end, the likeliest first.
fn ends_of(head: &[u8]) -> Vec<usize> {
    let least = head.len().saturating_sub(NEAR).max(ESCAPE.min(head.len()));
    // The last character may not be whole: none ends at the very end.
    let plain = (least..head.len())
        .rev()
        .find(|&end| is_boundary(head, end) && !head[end.saturating_sub(ESCAPE)..end].contains(&b'\\'));
    let before_escapes = (least..head.len()).rev().filter(|&end| begins_escape(head, end));
    let any = [head.len(), head.len().saturating_sub(1)];
    plain.into_iter().chain(before_escapes.take(3)).chain(any).collect()
}

/// Where the rest of a text can begin, the likeliest first.
fn begins_of(tail: &[u8]) -> Vec<usize> {
    let most = tail.len().min(NEAR);
    let plain = (ESCAPE..most)
        .find(|&begin| is_boundary(tail, begin) && !tail[begin - ESCAPE..begin].contains(&b'\\'));
    let at_escapes = (1..most).filter(|&begin| begins_escape(tail, begin));
    plain.into_iter().chain(at_escapes.take(3)).chain([0, 1]).filter(|&begin| begin <= tail.len()).collect()
}

/// Whether a character begins here.
fn is_boundary(bytes: &[u8], at: usize) -> bool {
    bytes[at] & 0xc0 != 0x80
}

/// Whether an escape begins here; where backslashes follow one another, nobody can tell.
fn begins_escape(bytes: &[u8], at: usize) -> bool {
    bytes[at] == b'\\' && bytes[at - 1] != b'\\'
}
