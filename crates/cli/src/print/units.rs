//! Durations and byte counts for people.

use std::time::Duration;

/// Formats an age in one unit.
pub(crate) fn ago(length: Duration) -> String {
    let s = length.as_secs();
    match s {
        0 => format!("{} ms", length.as_millis()),
        1..120 => format!("{s} s"),
        120..7_200 => format!("{} min", s / 60),
        7_200..172_800 => format!("{} h", s / 3600),
        _ => format!("{} d", s / 86_400),
    }
}

/// Formats a byte count in the largest unit that it reaches.
pub(crate) fn bytes(amount: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if amount < 1024 {
        return format!("{amount} B");
    }
    // In tenths, as an integer: a float would lose digits of large counts.
    let (mut tenths, mut unit) = (u128::from(amount) * 10 / 1024, 0);
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    match tenths {
        0..1000 => format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit]),
        _ => format!("{} {}", tenths / 10, UNITS[unit]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_shown_in_one_unit() {
        let age = |s| ago(Duration::from_secs(s));
        assert_eq!(ago(Duration::from_millis(350)), "350 ms");
        assert_eq!([age(5), age(119), age(120), age(7_199)], ["5 s", "119 s", "2 min", "119 min"]);
        assert_eq!([age(7_200), age(172_799), age(172_800)], ["2 h", "47 h", "2 d"]);
    }

    #[test]
    fn a_byte_count_is_shown_in_its_largest_unit() {
        assert_eq!([bytes(0), bytes(1023), bytes(1024)], ["0 B", "1023 B", "1.0 KiB"]);
        assert_eq!([bytes(1536 << 10), bytes(150 << 20)], ["1.5 MiB", "150 MiB"]);
        assert_eq!(bytes(u64::MAX), "16383 PiB");
    }
}
