use super::{ALL, Place, append};
use crate::positional_io::disk;
use crate::{Piece, Reader, Writer, totals};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use tenure_core::output::{Keep, Stream, Stretch, Totals};

/// Returns the kept and the lost stretches in order, with equal neighbours merged.
fn shape(pieces: &[Piece]) -> Vec<(bool, u64, u64)> {
    let mut shape: Vec<(bool, u64, u64)> = Vec::new();
    for piece in pieces {
        let (kept, from, to) = match *piece {
            Piece::Bytes { from, .. } => (true, from, piece.end()),
            Piece::Lost { from, to, .. } => (false, from, to),
            Piece::Gap { .. } | Piece::End { .. } => panic!("{piece:?}"),
        };
        match shape.last_mut() {
            Some(last) if last.0 == kept => last.2 = to,
            _ => shape.push((kept, from, to)),
        }
    }
    shape
}

/// Appends 140 small pieces, which need a second block in the index, on a disk with this much room.
fn fill(place: &Place, free: u64) -> Writer {
    disk::set_free(4096 + free);
    let mut writer = place.writer(ALL);
    let mut lost = 0;
    for now in 0..140 {
        let stream = [Stream::Stdout, Stream::Stderr][usize::from(now % 2 == 1)];
        let appended = append(&mut writer, stream, 2, 100 + now);
        lost += appended.lost.as_ref().map_or(0, |lost| lost.end - lost.start);
        assert!(appended.lost.is_none_or(|lost| lost.end == appended.to));
    }
    assert_eq!(lost, writer.totals().dropped_bytes);
    writer
}

#[test]
fn a_disk_full_after_any_byte_costs_one_marked_loss_and_the_output_goes_on() {
    for free in (0..=300).chain(4_090..=4_400) {
        let place = Place::new();
        let mut writer = fill(&place, free);
        let lost = writer.totals().dropped_bytes;
        assert_eq!(totals(&place.dir).unwrap(), writer.totals(), "{free} free");
        disk::set_free(u64::MAX);
        append(&mut writer, Stream::Stderr, 20, 1_000);

        let shape = shape(&place.pieces(0));
        let kept = 280 - lost;
        let expected = [(true, 0, kept), (false, kept, 280), (true, 280, 300)];
        match lost {
            0 => assert_eq!(shape, [(true, 0, 300)], "{free} free"),
            280 => assert_eq!(shape, expected[1..], "{free} free"),
            _ => assert_eq!(shape, expected, "{free} free"),
        }
        assert_eq!(totals(&place.dir).unwrap(), writer.totals(), "{free} free");
    }
}

#[test]
fn a_disk_that_stays_full_gets_one_entry_and_no_more_files() {
    let place = Place::new();
    let mut writer = fill(&place, 100);
    let files = fs::read_dir(&place.dir).unwrap().count();
    for now in 0..2_000 {
        // From time to time there is room for an index, and never for a byte.
        disk::set_free(now % 3 * 2_048);
        let appended = append(&mut writer, Stream::Stdout, 1_000, 1_000 + now * 5);
        assert_eq!(appended.lost, Some(appended.from..appended.to));
    }
    disk::set_free(u64::MAX);
    let losses = place.entries(0).into_iter().filter(|entry| matches!(entry.stretch, Stretch::Lost(_)));
    assert_eq!(losses.map(|entry| entry.end()).collect::<Vec<_>>(), [2_000_280]);
    assert_eq!(fs::read_dir(&place.dir).unwrap().count(), files);
}

#[test]
fn a_reader_at_the_end_sees_a_loss_and_what_comes_after_it() {
    let place = Place::new();
    let mut writer = place.writer(ALL);
    let mut reader = Reader::new(&place.dir);
    let mut buf = [0; 100];
    append(&mut writer, Stream::Stdout, 10, 100);
    disk::set_free(0);
    append(&mut writer, Stream::Stdout, 10, 101);
    append(&mut writer, Stream::Stderr, 10, 102);
    assert_eq!(reader.read(0, &mut buf).unwrap().end(), 10);
    assert_eq!(reader.read(10, &mut buf).unwrap(), Piece::Lost { from: 10, to: 30, at_ms: 101 });
    assert_eq!(reader.read(30, &mut buf).unwrap(), Piece::End { at: 30 });
    append(&mut writer, Stream::Stderr, 10, 103);
    assert_eq!(reader.read(30, &mut buf).unwrap(), Piece::Lost { from: 30, to: 40, at_ms: 101 });
    disk::set_free(u64::MAX);
    append(&mut writer, Stream::Stderr, 10, 150);
    let piece = Piece::Bytes { from: 40, len: 10, stream: Stream::Stderr, at_ms: 150 };
    assert_eq!(reader.read(40, &mut buf).unwrap(), piece);
}

#[test]
fn lost_bytes_push_old_segments_out_like_any_others() {
    let place = Place::new();
    let mut writer = place.writer(Keep { head: 1_000, tail: 100_000 });
    append(&mut writer, Stream::Stdout, 100_000, 100);
    disk::set_free(0);
    append(&mut writer, Stream::Stdout, 90_000, 200);
    assert_eq!(place.starts(), [0, 66_536]);
    assert_eq!(writer.totals().dropped_bytes, 65_536 + 90_000);
    disk::set_free(u64::MAX);
    append(&mut writer, Stream::Stdout, 101_000, 300);
    assert_eq!(place.starts(), [0, 190_000, 255_536]);
    assert_eq!(totals(&place.dir).unwrap(), writer.totals());
}

#[test]
fn where_not_even_a_loss_can_be_written_everything_is_lost_until_it_can() {
    let place = Place::new();
    disk::set_free(4_095);
    let mut writer = Writer::create(&place.dir, ALL);
    append(&mut writer, Stream::Stdout, 100, 1);
    assert!(place.starts().is_empty());
    assert_eq!(writer.totals(), Totals { bytes: 100, dropped_bytes: 100 });
    disk::set_free(u64::MAX);
    append(&mut writer, Stream::Stdout, 50, 20);
    assert_eq!(writer.totals(), Totals { bytes: 150, dropped_bytes: 100 });
    assert_eq!(place.pieces(0)[0], Piece::Gap { from: 0, to: 100 });
    assert_eq!(place.starts(), [100]);
}

/// A real file system of a given size.
struct Tmpfs(TempDir);

impl Tmpfs {
    /// Mounts it; `None` where we may not mount.
    fn mount(options: &str) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        tool("mount", &["-t", "tmpfs", "-o", options, "tmpfs"], dir.path()).then_some(Self(dir))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        tool("umount", &["--lazy"], self.0.path());
    }
}

#[expect(clippy::disallowed_methods, reason = "only mount(8) makes a real full disk, and it ends at once")]
fn tool(name: &str, arguments: &[&str], path: &Path) -> bool {
    let status = std::process::Command::new(name).args(arguments).arg(path).status();
    status.is_ok_and(|status| status.success())
}

#[test]
fn on_a_real_disk_that_fills_up_and_is_freed_the_output_goes_on() {
    let Some(disk) = Tmpfs::mount("size=512k") else { return eprintln!("cannot run here: may not mount") };
    fs::write(disk.path("filler"), vec![0; 200 << 10]).unwrap();
    let place = Place { dir: disk.path("output"), _holder: tempfile::tempdir().unwrap() };
    let mut writer = place.writer(ALL);
    let mut now = 0;
    while append(&mut writer, Stream::Stdout, 7_000, now).lost.is_none() {
        now += 3;
    }
    for _ in 0..1_000 {
        now += 3;
        append(&mut writer, Stream::Stderr, 7_000, now);
    }
    assert_eq!(place.starts(), [0]);
    fs::remove_file(disk.path("filler")).unwrap();
    let freed = writer.totals().bytes;
    for _ in 0..10 {
        now += 10;
        assert_eq!(append(&mut writer, Stream::Stderr, 7_000, now).lost, None);
    }
    let shape = shape(&place.pieces(0));
    let [(true, 0, full), (false, _, to), (true, ..)] = shape[..] else { panic!("{shape:?}") };
    assert!(to == freed && (200_000..400_000).contains(&full), "{shape:?}");
    assert_eq!(totals(&place.dir).unwrap(), writer.totals());
}

#[test]
fn on_a_real_disk_without_a_file_to_spare_the_first_byte_s_loss_is_marked() {
    // The file system has inodes for its root, the directory and the index: the log is one too many.
    let Some(disk) = Tmpfs::mount("size=512k,nr_inodes=3") else {
        return eprintln!("cannot run here: may not mount");
    };
    let place = Place { dir: disk.path("output"), _holder: tempfile::tempdir().unwrap() };
    let mut writer = place.writer(ALL);
    append(&mut writer, Stream::Stdout, 100, 1);
    append(&mut writer, Stream::Stderr, 100, 20);
    assert_eq!(place.pieces(0), [Piece::Lost { from: 0, to: 200, at_ms: 1 }]);
}
