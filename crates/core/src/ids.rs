//! Opaque ids. Each kind is its own type. All are 24 random lower-case hex digits, so that a short prefix is unique
//! in practice and an id is always a safe file name. `os` draws the random bytes.

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
            /// Makes an id of random bytes.
            pub fn from_random(bytes: [u8; DIGITS / 2]) -> Self {
                Self(bytes.iter().map(|b| format!("{b:02x}")).collect())
            }

            /// Returns the id's digits.
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
    /// The id of a run: an owned process tree.
    RunId;
    /// The id of a lease: the right to act on a run. It is in the run's environment.
    LeaseId;
    /// The stable id of an installation.
    InstanceId;
    /// The id of a nursery process.
    NurseryId;
    /// The id of a registry file. A copy of the file gets another id.
    RegistryId;
    /// The id of a turn of a session: a message and its result. The turn has it from the moment the message is
    /// queued.
    TurnId;
    /// The id of a task: the promise to tell an owner how background work went.
    TaskId;
}

/// Minimum length of an id prefix that may end, remove or decide something.
pub const SHORTEST_PREFIX: usize = 4;

/// An id prefix that is too short to end, remove or decide anything.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("id prefix {text:?} is too short: give at least {SHORTEST_PREFIX} characters")]
pub struct PrefixTooShort {
    text: String,
}

/// Refuses a prefix so short that a typo could mean another run. A text that no id begins with passes: the lookup
/// finds nothing by it.
pub fn check_prefix(text: &str) -> Result<(), PrefixTooShort> {
    let begins_ids = !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit());
    if begins_ids && text.len() < SHORTEST_PREFIX {
        return Err(PrefixTooShort { text: text.to_owned() });
    }
    Ok(())
}

/// An ambiguous prefix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{count} {what} have ids that begin with {text:?}: use a longer prefix")]
pub struct AmbiguousPrefix {
    count: usize,
    what: &'static str,
    text: String,
}

/// Finds the item that an id or a unique prefix of it means. `what` is the word for all of them. An empty text,
/// such as a script's empty variable, means none.
pub fn find_by_prefix<T>(
    text: &str,
    what: &'static str,
    all: impl IntoIterator<Item = T>,
    id: impl Fn(&T) -> &str,
) -> Result<Option<T>, AmbiguousPrefix> {
    let mut found = all.into_iter().filter(|one| !text.is_empty() && id(one).starts_with(text));
    let first = found.next();
    match found.count() {
        0 => Ok(first),
        more => Err(AmbiguousPrefix { count: more + 1, what, text: text.to_owned() }),
    }
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
    fn a_prefix_means_the_only_id_that_begins_with_it() {
        let find = |text| find_by_prefix(text, "runs", ["ab1", "ab2", "c"], |id| *id);
        assert_eq!((find("ab2"), find("c")), (Ok(Some("ab2")), Ok(Some("c"))));
        assert_eq!((find("d"), find("")), (Ok(None), Ok(None)));
        let refused = find("a").unwrap_err().to_string();
        assert_eq!(refused, "2 runs have ids that begin with \"a\": use a longer prefix");
    }

    #[test]
    fn a_path_is_never_an_id() {
        for text in ["", "..", "../../x", "ABCDEFABCDEFABCDEFABCDEF", "abcdefabcdefabcdefabcde/"] {
            assert!(text.parse::<RunId>().is_err(), "{text}");
        }
    }
}
