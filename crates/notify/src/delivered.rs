//! What became of an attempt. Every text in it can be shown as it is.

use std::time::Duration;
use tenure_core::redact;

/// How many characters a reason may have.
pub const WHY_CHARS: usize = 400;

/// What became of an attempt to tell something.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Delivered {
    /// The channel has it.
    Accepted,
    /// It may go well another time. The channel may have it all the same: the key tells it that it knows it already.
    TryAgain {
        /// What went wrong.
        why: String,
        /// How long the channel wants to be left alone first.
        after: Option<Duration>,
    },
    /// It would go wrong every time.
    GivenUp {
        /// What is wrong, and what to do.
        why: String,
    },
}

impl Delivered {
    /// It may go well another time.
    pub fn try_again(why: impl AsRef<str>) -> Self {
        Self::TryAgain { why: shown(why.as_ref()), after: None }
    }

    /// It would go wrong every time.
    pub fn given_up(why: impl AsRef<str>) -> Self {
        Self::GivenUp { why: shown(why.as_ref()) }
    }
}

/// A text of others on one line: without what is not seen or turns the line around, without secrets, and not too long.
pub(crate) fn shown(text: &str) -> String {
    // What is cut off later is not worth a look for secrets; one that is cut in two must not show its half.
    let begin: String =
        text.chars().take(WHY_CHARS * 8).map(|c| if is_unseen(c) { ' ' } else { c }).collect();
    let words: Vec<_> = begin.split_whitespace().collect();
    let line = redact::text(&words.join(" "));
    if line.chars().count() <= WHY_CHARS {
        return line;
    }
    line.chars().take(WHY_CHARS - 1).chain(['…']).collect()
}

/// Control characters, and those that have no width or turn the line around.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_one_line_without_what_is_not_seen() {
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
