//! What the agent can do and how it misbehaves, as its command line says.

/// Everything that a command line can say.
#[derive(Debug, Default)]
pub(crate) struct Flags {
    /// It can load, resume, close and list sessions, and has modes and options.
    pub(crate) load: bool,
    pub(crate) resume: bool,
    pub(crate) close: bool,
    pub(crate) list: bool,
    pub(crate) modes: bool,
    pub(crate) options: bool,
    /// Its ways to log in.
    pub(crate) auth: Vec<String>,
    /// No session without having logged in.
    pub(crate) needs_auth: bool,
    /// It goes on when its input has ended.
    pub(crate) ignore_eof: bool,
    /// It blocks the signals that ask it to end.
    pub(crate) ignore_term: bool,
    /// It answers `initialize` when there is a file `started`.
    pub(crate) slow: bool,
    /// It never answers this method.
    pub(crate) mute: Option<String>,
    /// It answers this method with an error.
    pub(crate) refuse: Option<String>,
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
            let mut value = || words.next().unwrap_or_else(|| panic!("{word} of what?")).clone();
            match word.as_str() {
                "--load" => flags.load = true,
                "--resume" => flags.resume = true,
                "--close" => flags.close = true,
                "--list" => flags.list = true,
                "--modes" => flags.modes = true,
                "--options" => flags.options = true,
                "--auth" => flags.auth.push(value()),
                "--needs-auth" => flags.needs_auth = true,
                "--ignore-eof" => flags.ignore_eof = true,
                "--ignore-term" => flags.ignore_term = true,
                "--slow" => flags.slow = true,
                "--mute" => flags.mute = Some(value()),
                "--refuse" => flags.refuse = Some(value()),
                "--crash" => flags.crash = Some(value().parse().expect("a code")),
                "--protocol" => flags.protocol = Some(value().parse().expect("a version")),
                _ => panic!("no flag {word}"),
            }
        }
        flags
    }
}
