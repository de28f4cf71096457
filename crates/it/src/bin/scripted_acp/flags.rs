//! Abilities and misbehaviours of the agent, from its command line.

use std::collections::HashSet;

/// Flags without a value.
const WORDS: [&str; 11] = [
    // Load, resume, close and list of sessions; modes and options.
    "--load",
    "--resume",
    "--close",
    "--list",
    "--modes",
    "--options",
    // No session without a login.
    "--needs-auth",
    // Keeps running after the end of its input.
    "--ignore-eof",
    // Blocks the signals that ask it to exit.
    "--ignore-term",
    // Answers `session/load` first and replays the session afterwards, piece by piece.
    "--late",
    // Answers `initialize` once there is a file `started`.
    "--slow",
];

/// All flags of the command line.
#[derive(Debug, Default)]
pub(crate) struct Flags {
    words: HashSet<String>,
    /// Login methods.
    pub(crate) auth: Vec<String>,
    /// Method that is never answered.
    pub(crate) mute: Option<String>,
    /// Method that is answered with an error.
    pub(crate) refuse: Option<String>,
    /// Method at which it exits with code 6.
    pub(crate) dies_of: Option<String>,
    /// Exit code at its start.
    pub(crate) crash: Option<u8>,
    /// Version of the protocol.
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

    /// Returns true if the flag was given.
    pub(crate) fn has(&self, word: &str) -> bool {
        assert!(WORDS.contains(&word), "no flag {word}");
        self.words.contains(word)
    }
}
