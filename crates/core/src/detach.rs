//! The keys that leave a run alone: what is typed passes, but for the sequence that detaches. A beginning of it is
//! held back until it is clear what it is.

use crate::keys::{self, BadKey, Modes};

/// See the module.
#[derive(Debug, Clone)]
pub struct Detach {
    sequence: Vec<u8>,
    /// How much of the sequence was typed last.
    held: usize,
}

/// What became of typed bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Typed {
    /// What goes to the run.
    pub pass: Vec<u8>,
    /// Whether the sequence was completed; what was typed after it goes nowhere.
    pub detached: bool,
}

impl Detach {
    /// Keys by name, one after the other, divided by blanks or commas; `none` never detaches.
    pub fn parse(text: &str) -> Result<Self, BadKey> {
        let mut sequence = Vec::new();
        if text != "none" {
            for word in text.split([' ', ',']).filter(|word| !word.is_empty()) {
                sequence.extend(keys::encode(&keys::parse(word)?, Modes::default()));
            }
            if sequence.is_empty() {
                return Err(BadKey::Empty);
            }
        }
        Ok(Self { sequence, held: 0 })
    }

    /// Bytes were typed.
    #[must_use]
    pub fn take(&mut self, bytes: &[u8]) -> Typed {
        let mut pass = Vec::new();
        for &byte in bytes {
            let mut typed = self.sequence[..self.held].to_vec();
            typed.push(byte);
            // The longest end of what was typed that may still become the sequence.
            let begins = (0..=typed.len()).find(|&from| self.sequence.starts_with(&typed[from..]));
            let from = begins.unwrap_or(typed.len());
            pass.extend_from_slice(&typed[..from]);
            self.held = typed.len() - from;
            if self.held > 0 && self.held == self.sequence.len() {
                self.held = 0;
                return Typed { pass, detached: true };
            }
        }
        Typed { pass, detached: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(detach: &mut Detach, bytes: &str) -> (String, bool) {
        let Typed { pass, detached } = detach.take(bytes.as_bytes());
        (String::from_utf8(pass).unwrap(), detached)
    }

    #[test]
    fn the_sequence_detaches_and_everything_else_passes() {
        let mut detach = Detach::parse("C-p C-q").unwrap();
        assert_eq!(take(&mut detach, "ab\x10"), ("ab".into(), false));
        assert_eq!(take(&mut detach, "c"), ("\x10c".into(), false), "a beginning is held back, not lost");
        assert_eq!(take(&mut detach, "\x10\x10"), ("\x10".into(), false));
        assert_eq!(take(&mut detach, "\x11rest"), (String::new(), true));
        assert_eq!(take(&mut Detach::parse("ctrl-p,ctrl-q").unwrap(), "x\x10\x11"), ("x".into(), true));
    }

    #[test]
    fn a_sequence_that_repeats_itself_is_found() {
        let mut detach = Detach::parse("a a b").unwrap();
        assert_eq!(take(&mut detach, "aaab"), ("a".into(), true));
        let mut detach = Detach::parse("a b a c").unwrap();
        assert_eq!(take(&mut detach, "ababac"), ("ab".into(), true));
    }

    #[test]
    fn none_never_detaches_and_nothing_is_refused() {
        let mut detach = Detach::parse("none").unwrap();
        assert_eq!(take(&mut detach, "\x10\x11none"), ("\x10\x11none".into(), false));
        assert_eq!(Detach::parse(" ").unwrap_err(), BadKey::Empty);
        assert!(Detach::parse("C-p hello").is_err());
    }
}
