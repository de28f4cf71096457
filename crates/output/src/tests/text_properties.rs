//! Properties of the text, whatever the output is and however it is cut.

use super::{ALL, Place};
use crate::text::{Ask, LineIndex, Page, TextCursor, head, last, page, unread};
use crate::{Cleaner, Writer};
use proptest::prelude::*;
use tenure_core::output::Stream;

const MANY: usize = 1 << 30;

/// Some bytes of a stream, and the number of lines that are requested then, if any.
type Piece = (Stream, Vec<u8>, Option<u64>);

fn word() -> impl Strategy<Value = Vec<u8>> {
    const WORDS: [&[u8]; 22] = [
        b"\x1b",
        b"\x1b[31m",
        b"\x1b]0;t",
        b"\x1bP",
        b"\x1b\\",
        b"[",
        b"m",
        b"1;2",
        b"\r",
        b"\r\n",
        b"\n",
        b"\n\n",
        b"\x07",
        b"a",
        b"a few words ",
        b"a line\n",
        "é🎉".as_bytes(),
        b"\xe4\xb8",
        b"\xff",
        "\u{200b}".as_bytes(),
        b"\t\x00",
        b"\xf0",
    ];
    prop_oneof![
        6 => prop::sample::select(WORDS.to_vec()).prop_map(<[u8]>::to_vec),
        1 => any::<u8>().prop_map(|byte| vec![byte]),
    ]
}

fn pieces() -> impl Strategy<Value = Vec<Piece>> {
    let stream = prop::sample::select(vec![Stream::Stdout, Stream::Stderr]);
    let bytes = prop::collection::vec(word(), 0..8).prop_map(|words| words.concat());
    prop::collection::vec((stream, bytes, prop::option::of(1..9_u64)), 0..30)
}

/// Returns the whole present text.
fn whole(place: &Place, over: bool) -> String {
    let all = unread(&place.dir, TextCursor::default(), MANY, over).unwrap();
    assert_eq!(all.cut, None);
    all.text
}

fn write(place: &Place, pieces: &[Piece]) -> Writer {
    let mut writer = place.writer(ALL);
    for (at_ms, (stream, bytes, _)) in (0..).zip(pieces) {
        writer.append(*stream, bytes, at_ms * 3);
    }
    writer
}

fn stored(mark: TextCursor) -> TextCursor {
    serde_json::from_str(&serde_json::to_string(&mark).unwrap()).unwrap()
}

/// Checks that a page has the lines of the text that it claims.
fn is_of(page: &Page, text: &str, limit: u64) {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let first = usize::try_from(page.first_line).unwrap().min(lines.len());
    let after = first.saturating_add(usize::try_from(limit).unwrap()).min(lines.len());
    assert_eq!(page.text, lines[first..after].concat(), "of {text:?}");
    assert_eq!((page.lines, page.total_lines), ((after - first) as u64, lines.len() as u64));
    assert_eq!(page.next_line, (after < lines.len() && after > first).then_some(after as u64));
    assert_eq!((page.truncated, page.next_offset.is_some()), (false, page.next_line.is_some()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn however_marks_cut_the_output_the_texts_together_are_the_same(pieces in pieces()) {
        let place = Place::new();
        let mut writer = place.writer(ALL);
        let (mut text, mut mark) = (String::new(), TextCursor::default());
        for (at_ms, (stream, bytes, read)) in (0..).zip(&pieces) {
            writer.append(*stream, bytes, at_ms * 3);
            if read.is_some() {
                let new = unread(&place.dir, mark, MANY, false).unwrap();
                text.push_str(&new.text);
                mark = stored(new.to);
                prop_assert_eq!(mark.offset(), writer.totals().bytes);
                prop_assert_eq!(mark.line(), text.matches('\n').count() as u64);
            }
        }
        let rest = unread(&place.dir, mark, MANY, true).unwrap();
        prop_assert_eq!(text + &rest.text, whole(&place, true));
        prop_assert_eq!(unread(&place.dir, rest.to, MANY, true).unwrap().text, "");
    }

    #[test]
    fn however_a_stream_was_cut_the_text_is_the_same(pieces in pieces()) {
        let (cut, joined) = (Place::new(), Place::new());
        write(&cut, &pieces);
        let mut writer = joined.writer(ALL);
        for same in pieces.chunk_by(|one, other| one.0 == other.0) {
            let bytes: Vec<u8> = same.iter().flat_map(|(_, bytes, _)| bytes).copied().collect();
            writer.append(same[0].0, &bytes, 1);
        }
        prop_assert_eq!(whole(&cut, true), whole(&joined, true));
        prop_assert_eq!(whole(&cut, false), whole(&joined, false));
    }

    #[test]
    fn the_text_of_one_stream_is_what_a_cleaner_makes_of_it(pieces in pieces()) {
        let place = Place::new();
        let pieces: Vec<Piece> = pieces.into_iter().map(|(_, bytes, read)| (Stream::Stderr, bytes, read)).collect();
        write(&place, &pieces);
        let (mut cleaner, mut text) = (Cleaner::new(), String::new());
        pieces.iter().for_each(|(_, bytes, _)| cleaner.push(bytes, &mut text));
        prop_assert_eq!(&whole(&place, false), &text);
        cleaner.finish(&mut text);
        prop_assert_eq!(whole(&place, true), text);
    }

    #[test]
    fn pages_are_slices_of_the_text_while_it_grows(pieces in pieces(), offset in 0..20_u64) {
        let place = Place::new();
        let mut writer = place.writer(ALL);
        let mut index = LineIndex::new();
        for (at_ms, (stream, bytes, limit)) in (0..).zip(&pieces) {
            writer.append(*stream, bytes, at_ms * 3);
            let Some(limit) = *limit else { continue };
            let over = limit > 4;
            let text = whole(&place, over);
            let ask = Ask { offset: Some(offset), limit: Some(limit), cap_chars: MANY, over };
            let from = page(&place.dir, &mut index, &ask).unwrap();
            prop_assert_eq!((from.first_line, from.total_bytes), (offset, writer.totals().bytes));
            is_of(&from, &text, limit);
            let end = page(&place.dir, &mut index, &Ask { offset: None, ..ask }).unwrap();
            prop_assert_eq!(end.first_line, end.total_lines.saturating_sub(limit));
            is_of(&end, &text, limit);
        }
    }

    #[test]
    fn pages_together_are_the_whole(pieces in pieces(), limits in prop::collection::vec(1..9_u64, 1..5), cap in 1..300_usize) {
        let place = Place::new();
        write(&place, &pieces);
        let text = whole(&place, true);
        let longest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        let cap_chars = cap.max(longest);
        let mut index = LineIndex::new();
        let (mut together, mut next, mut last_offset) = (String::new(), Some(0), 0);
        for limit in limits.into_iter().cycle() {
            let ask = Ask { offset: next, limit: Some(limit), cap_chars, over: true };
            let one = page(&place.dir, &mut index, &ask).unwrap();
            prop_assert!(one.text.chars().count() <= cap_chars + 1);
            prop_assert!(one.lines > 0 || text.is_empty());
            if let Some(offset) = one.next_offset {
                prop_assert!(offset > last_offset, "{} after {}", offset, last_offset);
                last_offset = offset;
            }
            together.push_str(&one.text);
            next = one.next_line;
            if next.is_none() {
                break;
            }
        }
        prop_assert_eq!(&together, &text);

        let begin = head(&place.dir, cap_chars, true).unwrap();
        let ask = Ask { offset: begin.next_line, limit: None, cap_chars: MANY, over: true };
        let rest = begin.next_line.map(|_| page(&place.dir, &mut index, &ask).unwrap().text);
        prop_assert_eq!(begin.truncated, rest.is_some());
        prop_assert_eq!(begin.text + &rest.unwrap_or_default(), text);
    }

    #[test]
    fn too_much_is_cut_at_the_front(pieces in pieces(), cap in 0..100_usize) {
        let place = Place::new();
        let writer = write(&place, &pieces);
        let text = whole(&place, false);
        let new = unread(&place.dir, TextCursor::default(), cap, false).unwrap();
        prop_assert_eq!(new.to, unread(&place.dir, TextCursor::default(), MANY, false).unwrap().to);
        let Some(cut) = new.cut else {
            prop_assert!(text.chars().count() <= cap);
            prop_assert_eq!(new.text, text);
            return Ok(());
        };
        prop_assert!(text.chars().count() > cap);
        let (says, shown) = new.text.split_once('\n').unwrap();
        prop_assert!(says.ends_with("bytes before this are not shown: process log, offset 0]"));
        prop_assert!(text.ends_with(shown) && shown.chars().count() <= cap);
        prop_assert_eq!((cut.from_offset, cut.from_line), (0, 0));
        prop_assert!(cut.bytes <= writer.totals().bytes);
        prop_assert_eq!(last(&place.dir, cap, false).unwrap(), text.chars().skip(text.chars().count() - cap).collect::<String>());
    }
}
