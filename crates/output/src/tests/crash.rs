use super::{ALL, Chance, Place, append};
use crate::positional_io::disk;
use crate::{Piece, name, tail_offset, totals};
use std::fs::{self, OpenOptions};
use std::path::Path;
use tenure_core::output::{Entry, Keep, Stream};

fn cut(path: &Path, len: u64) {
    OpenOptions::new().write(true).open(path).unwrap().set_len(len).unwrap();
}

/// Output in two segments; the second has the last 400 bytes.
fn some_output() -> Place {
    let place = Place::new();
    let mut chance = Chance(3);
    let mut writer = place.writer(Keep { head: 200, ..ALL });
    for now in 0..30 {
        append(&mut writer, chance.stream(), 20, now * 4);
    }
    assert_eq!(place.starts(), [0, 200]);
    place
}

#[test]
fn a_log_cut_after_any_byte_reads_as_a_prefix() {
    let place = some_output();
    for len in (0..=400).rev() {
        cut(&name::log(&place.dir, 200), len);
        let end = place.pieces(0).last().unwrap().end();
        assert_eq!(end, 200 + len);
        assert_eq!(totals(&place.dir).unwrap().bytes, end);
        tail_offset(&place.dir, 5, Some(Stream::Stderr)).unwrap();
    }
}

#[test]
fn an_index_cut_after_any_byte_reads_as_a_prefix() {
    let place = some_output();
    let entries = place.entries(200);
    let len = fs::metadata(name::index(&place.dir, 200)).unwrap().len();
    for len in (0..=len).rev() {
        cut(&name::index(&place.dir, 200), len);
        let whole = entries.len().min(usize::try_from(len / 32).unwrap());
        let end = entries[..whole].last().map_or(200, Entry::end);
        assert_eq!(place.pieces(0).last().unwrap().end(), end, "{len} bytes left");
        assert_eq!(totals(&place.dir).unwrap().bytes, end);
        tail_offset(&place.dir, 5, Some(Stream::Stderr)).unwrap();
    }
}

#[test]
fn a_writer_killed_at_any_write_leaves_no_byte_without_its_origin() {
    for writes in 1..40 {
        let place = Place::new();
        let mut chance = Chance(5);
        disk::set_writes(writes);
        let mut writer = place.writer(Keep { head: 100, ..ALL });
        let ends: Vec<u64> =
            (0..15).map(|now| append(&mut writer, chance.stream(), 20, now * 4).to).collect();
        disk::set_writes(u64::MAX);

        let end = place.pieces(0).iter().map(Piece::end).max().unwrap_or(0);
        assert!(end == 0 || ends.contains(&end), "killed at write {writes}: {end}");
        for start in place.starts() {
            let logged = start + fs::metadata(name::log(&place.dir, start)).map_or(0, |log| log.len());
            let indexed = place.entries(start).last().map_or(start, Entry::end);
            assert!(logged <= indexed, "killed at write {writes}: {logged} bytes, {indexed} in the index");
        }
    }
}

#[test]
fn what_an_older_segment_lacks_is_a_gap() {
    let place = some_output();
    cut(&name::log(&place.dir, 0), 150);
    let pieces = place.pieces(0);
    assert!(pieces.contains(&Piece::Gap { from: 150, to: 200 }), "{pieces:?}");
    assert_eq!(pieces.last().unwrap().end(), 600);
}

#[test]
fn a_segment_without_a_log_is_no_end_of_the_world() {
    let place = some_output();
    fs::remove_file(name::log(&place.dir, 200)).unwrap();
    assert_eq!(place.pieces(0).last().unwrap().end(), 200);
    assert_eq!(totals(&place.dir).unwrap().bytes, 200);
}
