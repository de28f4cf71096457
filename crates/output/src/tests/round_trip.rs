use super::{ALL, Chance, Place, append, check, output};
use crate::{Error, Piece, Reader, last_at_ms, totals};
use std::path::Path;
use tenure_core::output::{Keep, Stream, Stretch, Totals};

#[test]
fn what_was_appended_reads_back_byte_for_byte_with_its_stream_and_time() {
    for seed in 0..8 {
        let place = Place::new();
        let mut chance = Chance(seed);
        let mut writer = place.writer(Keep { head: 10_000, ..ALL });
        let (mut now, mut appends) = (1_000, Vec::new());
        for _ in 0..100 {
            now += chance.below(8);
            let stream = chance.stream();
            let appended = append(&mut writer, stream, chance.len(), now);
            assert_eq!(appended.lost, None);
            appends.push((appended.to, stream, now));
        }
        let mut end = 0;
        for piece in place.pieces(0) {
            let Piece::Bytes { from, stream, at_ms, .. } = piece else { panic!("{piece:?}") };
            let &(_, meant, at) = appends.iter().find(|(to, ..)| *to > from).unwrap();
            assert_eq!(stream, meant, "seed {seed}: {piece:?}");
            assert!((at_ms..at_ms + 10).contains(&at), "seed {seed}: {piece:?} came at {at}");
            end = piece.end();
        }
        assert_eq!(totals(&place.dir).unwrap(), Totals { bytes: end, dropped_bytes: 0 });
        assert_eq!(writer.totals(), Totals { bytes: end, dropped_bytes: 0 });
        assert_eq!(writer.last_output_at_ms(), Some(now));
        let by_files = last_at_ms(&place.dir).unwrap().expect("a time");
        assert!((by_files..by_files + 10).contains(&now), "seed {seed}: {by_files} and not {now}");
    }
}

#[test]
fn a_reader_may_begin_at_any_byte_and_go_anywhere() {
    let place = Place::new();
    let mut chance = Chance(7);
    let mut writer = place.writer(Keep { head: 300, ..ALL });
    for now in 0..40 {
        append(&mut writer, chance.stream(), 20, now * 3);
    }
    let mut reader = Reader::new(&place.dir);
    let mut buf = [0; 7];
    for _ in 0..2_000 {
        let at = chance.below(801);
        let piece = reader.read(at, &mut buf).unwrap();
        check(&piece, at, &buf);
        assert_eq!(matches!(piece, Piece::Bytes { .. }), at < 800, "{piece:?}");
    }
}

#[test]
fn an_entry_takes_what_follows_soon_and_begins_anew_with_another_stream_time_or_64_kib() {
    let place = Place::new();
    let mut writer = place.writer(ALL);
    let (out, err) = (Stream::Stdout, Stream::Stderr);
    for (stream, len, at_ms) in [
        (out, 10, 100),
        (out, 10, 109),
        (err, 10, 109),
        (out, 65_535, 110),
        (out, 1, 111),
        (out, 1, 112),
        (out, 10, 122),
        (out, 10, 50),
    ] {
        append(&mut writer, stream, len, at_ms);
    }
    let entries = place.entries(0);
    let seen: Vec<_> = entries.iter().map(|entry| (entry.stretch, entry.len, entry.at_ms)).collect();
    let kept = Stretch::Kept;
    assert_eq!(
        seen,
        [
            (kept(out), 20, 100),
            (kept(err), 10, 109),
            (kept(out), 65_536, 110),
            (kept(out), 1, 112),
            (kept(out), 10, 122),
            (kept(out), 10, 50),
        ]
    );
}

#[test]
fn a_large_append_is_one_entry() {
    let place = Place::new();
    let mut writer = place.writer(ALL);
    append(&mut writer, Stream::Stdout, 1 << 20, 5);
    assert_eq!(place.entries(0).len(), 1);
}

#[test]
fn an_entry_that_grows_is_read_on_from_its_middle() {
    let place = Place::new();
    let mut writer = place.writer(ALL);
    let mut reader = Reader::new(&place.dir);
    let mut buf = [0; 100];
    for at in 0..50 {
        assert_eq!(reader.read(at, &mut buf).unwrap(), Piece::End { at });
        append(&mut writer, Stream::Stdout, 1, 5);
        let piece = reader.read(at, &mut buf).unwrap();
        assert_eq!(piece, Piece::Bytes { from: at, len: 1, stream: Stream::Stdout, at_ms: 5 });
    }
    assert_eq!(place.entries(0).len(), 1);
}

#[test]
fn a_silent_run_has_an_empty_output() {
    let place = Place::new();
    let mut writer = place.writer(ALL);
    writer.append(Stream::Stdout, b"", 5);
    assert_eq!(place.pieces(0), []);
    assert_eq!(totals(&place.dir).unwrap(), Totals::default());
    assert_eq!((writer.totals(), writer.last_output_at_ms()), (Totals::default(), None));
    assert_eq!(last_at_ms(&place.dir).unwrap(), None);
}

#[test]
fn an_error_names_the_path() {
    let place = Place::new();
    std::fs::write(&place.dir, b"in the way").unwrap();
    let path = place.dir.display().to_string();
    let message = |error: Error| error.to_string();
    assert!(message(Reader::new(&place.dir).read(0, &mut [0]).unwrap_err()).contains(&path));
    assert!(message(totals(&place.dir).unwrap_err()).contains(&path));
}

#[test]
fn output_that_nobody_has_begun_yet_is_empty() {
    let place = Place::new();
    assert_eq!(Reader::new(&place.dir).read(0, &mut [0]).unwrap(), Piece::End { at: 0 });
    assert_eq!(totals(&place.dir).unwrap(), Totals::default());
}

#[test]
fn output_that_version_1_wrote_is_still_read() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/v1");
    let mut reader = Reader::new(&dir);
    let mut buf = [0; 100];
    let (out, err) = (Stream::Stdout, Stream::Stderr);
    let mut at = 0;
    for (piece, bytes) in [
        (Piece::Bytes { from: 0, len: 6, stream: out, at_ms: 1_700_000_000_000 }, &b"hello\n"[..]),
        (Piece::Bytes { from: 6, len: 5, stream: err, at_ms: 1_700_000_000_001 }, b"oops\n"),
        (Piece::Lost { from: 11, to: 111, at_ms: 1_700_000_000_002 }, b""),
        (Piece::Gap { from: 111, to: 1_000 }, b""),
        (Piece::Bytes { from: 1_000, len: 4, stream: out, at_ms: 1_700_000_000_003 }, b"bye\n"),
        (Piece::End { at: 1_004 }, b""),
    ] {
        assert_eq!(reader.read(at, &mut buf).unwrap(), piece);
        assert!(buf.starts_with(bytes));
        at = piece.end();
    }
    assert_eq!(totals(&dir).unwrap(), Totals { bytes: 1_004, dropped_bytes: 989 });
}

#[test]
fn an_empty_buffer_reads_nothing() {
    let place = Place::new();
    let mut writer = place.writer(ALL);
    writer.append(Stream::Stdout, &output(0, 5, Stream::Stdout), 1);
    assert_eq!(Reader::new(&place.dir).read(2, &mut []).unwrap(), Piece::End { at: 2 });
}
