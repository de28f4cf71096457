//! Result of a delivery attempt. Its texts are cleaned and can be shown as they are.

use std::time::Duration;
use tenure_core::redact;

/// Maximum number of characters of an error.
pub const WHY_CHARS: usize = 400;

/// Result of a delivery attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Delivery {
    /// The channel accepted the notice.
    Accepted,
    /// Failed, but a retry may succeed. The channel may have received the notice anyway, and recognizes the retry by the key.
    TryAgain {
        /// The error.
        why: String,
        /// The pause that the channel requests before the retry.
        after: Option<Duration>,
    },
    /// Failed permanently.
    GivenUp {
        /// The error, and what to do.
        why: String,
    },
}

impl Delivery {
    /// Returns a failure that is retried.
    pub fn try_again(why: impl AsRef<str>) -> Self {
        Self::TryAgain { why: shown(why.as_ref()), after: None }
    }

    /// Returns a permanent failure.
    pub fn given_up(why: impl AsRef<str>) -> Self {
        Self::GivenUp { why: shown(why.as_ref()) }
    }
}

/// Returns a foreign text as one line, without invisible characters and secrets, and cut to length.
pub(crate) fn shown(text: &str) -> String {
    // Reads more than is shown, so that a secret at the cut is found as a whole.
    let begin: String =
        text.chars().take(WHY_CHARS * 8).map(|c| if is_invisible(c) { ' ' } else { c }).collect();
    let words: Vec<_> = begin.split_whitespace().collect();
    let line = redact::text(&words.join(" "));
    if line.chars().count() <= WHY_CHARS {
        return line;
    }
    line.chars().take(WHY_CHARS - 1).chain(['…']).collect()
}

/// Returns true for control characters, and characters without width or that reverse the line.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_one_line_without_invisible_characters() {
        let why = shown("bad\u{1b}[31m \r\n  thing\u{202e}\u{200b}\0 here\u{2028}end ");
        assert_eq!(why, "bad [31m thing here end");
    }

    #[test]
    fn a_reason_has_an_end_and_says_when_it_was_cut() {
        let why = shown(&"ä".repeat(1 << 20));
        assert_eq!((why.chars().count(), why.ends_with('…')), (WHY_CHARS, true));
        assert_eq!(shown(&"ä".repeat(WHY_CHARS)), "ä".repeat(WHY_CHARS));
    }

    #[test]
    fn a_reason_tells_no_secret() {
        let why = shown("refused: Authorization: Bearer abcdefghijklmnopqrstuvwxyz0123456789");
        assert!(!why.contains("abcdefgh"), "{why}");
    }
}
