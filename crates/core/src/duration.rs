//! Durations as people write them: `500ms`, `2s`, `5m`, `1h`, and `0` for "off".

use std::time::Duration;

/// The longest accepted duration: a year. Beyond it, a typing error is likelier than a wish.
const LONGEST: Duration = Duration::from_hours(366 * 24);

/// A text that is not a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadDuration {
    /// The text is not a number with a unit.
    #[error("{0:?} is not a duration: write a whole number and a unit, as in 500ms, 2s, 5m or 1h (0 = off)")]
    Malformed(String),
    /// The duration is longer than a year.
    #[error("{0:?} is too long: the longest duration is one year")]
    TooLong(String),
}

/// Parses a duration; `None` is "off".
pub fn parse(text: &str) -> Result<Option<Duration>, BadDuration> {
    let malformed = || BadDuration::Malformed(text.to_owned());
    let too_long = || BadDuration::TooLong(text.to_owned());
    let unit_at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(unit_at);
    if digits.is_empty() {
        return Err(malformed());
    }
    let scale: u64 = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "" if digits.bytes().all(|b| b == b'0') => return Ok(None),
        _ => return Err(malformed()),
    };
    // Only digits are left, so an overflow is the only possible error.
    let number: u64 = digits.parse().map_err(|_| too_long())?;
    let length = number.checked_mul(scale).map(Duration::from_millis).ok_or_else(too_long)?;
    if length > LONGEST {
        return Err(too_long());
    }
    Ok((!length.is_zero()).then_some(length))
}

/// Formats a duration for people: `350 ms`, `2.4 s`, `3 min 20 s`, `2 h 5 min`.
pub fn show(length: Duration) -> String {
    let ms = length.as_millis();
    let s = length.as_secs();
    match s {
        0 => format!("{ms} ms"),
        1..60 => format!("{}.{} s", s, (ms % 1000) / 100),
        60..3600 => format!("{} min {} s", s / 60, s % 60),
        _ => format!("{} h {} min", s / 3600, s % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_is_read() {
        assert_eq!(parse("500ms"), Ok(Some(Duration::from_millis(500))));
        assert_eq!(parse("2s"), Ok(Some(Duration::from_secs(2))));
        assert_eq!(parse("5m"), Ok(Some(Duration::from_mins(5))));
        assert_eq!(parse("1h"), Ok(Some(Duration::from_hours(1))));
    }

    #[test]
    fn zero_in_any_unit_is_off() {
        for text in ["0", "00", "0ms", "0s", "0h"] {
            assert_eq!(parse(text), Ok(None), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_duration_is_refused() {
        for text in ["", "s", "-1s", "1", "1.5s", "1 s", "1d", "ms", "1s ", "+1s", "٣s"] {
            assert!(matches!(parse(text), Err(BadDuration::Malformed(_))), "{text}");
        }
    }

    #[test]
    fn an_overflowing_duration_is_refused_not_wrapped() {
        for text in ["18446744073709551615h", "99999999999999999999999ms", "9000h"] {
            assert!(matches!(parse(text), Err(BadDuration::TooLong(_))), "{text}");
        }
    }

    #[test]
    fn durations_are_shown_in_the_unit_a_person_would_use() {
        assert_eq!(show(Duration::from_millis(350)), "350 ms");
        assert_eq!(show(Duration::from_millis(2_450)), "2.4 s");
        assert_eq!(show(Duration::from_secs(200)), "3 min 20 s");
        assert_eq!(show(Duration::from_mins(125)), "2 h 5 min");
    }
}
