//! The keys that let go of an attached run without ending it. [`Detach`] takes what is typed and says what to pass on; it
//! has no clock: whoever reads the terminal calls [`Detach::flush`] when nothing more was typed for a moment, so that a
//! first key alone is not held back for ever.

use crate::keys::{self, Modes, UnknownKey};

/// What is typed to let go.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DetachKeys {
    bytes: Vec<u8>,
}

/// Detach keys that are refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadDetachKeys {
    /// One is no key.
    #[error(transparent)]
    Key(#[from] UnknownKey),
    /// There is none.
    #[error("no detach keys: write them as in \"C-p C-q\", or \"none\" for none")]
    Empty,
}

impl DetachKeys {
    /// Never let go.
    pub fn none() -> Self {
        Self { bytes: Vec::new() }
    }

    /// Reads keys as in `C-p C-q`, `ctrl-p,ctrl-q` or `none`.
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

/// The search for the detach keys in what is typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detach {
    keys: Vec<u8>,
    /// How many of the keys were typed last and are held back.
    typed: usize,
}

/// What became of some typed bytes.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fed {
    /// What to pass on to the run.
    pub pass: Vec<u8>,
    /// Whether to let go; what was typed after the keys is for nobody.
    pub detach: bool,
}

impl Detach {
    /// Nothing was typed yet.
    pub fn new(keys: DetachKeys) -> Self {
        Self { keys: keys.bytes, typed: 0 }
    }

    /// Takes in typed bytes.
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

    /// Whether something is held back.
    pub fn holds(&self) -> bool {
        self.typed > 0
    }

    /// Gives out what is held back: no more was typed for a while, or nothing more will be.
    pub fn flush(&mut self) -> Vec<u8> {
        self.keys[..std::mem::take(&mut self.typed)].to_vec()
    }

    /// What is certainly not part of the keys any more. Their beginning may lie within what was held back: of `a a b`
    /// after `a a a` only the first is passed on.
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
