//! Unread text, beginning and end: the cases that are easily got wrong.

use super::{ALL, Place};
use crate::Writer;
use crate::text::{Cut, TextCursor, head, last, unread};
use tenure_core::output::{Keep, Stream};

struct Run {
    place: Place,
    writer: Writer,
    mark: TextCursor,
}

impl Run {
    fn new() -> Self {
        let place = Place::new();
        let writer = place.writer(ALL);
        Self { place, writer, mark: TextCursor::default() }
    }

    fn of(bytes: impl AsRef<[u8]>) -> Self {
        let mut run = Self::new();
        run.says(bytes);
        run
    }

    fn says(&mut self, bytes: impl AsRef<[u8]>) {
        self.writer.append(Stream::Stdout, bytes.as_ref(), 1);
    }

    fn complains(&mut self, bytes: impl AsRef<[u8]>) {
        self.writer.append(Stream::Stderr, bytes.as_ref(), 1);
    }

    fn news(&mut self, over: bool) -> String {
        let new = unread(&self.place.dir, self.mark, 1000, over).unwrap();
        assert_eq!(new.cut, None);
        self.mark = new.to;
        new.text
    }

    fn head(&self, cap: usize) -> (String, Option<u64>, Option<u64>) {
        let head = head(&self.place.dir, cap, false).unwrap();
        assert_eq!(head.truncated, head.next_line.is_some());
        (head.text, head.next_line, head.next_offset)
    }

    fn last(&self, chars: usize) -> String {
        last(&self.place.dir, chars, false).unwrap()
    }
}

#[test]
fn silence_is_no_text() {
    let mut run = Run::new();
    assert_eq!(run.news(false) + &run.news(true) + &run.last(10), "");
    assert_eq!(run.head(10), (String::new(), None, None));
    let nowhere = Place::new();
    assert_eq!(unread(&nowhere.dir, TextCursor::default(), 10, true).unwrap().text, "");
    assert_eq!(last(&nowhere.dir, 10, true).unwrap(), "");
}

#[test]
fn what_is_not_yet_known_waits_for_its_rest() {
    let mut run = Run::of(b"a\x1b[3");
    assert_eq!(run.news(false), "a");
    run.says(b"1mb\xe4\xb8");
    assert_eq!(run.news(false), "b");
    run.says(b"\xadc\r");
    assert_eq!(run.news(false), "中c");
    run.says(b"\nd\r");
    assert_eq!(run.news(false), "\nd");
    run.says(b"e\x1b]0;title");
    assert_eq!(run.news(false), "\ne");
    run.says(b"\x07f\xf0\x9f");
    assert_eq!(run.news(false), "f");
    assert_eq!(run.news(true), "\\xf0\\x9f");
    assert_eq!(run.news(true), "");
}

#[test]
fn neither_stream_tears_the_other_s_sequence_or_character() {
    let mut run = Run::of(b"out\xe4\xb8\n\x1b[3");
    run.complains(b"1m\xc3");
    run.says(b"1mred");
    run.complains(b"\xa9");
    assert_eq!(run.news(true), "out\\xe4\\xb8\n1mredé");
}

#[test]
fn a_string_that_never_ends_hides_its_own_stream_only() {
    let mut run = Run::of(b"\x1bPdata");
    run.complains(b"seen\n");
    assert_eq!(run.news(false), "seen\n");
    run.says(vec![b'x'; (1 << 20) + 1]);
    run.says(b"seen again\n");
    assert_eq!(run.news(false).trim_start_matches('x'), "seen again\n");
}

#[test]
fn what_one_stream_left_with_a_carriage_return_ends_with_the_other_s_text() {
    let mut run = Run::of(b"10%\r");
    run.complains(b"warning\n");
    run.says(b"20%\r");
    run.complains(b"\r\n");
    run.says(b"30%\r\n");
    assert_eq!(run.news(true), "10%\nwarning\n20%\n30%\n");
}

#[test]
fn nulls_are_shown() {
    let mut run = Run::of([0; 3]);
    assert_eq!(run.news(false), "\\x00\\x00\\x00");
}

#[test]
fn of_too_much_the_newest_lines_are_shown() {
    let run = Run::of("first\nsecond\nthird\nfourth\n");
    let new = unread(&run.place.dir, TextCursor::default(), 18, false).unwrap();
    let says = "[… 13 bytes before this are not shown: process log, offset 0]\n";
    assert_eq!(new.text, format!("{says}third\nfourth\n"));
    assert_eq!(new.cut, Some(Cut { from_offset: 0, from_line: 0, bytes: 13 }));
    // Exactly at a line's beginning, no more is cut.
    let exact = unread(&run.place.dir, TextCursor::default(), 13, false).unwrap();
    assert_eq!(exact.text, format!("{says}third\nfourth\n"));
    assert_eq!(unread(&run.place.dir, TextCursor::default(), 26, false).unwrap().cut, None);
}

#[test]
fn what_is_not_shown_is_counted_from_the_mark() {
    let mut run = Run::of("one\ntwo\nthr");
    run.news(false);
    run.says("ee\nfour\nfive\n");
    let new = unread(&run.place.dir, run.mark, 5, false).unwrap();
    assert_eq!(new.cut, Some(Cut { from_offset: 11, from_line: 2, bytes: 8 }));
    assert_eq!(new.text, "[… 8 bytes before this are not shown: process log, offset 2]\nfive\n");
}

#[test]
fn the_end_of_an_enormous_line_is_shown_although_it_is_no_line() {
    let line = "é".repeat(5_000_000);
    let run = Run::of(format!("{line}\nend\n"));
    let new = unread(&run.place.dir, TextCursor::default(), 1000, false).unwrap();
    let cut = new.cut.unwrap();
    assert_eq!(cut.bytes, 10_000_005 - (995 * 2 + 5));
    let shown = format!("{}\nend\n", "é".repeat(995));
    assert_eq!(
        new.text,
        format!("[… 9,998,010 bytes before this are not shown: process log, offset 0]\n{shown}")
    );
    assert_eq!(run.last(1000), shown);
}

#[test]
fn the_head_ends_at_a_line_end_when_it_can() {
    let run = Run::of("\x1b[1mone\x1b[0m\r\ntwo\r\nthree");
    assert_eq!(run.head(100), ("one\ntwo\nthree".into(), None, None));
    assert_eq!(run.head(13), ("one\ntwo\nthree".into(), None, None));
    assert_eq!(run.head(12), ("one\ntwo\n".into(), Some(2), Some(18)));
    assert_eq!(run.head(8), ("one\ntwo\n".into(), Some(2), Some(18)));
    assert_eq!(run.head(3), ("one\n".into(), Some(1), Some(13)));
    assert_eq!(run.head(2), ("on\n[… this line goes on at byte 6 …]\n".into(), Some(1), Some(6)));
}

#[test]
fn the_head_of_what_ends_where_the_cap_does_is_not_truncated() {
    for len in [99, 100, 101, 199, 200, 201] {
        let line = "x".repeat(len);
        assert_eq!(Run::of(&line).head(len), (line.clone(), None, None));
        assert_eq!(Run::of(format!("{line}\n")).head(len), (format!("{line}\n"), None, None));
        let more = Run::of(format!("{line}\ny"));
        assert_eq!(more.head(len), (format!("{line}\n"), Some(1), Some(len as u64 + 1)));
    }
}

#[test]
fn a_line_that_a_carriage_return_ended_begins_with_it() {
    let run = Run::of(b"10%\r20%\r\x1b[K30%\n");
    assert_eq!(run.head(8), ("10%\n20%\n".into(), Some(2), Some(7)));
}

#[test]
fn the_end_is_read_from_a_line_s_beginning_not_from_inside_a_sequence() {
    let lines = "\x1b[38;5;123mcolour\x1b[0m é\n".repeat(20_000);
    let run = Run::of(format!("first\n{lines}"));
    assert_eq!(run.last(18), "colour é\ncolour é\n");
    for chars in [1, 100, 20_000, 150_000] {
        let text = "colour é\n".repeat(20_000);
        let from = text.char_indices().nth_back(chars - 1).unwrap().0;
        assert_eq!(run.last(chars), text[from..]);
    }
    assert_eq!(run.last(1 << 20), format!("first\n{}", "colour é\n".repeat(20_000)));
}

#[test]
fn a_gap_is_told_with_its_size_wherever_one_reads() {
    let place = Place::new();
    let mut writer = place.writer(Keep { head: 6, tail: 0 });
    writer.append(Stream::Stdout, b"head\n\x1b[1", 1);
    for now in 0..5 {
        writer.append(Stream::Stdout, "\x1b[1mx".repeat(13_107).as_bytes(), now);
        writer.append(Stream::Stdout, b"\n", now);
    }
    writer.append(Stream::Stdout, b"m", 9);
    assert_eq!(writer.totals().dropped_bytes, 262_144);
    let told = "head\n[… 262,144 bytes were dropped here …]\n";
    let new = unread(&place.dir, TextCursor::default(), 1 << 20, true).unwrap();
    assert_eq!(new.text.replace('x', ""), format!("{told}\n\nm"));
    assert_eq!(last(&place.dir, 1 << 20, true).unwrap(), new.text);
    // The first look back ends inside the gap.
    assert_eq!(last(&place.dir, 20_000, true).unwrap(), new.text);
    let all = new.text.chars().count();
    assert_eq!(last(&place.dir, all - 6, true).unwrap(), new.text["head\n[".len()..]);
    assert!(head(&place.dir, 100, true).unwrap().text.starts_with(told));
}

#[test]
fn a_mark_survives_storing_and_a_forged_one_does_no_harm() {
    let mut run = Run::of(b"a\xf0\x9f\x8e");
    run.complains(b"\x1b]0;");
    run.news(false);
    let json = serde_json::to_value(run.mark).unwrap();
    run.says(b"\x89b");
    run.complains(b"\x07c");
    let mark: TextCursor = serde_json::from_value(json.clone()).unwrap();
    assert_eq!(unread(&run.place.dir, mark, 10, true).unwrap().text, "🎉bc");
    let mut forged = json;
    forged["merger"]["decoders"][0]["partial"] = serde_json::json!([97, 240, 159]);
    forged["offset"] = 1.into();
    let mark: TextCursor = serde_json::from_value(forged).unwrap();
    unread(&run.place.dir, mark, 10, true).unwrap();
}
