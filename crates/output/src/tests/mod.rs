//! Shared helpers of the tests: a directory, repeatable chance, and output in which every byte encodes its own
//! offset and stream, so that any piece can be checked without a copy of it.

mod clean;
mod crash;
mod follow;
mod full_disk;
mod keep;
mod lines;
#[cfg(unix)]
mod links;
mod pages;
mod round_trip;
mod text;
mod text_properties;

use crate::{Appended, Piece, Reader, Writer, name};
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;
use tempfile::TempDir;
use tenure_core::output::{Entry, Keep, Stream};

/// Keeps enough for every test that is not about dropping.
const ALL: Keep = Keep { head: 1 << 20, tail: 1 << 30 };

/// A directory for output, removed with the test.
struct Place {
    dir: PathBuf,
    _holder: TempDir,
}

impl Place {
    fn new() -> Self {
        let holder = tempfile::tempdir().unwrap();
        Self { dir: holder.path().join("output"), _holder: holder }
    }

    fn writer(&self, keep: Keep) -> Writer {
        Writer::create(&self.dir, keep)
    }

    /// Reads everything from `from` on, and checks each byte of it.
    fn pieces(&self, from: u64) -> Vec<Piece> {
        let mut reader = Reader::new(&self.dir);
        let mut buf = [0; 1000];
        let mut pieces = Vec::new();
        let mut at = from;
        loop {
            let piece = reader.read(at, &mut buf).unwrap();
            check(&piece, at, &buf);
            if let Piece::End { .. } = piece {
                return pieces;
            }
            at = piece.end();
            pieces.push(piece);
        }
    }

    /// Returns the entries of the segment at `start`.
    fn entries(&self, start: u64) -> Vec<Entry> {
        let index = fs::read(name::index(&self.dir, start)).unwrap();
        let (slots, _) = index.as_chunks::<{ Entry::SIZE }>();
        slots.iter().map_while(|slot| Entry::decode(slot).expect("our own version")).collect()
    }

    fn starts(&self) -> Vec<u64> {
        name::starts(&self.dir).unwrap()
    }
}

/// Checks that a piece begins at `at` and has the bytes that were written there.
fn check(piece: &Piece, at: u64, buf: &[u8]) {
    match *piece {
        Piece::Bytes { from, len, stream, .. } => {
            assert!(from == at && len > 0, "{piece:?} at {at}");
            assert!(buf[..len] == output(at, len, stream), "{piece:?} at {at} is not what was written");
        }
        Piece::Gap { from, to } | Piece::Lost { from, to, .. } => {
            assert!(from == at && to > from, "{piece:?}");
        }
        Piece::End { at: end } => assert_eq!(end, at),
    }
}

/// Returns the output of `stream` at an offset. It repeats after a prime number of bytes, unlike any size here.
fn output(offset: u64, len: usize, stream: Stream) -> Vec<u8> {
    const PERIOD: u64 = 65_521;
    static PERIODS: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| {
        let byte = |at: u64| at.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()[7] & !1;
        [0, 1].map(|stream| (0..PERIOD).map(|at| byte(at) | stream).collect())
    });
    let period = &PERIODS[usize::from(stream == Stream::Stderr)];
    let mut bytes = period[usize::try_from(offset % PERIOD).unwrap()..].to_vec();
    while bytes.len() < len {
        bytes.extend_from_slice(period);
    }
    bytes.truncate(len);
    bytes
}

/// Appends the output that belongs at the end.
fn append(writer: &mut Writer, stream: Stream, len: usize, at_ms: u64) -> Appended {
    let from = writer.totals().bytes;
    let appended = writer.append(stream, &output(from, len, stream), at_ms);
    assert_eq!((appended.from, appended.to), (from, from + len as u64));
    appended
}

/// Repeatable chance (`SplitMix64`).
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }

    fn stream(&mut self) -> Stream {
        [Stream::Stdout, Stream::Stderr][usize::from(self.below(2) == 1)]
    }

    /// Returns a length, mostly small, sometimes large.
    fn len(&mut self) -> usize {
        let most = [4, 100, 5_000, 200_000][usize::try_from(self.below(4)).unwrap()];
        1 + usize::try_from(self.below(most)).unwrap()
    }
}
