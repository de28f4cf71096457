use super::{ALL, Chance, Place};
use crate::{name, tail_offset};
use std::fs::OpenOptions;
use tenure_core::output::{Keep, Stream};

/// Returns the beginning of the last `lines` lines of `bytes`, computed the slow way.
fn expected(bytes: &[(u64, u8)], end: u64, lines: usize) -> u64 {
    let starts: Vec<u64> = bytes
        .iter()
        .enumerate()
        .filter(|(n, _)| *n == 0 || bytes[n - 1].1 == b'\n')
        .map(|(n, _)| n.checked_sub(1).map_or(0, |before| bytes[before].0 + 1))
        .collect();
    match starts.len().checked_sub(lines) {
        Some(n) => starts.get(n).copied().unwrap_or(end),
        None => 0,
    }
}

#[test]
fn the_last_lines_begin_where_counting_from_the_start_says() {
    for seed in 0..60 {
        let place = Place::new();
        let mut chance = Chance(seed);
        let mut writer = place.writer(Keep { head: 50, ..ALL });
        let mut all = Vec::new();
        for now in 0..chance.below(40) {
            let stream = chance.stream();
            let bytes: Vec<u8> = (0..chance.below(12))
                .map(|_| [b'\n', b'a', b'b'][usize::try_from(chance.below(3)).unwrap()])
                .collect();
            let from = writer.append(stream, &bytes, now * 4).from;
            all.extend((from..).zip(bytes).map(|(at, byte)| (at, byte, stream)));
        }
        for of in [None, Some(Stream::Stdout), Some(Stream::Stderr)] {
            let bytes: Vec<_> = all
                .iter()
                .filter(|(.., stream)| of.is_none_or(|of| of == *stream))
                .map(|&(at, byte, _)| (at, byte))
                .collect();
            for lines in 0..30 {
                let offset = tail_offset(&place.dir, lines, of).unwrap();
                let expected = expected(&bytes, all.len() as u64, usize::try_from(lines).unwrap());
                assert_eq!(offset, expected, "seed {seed}, {lines} lines of {of:?} in {all:?}");
            }
        }
    }
}

#[test]
fn a_line_longer_than_a_block_is_found_whole() {
    let place = Place::new();
    let mut writer = place.writer(ALL);
    let line = [&b"short\n"[..], &vec![b'x'; 300_000], b"\n"].concat();
    writer.append(Stream::Stdout, &line, 1);
    assert_eq!(tail_offset(&place.dir, 1, None).unwrap(), 6);
    assert_eq!(tail_offset(&place.dir, 2, None).unwrap(), 0);
}

#[test]
fn the_last_lines_of_output_cut_by_a_crash_are_those_that_are_there() {
    let place = Place::new();
    let mut writer = place.writer(ALL);
    writer.append(Stream::Stdout, &[&b"one\ntwo\n"[..], &vec![b'x'; 300_000]].concat(), 1);
    OpenOptions::new().write(true).open(name::log(&place.dir, 0)).unwrap().set_len(8).unwrap();
    assert_eq!(tail_offset(&place.dir, 1, None).unwrap(), 4);
    assert_eq!(tail_offset(&place.dir, 0, None).unwrap(), 8);
}
