//! What the agent can do and how it misbehaves, as its command line says.

use std::collections::HashSet;

/// What can be said in one word.
const WORDS: [&str; 11] = [
    // It can load, resume, close and list sessions, and has modes and options.
    "--load",
    "--resume",
    "--close",
    "--list",
    "--modes",
    "--options",
    // No session without having logged in.
    "--needs-auth",
    // It goes on when its input has ended.
    "--ignore-eof",
    // It blocks the signals that ask it to end.
    "--ignore-term",
    // It answers `session/load` first and replays the session afterwards, piece by piece.
    "--late",
    // It answers `initialize` when there is a file `started`.
    "--slow",
];

/// Everything that a command line can say.
#[derive(Debug, Default)]
pub(crate) struct Flags {
    words: HashSet<String>,
    /// Its ways to log in.
    pub(crate) auth: Vec<String>,
    /// It never answers this method.
    pub(crate) mute: Option<String>,
    /// It answers this method with an error.
    pub(crate) refuse: Option<String>,
    /// It ends with code 6 when it is asked this.
    pub(crate) dies_of: Option<String>,
    /// It ends with this code at its start.
    pub(crate) crash: Option<u8>,
    /// The version of the protocol that it speaks.
    pub(crate) protocol: Option<u64>,
}

impl Flags {
    pub(crate) fn read(argv: &[String]) -> Self {
        let mut flags = Self::default();
        let mut words = argv.iter();
        while let Some(word) = words.next() {
            if WORDS.contains(&word.as_str()) {
                flags.words.insert(word.clone());
                continue;
            }
            let value = words.next().unwrap_or_else(|| panic!("{word} of what?")).clone();
            match word.as_str() {
                "--auth" => flags.auth.push(value),
                "--mute" => flags.mute = Some(value),
                "--refuse" => flags.refuse = Some(value),
                "--dies-of" => flags.dies_of = Some(value),
                "--crash" => flags.crash = Some(value.parse().expect("a code")),
                "--protocol" => flags.protocol = Some(value.parse().expect("a version")),
                _ => panic!("no flag {word}"),
            }
        }
        flags
    }

    /// Whether this was said.
    pub(crate) fn has(&self, word: &str) -> bool {
        assert!(WORDS.contains(&word), "no flag {word}");
        self.words.contains(word)
    }
}
