//! The pace of recorded progress and of delivery attempts.

use super::*;
use proptest::prelude::*;
use std::time::Duration;

#[test]
fn progress_is_noted_at_once_or_when_a_second_has_passed() {
    let noted = Some(("a", NOW));
    for (noted, text, now, emit) in [
        (None, "a", NOW, Emit::Now),
        (None, "", NOW, Emit::Never),
        (noted, "a", NOW + 9_999, Emit::Never),
        (noted, "", NOW + 9_999, Emit::Never),
        (noted, "b", NOW + 1_000, Emit::Now),
        (noted, "b", NOW + 999, Emit::At(NOW + 1_000)),
        (noted, "b", NOW, Emit::At(NOW + 1_000)),
        // The clock was set back by a day.
        (noted, "b", NOW - 86_400_000, Emit::At(NOW - 86_400_000 + 1_000)),
    ] {
        assert_eq!(progress(noted, text, now), emit, "{noted:?} {text} {now}");
    }
}

#[test]
fn pauses_double_up_to_the_longest_and_end() {
    let schedule = Schedule::default();
    let pauses: Vec<_> =
        (1..).map_while(|tries| schedule.pause_after(tries, 0)).map(|it| it.as_secs()).collect();
    assert_eq!(pauses, [2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600]);
    assert_eq!(schedule.pause_after(12, 0), None);
    assert_eq!(schedule.pause_after(u32::MAX, 0), None);
    let endless = Schedule { tries: u32::MAX, ..schedule };
    assert_eq!(endless.pause_after(1_000_000, 0), Some(Duration::from_mins(10)));
}

proptest! {
    #[test]
    fn chance_takes_off_up_to_a_half(tries in 1_u32..12, random in any::<u64>()) {
        let whole = Schedule::default().pause_after(tries, 0).unwrap();
        let pause = Schedule::default().pause_after(tries, random).unwrap();
        prop_assert!(pause <= whole && pause >= whole / 2);
    }
}

#[test]
fn those_who_failed_together_come_back_apart() {
    let pauses: std::collections::BTreeSet<_> = (0..1_000_u64)
        .filter_map(|n| Schedule::default().pause_after(5, n.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
        .collect();
    assert!(pauses.len() > 500, "{}", pauses.len());
}
