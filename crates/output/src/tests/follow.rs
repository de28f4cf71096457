use super::{Chance, Place, append, check};
use crate::{Piece, Reader};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use tenure_core::output::{Keep, Stream};

const TIGHT: Keep = Keep { head: 10_000, tail: 100_000 };

/// Reads like a client: on every hint, up to the present end. Sends the offsets that it has read.
fn follow(place: &Place, grown: Receiver<u64>, taken: &Sender<u64>) -> (u64, u64) {
    let mut reader = Reader::new(&place.dir);
    let mut buf = [0; 10_000];
    let (mut at, mut missed) = (0, 0);
    for to in grown {
        while at < to {
            let piece = reader.read(at, &mut buf).unwrap();
            check(&piece, at, &buf);
            match piece {
                Piece::Bytes { .. } => {}
                Piece::Gap { from, to } => missed += to - from,
                Piece::Lost { .. } => panic!("{piece:?}"),
                // The entry was just being rewritten: another hint will come.
                Piece::End { .. } => break,
            }
            at = piece.end();
            let _ = taken.send(at);
        }
    }
    (at, missed)
}

#[test]
fn a_follower_gets_every_byte_or_a_gap_while_segments_are_dropped() {
    let place = Place::new();
    let mut writer = place.writer(TIGHT);
    let (grown, hints) = channel();
    let (taken, _) = channel();
    let ended = thread::scope(|scope| {
        let place = &place;
        let follower = scope.spawn(move || follow(place, hints, &taken));
        let mut chance = Chance(11);
        for now in 0..1_000 {
            grown.send(append(&mut writer, chance.stream(), chance.len(), now).to).unwrap();
        }
        drop(grown);
        follower.join().unwrap()
    });
    let totals = writer.totals();
    assert_eq!(ended.0, totals.bytes);
    assert!(totals.dropped_bytes >= ended.1, "missed {} of {totals:?}", ended.1);
}

#[test]
fn a_required_reader_misses_nothing() {
    let place = Place::new();
    let mut writer = place.writer(TIGHT);
    let (grown, hints) = channel();
    let (taken, progress) = channel();
    let ended = thread::scope(|scope| {
        let place = &place;
        let follower = scope.spawn(move || follow(place, hints, &taken));
        let mut chance = Chance(12);
        let mut taken = 0;
        for now in 0..1_000 {
            taken = progress.try_iter().last().unwrap_or(taken);
            while writer.room(Some(taken)) == 0 {
                taken = progress.recv().unwrap();
            }
            let len = (chance.len() as u64).min(writer.room(Some(taken)));
            let appended = append(&mut writer, Stream::Stdout, usize::try_from(len).unwrap(), now);
            grown.send(appended.to).unwrap();
        }
        drop(grown);
        follower.join().unwrap()
    });
    assert_eq!(ended, (writer.totals().bytes, 0));
    assert!(writer.totals().dropped_bytes > 0, "nothing was dropped: the test shows nothing");
}
