//! Pages of lines, and the index while output is dropped.

use super::{ALL, Chance, Place};
use crate::Writer;
use crate::positional_io::disk;
use crate::text::{Ask, LineIndex, Page, TextCursor, page, unread};
use tenure_core::output::{Keep, Stream};

const ASK: Ask = Ask { offset: None, limit: None, cap_chars: 1 << 30, over: false };
/// The shortest possible tail.
const TIGHT: Keep = Keep { head: 1000, tail: 0 };

fn get(place: &Place, index: &mut LineIndex, offset: Option<u64>, limit: Option<u64>) -> Page {
    page(&place.dir, index, &Ask { offset, limit, ..ASK }).unwrap()
}

fn numbered(lines: std::ops::Range<u64>) -> String {
    lines.map(|line| format!("line {line}\n")).collect()
}

fn out(place: &Place, text: impl AsRef<[u8]>) -> Writer {
    let mut writer = place.writer(ALL);
    writer.append(Stream::Stdout, text.as_ref(), 1);
    writer
}

#[test]
fn what_is_asked_for_is_what_is_given() {
    let place = Place::new();
    out(&place, numbered(0..1000));
    let mut index = LineIndex::new();
    for (offset, limit, lines) in [
        (None, None, 800..1000),
        (None, Some(3), 997..1000),
        (None, Some(5000), 0..1000),
        (Some(990), None, 990..1000),
        (Some(0), Some(0), 0..0),
        (Some(40), Some(50), 40..90),
        (Some(995), Some(50), 995..1000),
    ] {
        let page = get(&place, &mut index, offset, limit);
        assert_eq!(page.text, numbered(lines.clone()));
        assert_eq!((page.first_line, page.lines), (lines.start, lines.end - lines.start));
        assert_eq!((page.total_lines, page.total_bytes), (1000, 8890));
        assert_eq!(page.next_line, (lines.end < 1000).then_some(lines.end));
        assert_eq!(page.next_offset, (lines.end < 1000).then(|| numbered(0..lines.end).len() as u64));
        assert!(!page.truncated);
    }
}

#[test]
fn a_page_beyond_the_end_is_empty_and_says_how_many_lines_there_are() {
    let place = Place::new();
    let mut index = LineIndex::new();
    let empty = get(&place, &mut index, None, None);
    assert_eq!((empty.text.as_str(), empty.lines, empty.total_lines, empty.next_line), ("", 0, 0, None));
    out(&place, "a\nb\nc");
    let beyond = get(&place, &mut index, Some(3), Some(5));
    assert_eq!((beyond.text.as_str(), beyond.lines, beyond.total_lines), ("", 0, 3));
    assert_eq!((beyond.first_line, beyond.next_line, beyond.next_offset), (3, None, None));
}

#[test]
fn a_page_that_hits_the_cap_ends_at_a_line_end() {
    let place = Place::new();
    out(&place, "1234\n123\n12345\nend\n");
    let mut index = LineIndex::new();
    let mut ask = Ask { offset: Some(0), cap_chars: 10, ..ASK };
    let first = page(&place.dir, &mut index, &ask).unwrap();
    assert_eq!((first.text.as_str(), first.truncated, first.next_line), ("1234\n123\n", true, Some(2)));
    assert_eq!(first.next_offset, Some(9));
    // Five characters fit, and the end of their line is not one too many.
    (ask.offset, ask.cap_chars) = (Some(2), 5);
    let second = page(&place.dir, &mut index, &ask).unwrap();
    assert_eq!((second.text.as_str(), second.truncated, second.next_line), ("12345\n", true, Some(3)));
    ask.limit = Some(1);
    assert!(!page(&place.dir, &mut index, &ask).unwrap().truncated);
}

#[test]
fn a_line_longer_than_the_cap_is_cut_and_says_so() {
    let place = Place::new();
    out(&place, format!("a\n\x1b[31m{}\x1b[0m\nend\n", "é".repeat(5_000_000)));
    let mut index = LineIndex::new();
    let ask = Ask { offset: Some(1), cap_chars: 100, ..ASK };
    let cut = page(&place.dir, &mut index, &ask).unwrap();
    assert_eq!(cut.text, format!("{}\n[… this line goes on at byte 207 …]\n", "é".repeat(100)));
    assert_eq!((cut.lines, cut.truncated), (1, true));
    assert_eq!((cut.next_line, cut.next_offset, cut.total_lines), (Some(2), Some(207), 3));
    let after = page(&place.dir, &mut index, &Ask { offset: cut.next_line, ..ask }).unwrap();
    assert_eq!(after.text, "end\n");
    let before = page(&place.dir, &mut index, &Ask { offset: Some(0), ..ask }).unwrap();
    assert_eq!((before.text.as_str(), before.next_line, before.next_offset), ("a\n", Some(1), Some(2)));
}

#[test]
fn the_last_line_is_one_while_it_grows() {
    let place = Place::new();
    let mut writer = out(&place, "10%\r20%\r");
    let mut index = LineIndex::new();
    assert_eq!(get(&place, &mut index, Some(1), None).text, "20%");
    writer.append(Stream::Stderr, b"\xe4\xb8", 2);
    assert_eq!(get(&place, &mut index, Some(1), None).total_lines, 2);
    let over = page(&place.dir, &mut index, &Ask { offset: Some(1), over: true, ..ASK }).unwrap();
    assert_eq!((over.text.as_str(), over.total_lines), ("20%\n\\xe4\\xb8", 3));
    writer.append(Stream::Stderr, b"\xad", 3);
    assert_eq!(get(&place, &mut index, Some(1), None).text, "20%\n中");
}

#[test]
fn a_gap_is_one_line_however_it_grows_and_the_index_is_as_if_made_anew() {
    for seed in 0..3 {
        let place = Place::new();
        let mut chance = Chance(seed);
        let mut writer = place.writer(TIGHT);
        let mut kept = LineIndex::new();
        let mut gaps = 0;
        for now in 0..50 {
            let words = [
                b"\x1b[1mword\x1b[0m ".as_slice(),
                b"\n",
                b"10%\r",
                b"\x1bPdata\n",
                b"\x1b\\",
                "é\n".as_bytes(),
            ];
            let bytes: Vec<u8> = (0..chance.below(4000))
                .flat_map(|_| words[usize::try_from(chance.below(6)).unwrap()])
                .copied()
                .collect();
            writer.append(chance.stream(), &bytes, now * 20);
            if chance.below(3) > 0 {
                continue;
            }
            let mut fresh = LineIndex::new();
            let offset = chance.below(4000);
            let again = get(&place, &mut kept, Some(offset), Some(20));
            assert_eq!(again, get(&place, &mut fresh, Some(offset), Some(20)), "seed {seed}");
            assert_eq!(kept, fresh, "seed {seed}");
            let text = unread(&place.dir, TextCursor::default(), 1 << 30, false).unwrap().text;
            assert_eq!(get(&place, &mut kept, Some(0), None).text, text);
            gaps = text.matches("bytes were dropped here …]\n").count();
        }
        assert_eq!(gaps, 1, "seed {seed}");
        assert!(writer.totals().dropped_bytes > 200_000, "seed {seed}: {:?}", writer.totals());
    }
}

#[test]
fn after_a_drop_the_index_reads_only_a_little_anew() {
    let place = Place::new();
    let mut writer = place.writer(TIGHT);
    let mut index = LineIndex::new();
    writer.append(Stream::Stdout, numbered(0..26_000).as_bytes(), 1);
    get(&place, &mut index, None, None);
    let dropped = writer.totals().dropped_bytes;
    writer.append(Stream::Stdout, numbered(0..6_000).as_bytes(), 1);
    assert!(writer.totals().dropped_bytes > dropped && dropped > 0);
    let before = get(&place, &mut index.clone(), None, None);
    // Lines that the index already knows are not read again: here they are different ones.
    let log = crate::name::log(&place.dir, place.starts()[1]);
    let mut bytes = std::fs::read(&log).unwrap();
    bytes[1_000..10_000].fill(b'x');
    std::fs::write(&log, bytes).unwrap();
    assert_eq!(get(&place, &mut index, None, None), before);
}

#[test]
fn a_loss_is_one_line_and_told_at_once() {
    let place = Place::new();
    disk::set_free(4096 + 10);
    let mut writer = place.writer(ALL);
    writer.append(Stream::Stdout, b"0123456789lost", 1);
    let mut index = LineIndex::new();
    let lost = "0123456789\n[… the disk was full: output was lost from here on …]\n";
    assert_eq!(get(&place, &mut index, None, None).text, lost);
    let first = unread(&place.dir, TextCursor::default(), 1000, false).unwrap();
    assert_eq!((first.text.as_str(), first.to.offset()), (lost, 14));
    writer.append(Stream::Stderr, b"lost, too\n", 2);
    assert_eq!(get(&place, &mut index, None, None).text, lost);
    let second = unread(&place.dir, first.to, 1000, false).unwrap();
    assert_eq!((second.text.as_str(), second.to.offset()), ("", 24));
    disk::set_free(u64::MAX);
    writer.append(Stream::Stdout, b"kept\n", 1000);
    assert_eq!(get(&place, &mut index, None, None).text, format!("{lost}kept\n"));
    assert_eq!(unread(&place.dir, second.to, 1000, false).unwrap().text, "kept\n");
}
