//! Signals by number and name. Numbers are those of the system the run is on; people read the names.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Returns the name of a signal number, such as `SIGTERM`; `SIG34` if there is none.
pub fn name(number: i32) -> String {
    match NAMES.iter().find(|(_, n)| *n == number) {
        Some((name, _)) => format!("SIG{name}"),
        None => format!("SIG{number}"),
    }
}

/// Returns the number of a signal named `TERM`, `SIGTERM` or `15`.
pub fn number(text: &str) -> Option<i32> {
    let bare = text.strip_prefix("SIG").unwrap_or(text);
    match NAMES.iter().find(|(name, _)| *name == bare) {
        Some((_, number)) => Some(*number),
        None => bare.parse().ok().filter(|n| (1..=64).contains(n)),
    }
}

/// The signals that Tenure itself sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Signal(pub i32);

impl Signal {
    /// Hang-up, which ends an interactive shell.
    pub const HUP: Self = Self(1);
    /// Kill at once.
    pub const KILL: Self = Self(9);
    /// Request to exit.
    pub const TERM: Self = Self(15);
    /// Continue, so that a stopped process receives the others.
    pub const CONT: Self = Self(18);
    /// Stop.
    pub const STOP: Self = Self(19);
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&name(self.0))
    }
}

const NAMES: [(&str, i32); 31] = [
    ("HUP", 1),
    ("INT", 2),
    ("QUIT", 3),
    ("ILL", 4),
    ("TRAP", 5),
    ("ABRT", 6),
    ("BUS", 7),
    ("FPE", 8),
    ("KILL", 9),
    ("USR1", 10),
    ("SEGV", 11),
    ("USR2", 12),
    ("PIPE", 13),
    ("ALRM", 14),
    ("TERM", 15),
    ("STKFLT", 16),
    ("CHLD", 17),
    ("CONT", 18),
    ("STOP", 19),
    ("TSTP", 20),
    ("TTIN", 21),
    ("TTOU", 22),
    ("URG", 23),
    ("XCPU", 24),
    ("XFSZ", 25),
    ("VTALRM", 26),
    ("PROF", 27),
    ("WINCH", 28),
    ("IO", 29),
    ("PWR", 30),
    ("SYS", 31),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_known_by_either_name_and_by_number() {
        for text in ["TERM", "SIGTERM", "15"] {
            assert_eq!(number(text), Some(15), "{text}");
        }
        assert_eq!(number("0"), None);
        assert_eq!(number("NONSENSE"), None);
        assert_eq!(name(9), "SIGKILL");
        assert_eq!(name(40), "SIG40");
    }
}
