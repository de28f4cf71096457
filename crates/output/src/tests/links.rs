//! Tests on Unix, where a name can be a dangling link.

use super::{Place, append};
use crate::{Piece, name};
use tenure_core::output::{Keep, Stream};

#[test]
fn a_segment_dropped_between_listing_and_opening_is_a_gap() {
    let place = Place::new();
    let mut writer = place.writer(Keep { head: 1_000, tail: 1 << 20 });
    append(&mut writer, Stream::Stdout, 100_000, 1);
    name::remove(&place.dir, 1_000);
    // The segment is listed, but missing, as for a reader that came a moment too late.
    std::os::unix::fs::symlink("gone", name::index(&place.dir, 1_000)).unwrap();
    assert_eq!(place.pieces(1_000)[0], Piece::Gap { from: 1_000, to: 66_536 });
}
