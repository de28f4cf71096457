use super::{Chance, Place, append};
use crate::{Piece, Reader, totals};
use std::fs;
use tenure_core::output::{Keep, Stream};

const SMALL: Keep = Keep { head: 1_000, tail: 100_000 };

#[test]
fn the_head_stays_the_middle_goes_and_offsets_stay_absolute() {
    let place = Place::new();
    let mut chance = Chance(1);
    let mut writer = place.writer(SMALL);
    for now in 0..200 {
        append(&mut writer, chance.stream(), chance.len(), now * 5);
    }
    let pieces = place.pieces(0);
    let gaps: Vec<_> = pieces.iter().filter(|piece| matches!(piece, Piece::Gap { .. })).collect();
    let [&Piece::Gap { from, to }] = gaps[..] else { panic!("{gaps:?}") };
    let end = writer.totals().bytes;
    assert_eq!((from, pieces.last().unwrap().end()), (1_000, end));
    assert_eq!(writer.totals().dropped_bytes, to - from);
    assert_eq!(totals(&place.dir).unwrap(), writer.totals());
    assert_eq!(fs::read_dir(&place.dir).unwrap().count(), 2 * place.starts().len());
}

#[test]
fn the_last_bytes_are_kept_whatever_the_sizes() {
    for (seed, keep) in [(2, SMALL), (3, Keep { head: 0, tail: 70_000 }), (4, Keep { head: 0, tail: 0 })] {
        let place = Place::new();
        let mut chance = Chance(seed);
        let mut writer = place.writer(keep);
        for now in 0..300 {
            append(&mut writer, chance.stream(), chance.len(), now);
            let end = writer.totals().bytes;
            let oldest = place.starts().into_iter().find(|start| *start >= keep.head).unwrap_or(end);
            assert!(oldest <= keep.head || end - oldest >= keep.tail, "{keep:?}: {oldest}..{end}");
            assert!(end - oldest <= keep.tail.max(65_536) + 65_536, "{keep:?}: {oldest}..{end} is too much");
        }
        assert_eq!(totals(&place.dir).unwrap(), writer.totals());
    }
}

#[test]
fn without_a_head_the_output_begins_with_the_gap() {
    let place = Place::new();
    let mut writer = place.writer(Keep { head: 0, tail: 0 });
    append(&mut writer, Stream::Stdout, 200_000, 1);
    assert_eq!(place.pieces(0)[0], Piece::Gap { from: 0, to: 131_072 });
}

#[test]
fn a_head_that_needs_several_indexes_is_kept_all_the_same() {
    let place = Place::new();
    let mut writer = place.writer(Keep { head: 300_000, tail: 0 });
    for now in 0..300_000 {
        writer.append([Stream::Stdout, Stream::Stderr][now % 2], b"x", now as u64);
    }
    append(&mut writer, Stream::Stdout, 200_000, 300_000);
    assert_eq!(place.starts()[..2], [0, 262_144]);
    assert_eq!(writer.totals().dropped_bytes, 131_072);
    assert_eq!(
        Reader::new(&place.dir).read(300_000, &mut [0]).unwrap(),
        Piece::Gap { from: 300_000, to: 431_072 }
    );
}

#[test]
fn room_never_lets_a_byte_go_that_was_not_taken() {
    for seed in 0..12 {
        let place = Place::new();
        let mut chance = Chance(seed);
        let keep = Keep { head: chance.below(3) * 50_000, tail: chance.below(300_000) };
        let mut writer = place.writer(keep);
        let mut taken = 0;
        for now in 0..100 {
            let end = writer.totals().bytes;
            let room = writer.room(Some(taken));
            assert!(room > 0 || taken < end, "{keep:?}: a reader who has taken all must not stop the run");
            let len = if chance.below(3) == 0 { room } else { room.min(chance.len() as u64) };
            append(&mut writer, chance.stream(), usize::try_from(len).unwrap(), now);
            let piece = Reader::new(&place.dir).read(taken, &mut [0]).unwrap();
            assert!(!matches!(piece, Piece::Gap { .. }), "{keep:?}: {piece:?}");
            taken += chance.below(end + len - taken + 1) / (1 + chance.below(3));
        }
    }
}

#[test]
fn room_is_all_used_up_just_before_the_first_byte_goes() {
    let place = Place::new();
    let mut writer = place.writer(Keep { head: 0, tail: 100_000 });
    append(&mut writer, Stream::Stdout, 65_536 + 1, 1);
    assert!(writer.room(Some(65_535)) < writer.room(Some(65_536)), "a taken segment may go");
    let room = usize::try_from(writer.room(Some(0))).unwrap();
    append(&mut writer, Stream::Stdout, room, 2);
    assert_eq!((writer.room(Some(0)), writer.totals().dropped_bytes), (0, 0));
    append(&mut writer, Stream::Stdout, 1, 3);
    assert_eq!(writer.totals().dropped_bytes, 65_536);
    assert!(writer.room(Some(0)) > 0, "what is gone cannot be waited for");
    assert_eq!(writer.room(None), u64::MAX);
}

#[test]
fn one_byte_entries_are_dropped_before_their_indexes_fill_the_disk_and_room_knows() {
    let place = Place::new();
    let mut writer = place.writer(Keep { head: 0, tail: 1 << 20 });
    let mut now = 0;
    while writer.room(Some(0)) > 0 {
        now += 10;
        writer.append(Stream::Stdout, b"x", now);
        assert_eq!(writer.totals().dropped_bytes, 0);
    }
    writer.append(Stream::Stdout, b"x", now + 10);
    assert!(writer.totals().dropped_bytes > 0);
    assert_eq!(totals(&place.dir).unwrap(), writer.totals());
}

#[test]
fn a_reader_finishes_the_segment_that_is_dropped_under_it() {
    let place = Place::new();
    let mut writer = place.writer(Keep { head: 0, tail: 0 });
    append(&mut writer, Stream::Stdout, 1_000, 1);
    let mut reader = Reader::new(&place.dir);
    let mut buf = vec![0; 100_000];
    assert_eq!(reader.read(0, &mut buf).unwrap().end(), 1_000);
    append(&mut writer, Stream::Stdout, 400_000, 1);
    assert!(writer.totals().dropped_bytes > 65_536);
    assert_eq!(reader.read(1_000, &mut buf).unwrap().end(), 65_536);
    let piece = reader.read(65_536, &mut buf).unwrap();
    assert_eq!(piece, Piece::Gap { from: 65_536, to: writer.totals().dropped_bytes });
}
