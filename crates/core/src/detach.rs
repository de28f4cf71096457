//! The keys that detach from a run without ending it. [`Detach`] takes the typed bytes and returns those to pass
//! on. It has no clock: whoever reads the terminal calls [`Detach::flush`] after a short pause in the typing, so
//! that a first key alone is not held back for ever.

use crate::keys::{self, Modes, UnknownKey};

/// The key sequence that detaches.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DetachKeys {
    bytes: Vec<u8>,
}

/// Detach keys that are refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadDetachKeys {
    /// A word is not the name of a key.
    #[error(transparent)]
    Key(#[from] UnknownKey),
    /// The list is empty.
    #[error("no detach keys given: use keys as in \"C-p C-q\", or \"none\"")]
    Empty,
}

impl DetachKeys {
    /// Returns no keys: nothing detaches.
    pub fn none() -> Self {
        Self { bytes: Vec::new() }
    }

    /// Parses keys such as `C-p C-q`, `ctrl-p,ctrl-q` or `none`.
    pub fn parse(text: &str) -> Result<Self, BadDetachKeys> {
        if text.trim() == "none" {
            return Ok(Self::none());
        }
        let mut bytes = Vec::new();
        for word in text.split([' ', ',']).filter(|word| !word.is_empty()) {
            let caret = word.strip_prefix("ctrl-").map(|key| format!("C-{key}"));
            let key = keys::parse(caret.as_deref().unwrap_or(word))?;
            bytes.extend(keys::encode(&key, Modes::default()));
        }
        if bytes.is_empty() { Err(BadDetachKeys::Empty) } else { Ok(Self { bytes }) }
    }
}

/// Searches typed bytes for the detach keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detach {
    keys: Vec<u8>,
    /// The number of held back bytes: the part of the keys that was typed last.
    typed: usize,
}

/// The result of feeding some typed bytes.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fed {
    /// The bytes to pass on to the run.
    pub pass: Vec<u8>,
    /// True to detach; bytes typed after the keys are discarded.
    pub detach: bool,
}

impl Detach {
    /// Starts with nothing typed.
    pub fn new(keys: DetachKeys) -> Self {
        Self { keys: keys.bytes, typed: 0 }
    }

    /// Takes typed bytes.
    pub fn feed(&mut self, bytes: &[u8]) -> Fed {
        let mut fed = Fed::default();
        for &byte in bytes {
            fed.pass.extend(self.take(byte));
            if self.typed > 0 && self.typed == self.keys.len() {
                self.typed = 0;
                fed.detach = true;
                break;
            }
        }
        fed
    }

    /// Returns true if bytes are held back.
    pub fn holds(&self) -> bool {
        self.typed > 0
    }

    /// Returns the held back bytes, because nothing more was typed for a while, or nothing more will be.
    pub fn flush(&mut self) -> Vec<u8> {
        self.keys[..std::mem::take(&mut self.typed)].to_vec()
    }

    /// Returns the bytes that can no longer be part of the keys. The keys may begin within the held back bytes: of
    /// `a a b` after `a a a`, only the first is passed on.
    fn take(&mut self, byte: u8) -> Vec<u8> {
        let mut held = self.keys[..self.typed].to_vec();
        held.push(byte);
        let passed =
            (0..=held.len()).find(|&from| self.keys.starts_with(&held[from..])).unwrap_or(held.len());
        self.typed = held.len() - passed;
        held.truncate(passed);
        held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detach(keys: &str) -> Detach {
        Detach::new(DetachKeys::parse(keys).unwrap())
    }

    #[test]
    fn the_default_keys_let_go() {
        let mut detach = detach(crate::defaults::DETACH_KEYS);
        assert_eq!(detach.feed(b"ls\r\x10\x11x"), Fed { pass: b"ls\r".to_vec(), detach: true });
        assert!(!detach.holds());
    }

    #[test]
    fn keys_are_written_as_for_containers_too() {
        assert_eq!(DetachKeys::parse("C-p C-q"), DetachKeys::parse("ctrl-p,ctrl-q"));
        assert_eq!(DetachKeys::parse("C-]").unwrap().bytes, [0x1d]);
        assert_eq!(DetachKeys::parse(" , "), Err(BadDetachKeys::Empty));
        assert!(matches!(DetachKeys::parse("C-p nonsense"), Err(BadDetachKeys::Key(_))));
    }

    #[test]
    fn without_keys_everything_is_passed_on_at_once() {
        let mut detach = detach("none");
        assert_eq!(detach.feed(b"\x10\x11"), Fed { pass: b"\x10\x11".to_vec(), detach: false });
        assert!(!detach.holds() && detach.flush().is_empty());
    }

    #[test]
    fn a_first_key_alone_is_held_until_flushed() {
        let mut detach = detach("C-p C-q");
        assert_eq!(detach.feed(b"\x10"), Fed::default());
        assert!(detach.holds());
        assert_eq!(detach.flush(), b"\x10");
        assert_eq!(detach.feed(b"\x11"), Fed { pass: b"\x11".to_vec(), detach: false });
    }

    #[test]
    fn whatever_is_typed_in_whatever_pieces_is_passed_on_up_to_the_keys() {
        for keys in ["p q", "p p", "p p q", "p q p x", "p", "p q p q x"] {
            let wanted = DetachKeys::parse(keys).unwrap().bytes;
            for number in 0..3_usize.pow(8) {
                let typed: Vec<u8> = (0..8).map(|at| b"pqx"[number / 3_usize.pow(at) % 3]).collect();
                let found = typed.windows(wanted.len()).position(|it| it == wanted);
                for piece in [1, 3, 8] {
                    let mut detach = detach(keys);
                    let (mut passed, mut gone) = (Vec::new(), false);
                    for bytes in typed.chunks(piece) {
                        let fed = detach.feed(bytes);
                        passed.extend(fed.pass);
                        gone = fed.detach;
                        if gone {
                            break;
                        }
                    }
                    assert_eq!(gone, found.is_some(), "{keys}: {typed:?}");
                    passed.extend(detach.flush());
                    assert_eq!(passed, typed[..found.unwrap_or(typed.len())], "{keys}: {typed:?}");
                }
            }
        }
    }
}
