//! Opaque ids. Each kind is its own type; all are 24 lower-case hex digits drawn at random, so that a short
//! prefix is unique in practice and an id is always a safe file name. Drawing the bytes is `os`'s job.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

const DIGITS: usize = 24;

/// A text that is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not an id: an id is {DIGITS} hexadecimal digits, as `tenure ps` prints it")]
pub struct NotAnId {
    text: String,
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The id made of these random bytes.
            pub fn from_random(bytes: [u8; DIGITS / 2]) -> Self {
                Self(bytes.iter().map(|b| format!("{b:02x}")).collect())
            }

            /// The id's digits.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = NotAnId;

            fn from_str(text: &str) -> Result<Self, NotAnId> {
                check(text).map(|()| Self(text.to_owned()))
            }
        }

        impl TryFrom<String> for $name {
            type Error = NotAnId;

            fn try_from(text: String) -> Result<Self, NotAnId> {
                check(&text).map(|()| Self(text))
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

ids! {
    /// One run: an owned process tree.
    RunId;
    /// One lease: the right to act on a run. It travels in the run's environment.
    LeaseId;
    /// One installation's stable identity.
    InstanceId;
    /// One nursery process.
    NurseryId;
    /// One registry file. A copy of the file gets another id.
    RegistryId;
    /// One turn of a session: a message and what came of it. It has the id already while the message waits.
    TurnId;
    /// One task: the promise to tell an owner how background work went.
    TaskId;
}

/// Minimum length of an id prefix that may end, remove or decide something.
pub const SHORTEST_PREFIX: usize = 4;

/// A prefix that is too short to end, remove or decide anything by.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("id prefix {text:?} is too short: give at least {SHORTEST_PREFIX} characters")]
pub struct PrefixTooShort {
    text: String,
}

/// Refuses a prefix so short that a typo could mean another run. A text that no id begins with passes: the lookup finds
/// nothing by it.
pub fn check_prefix(text: &str) -> Result<(), PrefixTooShort> {
    let begins_ids = !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit());
    if begins_ids && text.len() < SHORTEST_PREFIX {
        return Err(PrefixTooShort { text: text.to_owned() });
    }
    Ok(())
}

fn check(text: &str) -> Result<(), NotAnId> {
    let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    if text.len() == DIGITS && text.bytes().all(is_digit) {
        Ok(())
    } else {
        Err(NotAnId { text: text.chars().take(64).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_as_itself() {
        let id = RunId::from_random([0xab; 12]);
        assert_eq!(id.as_str().parse::<RunId>().unwrap(), id);
    }

    #[test]
    fn a_prefix_of_four_characters_is_the_shortest() {
        assert_eq!(check_prefix("abcd"), Ok(()));
        assert_eq!(check_prefix("zz"), Ok(()), "no id begins so");
        let refused = check_prefix("abc").unwrap_err().to_string();
        assert_eq!(refused, "id prefix \"abc\" is too short: give at least 4 characters");
    }

    #[test]
    fn a_path_is_never_an_id() {
        for text in ["", "..", "../../x", "ABCDEFABCDEFABCDEFABCDEF", "abcdefabcdefabcdefabcde/"] {
            assert!(text.parse::<RunId>().is_err(), "{text}");
        }
    }
}
