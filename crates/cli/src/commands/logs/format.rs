//! Formats pieces of output for `logs`: raw, as clean text, with timestamps, or as JSON.

use crate::args::LogsArgs;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::json;
use tenure_core::output::Stream;
use tenure_os::stderr::complain;
use tenure_output::Cleaner;

/// Some bytes of one stream.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bytes<'a> {
    pub(super) from: u64,
    pub(super) stream: Stream,
    pub(super) at_ms: u64,
    pub(super) bytes: &'a [u8],
}

/// Reason why bytes are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GapReason {
    /// They were dropped to keep newer ones.
    Dropped,
    /// They were lost because the disk was full.
    Lost,
}

/// The format, with the state of unfinished text and lines.
pub(super) struct Format {
    json: bool,
    /// A cleaner for each stream: an escape sequence that begins on one stream does not end on the other.
    cleaners: Option<[Cleaner; 2]>,
    stamps: Option<Stamps>,
    /// Time of the last bytes.
    last_ms: u64,
}

/// Puts the time before each line.
struct Stamps {
    zone: TimeZone,
    /// True if the next byte begins a line.
    at_start: bool,
}

impl Format {
    pub(super) fn new(args: &LogsArgs) -> Self {
        let zone = if args.utc { TimeZone::UTC } else { TimeZone::system() };
        Self {
            json: args.json,
            cleaners: args.text.then(Default::default),
            stamps: args.timestamps.then_some(Stamps { zone, at_start: true }),
            last_ms: 0,
        }
    }

    /// Formats bytes; returns how many were consumed. The caller passes the others again.
    pub(super) fn bytes(&mut self, piece: &Bytes<'_>, out: &mut Vec<u8>) -> usize {
        self.last_ms = piece.at_ms;
        let bytes = piece.bytes;
        match &mut self.cleaners {
            Some(cleaners) => {
                let mut text = String::new();
                cleaners[piece.stream as usize].push(bytes, &mut text);
                self.text(piece, &text, out);
                bytes.len()
            }
            None if self.json => {
                let whole = &bytes[..whole_characters(bytes)];
                match std::str::from_utf8(whole) {
                    Ok(text) => object(piece, "text", text, out),
                    Err(_) => object(piece, "base64", &STANDARD.encode(whole), out),
                }
                whole.len()
            }
            None => {
                self.plain(piece.at_ms, bytes, out);
                bytes.len()
            }
        }
    }

    /// Reports missing bytes. Text that was begun before them is finished first.
    pub(super) fn missing(&mut self, from: u64, to: u64, why: GapReason, out: &mut Vec<u8>) {
        self.finish(from, out);
        match (self.json, why) {
            (true, GapReason::Dropped) => line(&json!({ "offset": from, "droppedBytes": to - from }), out),
            (true, GapReason::Lost) => line(&json!({ "offset": from, "lostBytes": to - from }), out),
            (false, GapReason::Dropped) => {
                complain(format_args!("bytes {from} to {to} were dropped to keep newer ones"));
            }
            (false, GapReason::Lost) => {
                complain(format_args!("bytes {from} to {to} were lost: the disk was full"));
            }
        }
    }

    /// Flushes buffered text that was waiting for more bytes.
    pub(super) fn finish(&mut self, at: u64, out: &mut Vec<u8>) {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let Some(cleaners) = &mut self.cleaners else { return };
            let mut text = String::new();
            cleaners[stream as usize].finish(&mut text);
            if !text.is_empty() {
                let piece = Bytes { from: at, stream, at_ms: self.last_ms, bytes: &[] };
                self.text(&piece, &text, out);
            }
        }
    }

    fn text(&mut self, piece: &Bytes<'_>, text: &str, out: &mut Vec<u8>) {
        if self.json {
            object(piece, "text", text, out);
        } else {
            self.plain(piece.at_ms, text.as_bytes(), out);
        }
    }

    fn plain(&mut self, at_ms: u64, bytes: &[u8], out: &mut Vec<u8>) {
        let Some(stamps) = &mut self.stamps else {
            out.extend_from_slice(bytes);
            return;
        };
        let mut stamp = None;
        for line in bytes.split_inclusive(|&b| b == b'\n') {
            if std::mem::replace(&mut stamps.at_start, line.ends_with(b"\n")) {
                let stamp = stamp.get_or_insert_with(|| time(at_ms, &stamps.zone));
                out.extend_from_slice(stamp.as_bytes());
                out.push(b' ');
            }
            out.extend_from_slice(line);
        }
    }
}

fn object(piece: &Bytes<'_>, name: &str, content: &str, out: &mut Vec<u8>) {
    let &Bytes { from, stream, at_ms, .. } = piece;
    line(&json!({ "offset": from, "stream": stream, "atMs": at_ms, (name): content }), out);
}

fn line(value: &serde_json::Value, out: &mut Vec<u8>) {
    out.extend_from_slice(value.to_string().as_bytes());
    out.push(b'\n');
}

/// Formats a time as RFC 3339, with milliseconds.
fn time(at_ms: u64, zone: &TimeZone) -> String {
    let at =
        i64::try_from(at_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok()).unwrap_or_default();
    let format = if *zone == TimeZone::UTC { "%Y-%m-%dT%H:%M:%S%.3fZ" } else { "%Y-%m-%dT%H:%M:%S%.3f%:z" };
    at.to_zoned(zone.clone()).strftime(format).to_string()
}

/// Number of bytes before an incomplete character at the end; all of them, if nothing is before it.
fn whole_characters(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() && error.valid_up_to() > 0 => error.valid_up_to(),
        _ => bytes.len(),
    }
}

#[cfg(test)]
mod tests;
