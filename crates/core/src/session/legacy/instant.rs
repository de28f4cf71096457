//! Times as records write them: `2026-02-03T04:05:06.789Z`, or with an offset.

/// Parses a time into Unix milliseconds; `None` if the text is not a time, or is before 1970.
pub(super) fn unix_ms(text: &str) -> Option<u64> {
    let (date, time) = text.split_once(['T', 't', ' '])?;
    let zone_at = time.find(['Z', 'z', '+', '-'])?;
    let (time, zone) = time.split_at(zone_at);
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let (time, fraction) = time.split_once('.').map_or((time, None), |(time, part)| (time, Some(part)));
    let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
    let millis = fraction.map_or(Some(0), millis)?;
    if !(1..=12).contains(&month) || !(1..=days_in(year, month)).contains(&day) {
        return None;
    }
    // A leap second counts as the first of the next minute.
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = (days_since_1970(year, month, day) * 24 + hour) * 3600 + minute * 60 + second;
    u64::try_from((seconds - offset(zone)?) * 1000 + millis).ok()
}

/// Parses numbers with exactly so many digits.
fn numbers(text: &str, between: char, digits: [usize; 3]) -> Option<[i64; 3]> {
    let mut parts = text.split(between);
    let mut found = [0; 3];
    for (number, digits) in found.iter_mut().zip(digits) {
        *number = parts.next().filter(|part| part.len() == digits).and_then(whole)?;
    }
    parts.next().is_none().then_some(found)
}

fn whole(text: &str) -> Option<i64> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// Returns the first three digits of a fraction, which has up to nine.
fn millis(fraction: &str) -> Option<i64> {
    if !(1..=9).contains(&fraction.len()) {
        return None;
    }
    whole(&format!("{fraction:0<9}")).map(|nanos| nanos / 1_000_000)
}

/// Returns the seconds east of Greenwich.
fn offset(zone: &str) -> Option<i64> {
    if matches!(zone, "Z" | "z") {
        return Some(0);
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    let part = |text: &str, most| whole(text).filter(|n| text.len() == 2 && *n <= most);
    Some(sign * (part(hours, 23)? * 3600 + part(minutes, 59)? * 60))
}

fn is_leap(year: i64) -> bool {
    (year % 4 == 0 && year % 100 != 0) || year % 400 == 0
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let leaps = |year: i64| year / 4 - year / 100 + year / 400;
    let before = (year - 1970) * 365 + leaps(year - 1) - leaps(1969);
    before + (1..month).map(|month| days_in(year, month)).sum::<i64>() + day - 1
}

#[cfg(test)]
mod tests {
    use super::unix_ms;

    #[test]
    fn a_moment_is_read_with_its_fraction_and_its_offset() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2026-02-03T04:05:06.789Z", 1_770_091_506_789),
            ("2026-02-03T06:35:06.789123+02:30", 1_770_091_506_789),
            ("2024-02-29t23:59:60z", 1_709_251_200_000),
            ("2000-12-31 23:00:00.5-01:00", 978_307_200_500),
        ] {
            assert_eq!(unix_ms(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_moment_is_none() {
        for text in [
            "",
            "T",
            "yesterday",
            "2026-02-03",
            "2026-02-03T04:05:06",
            "2026-02-30T04:05:06Z",
            "2026-13-01T00:00:00Z",
            "2026-1-01T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "1969-12-31T23:59:59Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00+2",
            "2026-01-01T00:00:00+é:00",
            "+026-01-01T00:00:00Z",
        ] {
            assert_eq!(unix_ms(text), None, "{text}");
        }
    }
}
