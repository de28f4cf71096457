//! Output of each format.

use super::*;

fn format(json: bool, text: bool, zone: Option<TimeZone>) -> Format {
    Format {
        json,
        cleaners: text.then(Default::default),
        stamps: zone.map(|zone| Stamps { zone, at_start: true }),
        last_ms: 0,
    }
}

/// Formats consecutive pieces.
fn printed(format: &mut Format, pieces: &[(Stream, u64, &[u8])]) -> String {
    let mut out = Vec::new();
    let mut from = 0;
    for &(stream, at_ms, bytes) in pieces {
        let mut rest = bytes;
        while !rest.is_empty() {
            let taken = format.bytes(&Bytes { from, stream, at_ms, bytes: rest }, &mut out);
            from += taken as u64;
            rest = &rest[taken..];
        }
    }
    format.finish(from, &mut out);
    String::from_utf8(out).unwrap()
}

use Stream::{Stderr, Stdout};

#[test]
fn a_line_has_the_time_of_its_first_byte() {
    let pieces: [(Stream, u64, &[u8]); 4] = [
        (Stdout, 0, b"a\nb"),
        (Stdout, 1500, b"c\n"),
        (Stderr, 86_400_000, b"d\n\n"),
        (Stdout, 86_400_001, b"e"),
    ];
    let text = printed(&mut format(false, false, Some(TimeZone::UTC)), &pieces);
    let lines = [
        "1970-01-01T00:00:00.000Z a",
        "1970-01-01T00:00:00.000Z bc",
        "1970-01-02T00:00:00.000Z d",
        "1970-01-02T00:00:00.000Z ",
        "1970-01-02T00:00:00.001Z e",
    ];
    assert_eq!(text, lines.join("\n"));
}

#[test]
fn a_local_time_has_its_utc_offset() {
    let zone = TimeZone::fixed(jiff::tz::offset(-3));
    assert_eq!(time(1_700_000_000_123, &zone), "2023-11-14T19:13:20.123-03:00");
}

#[test]
fn unfinished_sequences_are_kept_apart_by_stream() {
    let pieces: [(Stream, u64, &[u8]); 4] = [
        (Stdout, 0, b"\x1b[3"),
        (Stderr, 0, "é".as_bytes().split_at(1).0),
        (Stdout, 0, b"1mred\n"),
        (Stderr, 0, "é".as_bytes().split_at(1).1),
    ];
    assert_eq!(printed(&mut format(false, true, None), &pieces), "red\né");
}

#[test]
fn a_character_split_between_pieces_is_text_or_base64() {
    let bytes = "abé".as_bytes();
    let text = printed(&mut format(true, false, None), &[(Stdout, 7, &bytes[..3]), (Stdout, 7, &bytes[3..])]);
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0], json!({ "offset": 0, "stream": "stdout", "atMs": 7, "text": "ab" }));
    assert_eq!(lines[1]["base64"], STANDARD.encode(&bytes[2..3]));
    assert_eq!((lines[2]["offset"].as_u64(), &lines[2]["stream"]), (Some(3), &json!("stdout")));
}

#[test]
fn bytes_that_are_no_text_are_base64_and_clean_text_is_always_text() {
    let piece: [(Stream, u64, &[u8]); 1] = [(Stderr, 1, b"\xff\x00")];
    let text = printed(&mut format(true, false, None), &piece);
    assert_eq!(text, "{\"offset\":0,\"stream\":\"stderr\",\"atMs\":1,\"base64\":\"/wA=\"}\n");
    let text = printed(&mut format(true, true, None), &piece);
    assert_eq!(text, "{\"offset\":0,\"stream\":\"stderr\",\"atMs\":1,\"text\":\"\\\\xff\\\\x00\"}\n");
}

#[test]
fn a_gap_ends_an_unfinished_sequence() {
    let mut format = format(true, true, None);
    let mut out = Vec::new();
    format.bytes(&Bytes { from: 0, stream: Stdout, at_ms: 1, bytes: b"a\x1b]title" }, &mut out);
    format.missing(8, 20, GapReason::Dropped, &mut out);
    format.bytes(&Bytes { from: 20, stream: Stdout, at_ms: 1, bytes: b"b" }, &mut out);
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("{\"offset\":8,\"droppedBytes\":12}") && text.contains("\"text\":\"b\""), "{text}");
}

#[test]
fn an_incomplete_character_at_the_end_has_its_time() {
    let piece: [(Stream, u64, &[u8]); 1] = [(Stdout, 86_400_000, b"\xe4\xb8")];
    let text = printed(&mut format(false, true, Some(TimeZone::UTC)), &piece);
    assert_eq!(text, "1970-01-02T00:00:00.000Z \\xe4\\xb8");
}
