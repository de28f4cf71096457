//! What somebody asks to run. Pipes and pty are two cases of one choice, each with its own command: a pty
//! command is never put together again from a list of words, nor a list of words from a line.

use crate::limits::{BadLimits, Limits};
use crate::resources::{NothingLeft, Resources};
use serde::{Deserialize, Serialize};

/// A command line as the system takes it: at least a program, no NUL byte in any word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argv {
    words: Vec<Vec<u8>>,
    /// The last word as it was given, if another is executed.
    given_line: Option<Vec<u8>>,
}

/// A command or setting that is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSpec {
    /// No program, or an empty one.
    #[error("the command is empty: say what to run, as in `tenure run -- npm test`")]
    EmptyCommand,
    /// A NUL byte cannot be passed to a program.
    #[error("{what} holds a NUL byte, which no program can be given")]
    Nul {
        /// Which part.
        what: String,
    },
    /// An environment entry without a name.
    #[error("{entry:?} is not an environment setting: write NAME=VALUE")]
    BadEnv {
        /// The entry as given.
        entry: String,
    },
    /// A pty without room for a character.
    #[error("a pty needs at least one column and one row, not {cols}x{rows}")]
    BadSize {
        /// Columns asked for.
        cols: u16,
        /// Rows asked for.
        rows: u16,
    },
    /// A part is longer than this system can pass to a program.
    #[error(
        "{what} is too long: {bytes} bytes, and this system takes at most {most}; write it to a file instead"
    )]
    TooLong {
        /// The part that is too long.
        what: String,
        /// The length of the part.
        bytes: usize,
        /// The maximum length.
        most: usize,
    },
    /// Limits that contradict each other.
    #[error(transparent)]
    Limits(#[from] BadLimits),
    /// Limits under which nothing could run.
    #[error(transparent)]
    Resources(#[from] NothingLeft),
}

impl Argv {
    /// Checks a command line.
    pub fn new(words: Vec<Vec<u8>>) -> Result<Self, BadSpec> {
        if words.first().is_none_or(Vec::is_empty) {
            return Err(BadSpec::EmptyCommand);
        }
        match words.iter().position(|word| word.contains(&0)) {
            Some(0) => Err(BadSpec::Nul { what: "the program's name".into() }),
            Some(n) => Err(BadSpec::Nul { what: format!("argument {n}") }),
            None => Ok(Self { words, given_line: None }),
        }
    }

    /// The words to execute, the program first.
    pub fn words(&self) -> &[Vec<u8>] {
        &self.words
    }

    /// The words as they were given: what is shown and recorded.
    pub fn given(&self) -> Vec<Vec<u8>> {
        let mut given = self.words.clone();
        if let (Some(last), Some(line)) = (given.last_mut(), &self.given_line) {
            last.clone_from(line);
        }
        given
    }

    /// The same command for a shell, which executes another line that means the same. The given one is shown.
    #[must_use]
    pub fn executing(mut self, line: String) -> Self {
        if let Some(last) = self.words.last_mut() {
            let given = std::mem::replace(last, line.into_bytes());
            self.given_line.get_or_insert(given);
        }
        self
    }
}

/// The command of a pty run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PtyCommand {
    /// A program and its arguments.
    Argv(Argv),
    /// One line for the shell, passed on as it is.
    Line(Line),
}

/// A command line for the shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    text: String,
    /// What the shell executes instead, which means the same.
    executed: Option<String>,
}

impl Line {
    /// Checks a line.
    pub fn new(text: String) -> Result<Self, BadSpec> {
        if text.trim().is_empty() {
            return Err(BadSpec::EmptyCommand);
        }
        if text.contains('\0') {
            return Err(BadSpec::Nul { what: "the command line".into() });
        }
        Ok(Self { text, executed: None })
    }

    /// The same line, for which the shell executes another that means the same. The given one is shown.
    #[must_use]
    pub fn executing(self, line: Option<String>) -> Self {
        Self { executed: line, ..self }
    }
}

impl PtyCommand {
    /// The words to execute: a line goes to the shell whole.
    pub fn argv(&self) -> Argv {
        match self {
            PtyCommand::Argv(argv) => argv.clone(),
            PtyCommand::Line(Line { text, executed }) => {
                let words = vec![b"/bin/sh".to_vec(), b"-c".to_vec(), text.clone().into_bytes()];
                let argv = Argv { words, given_line: None };
                executed.clone().into_iter().fold(argv, Argv::executing)
            }
        }
    }
}

/// Columns and rows of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Size {
    /// Columns.
    pub cols: u16,
    /// Rows.
    pub rows: u16,
}

impl Size {
    /// Checks a terminal's size.
    pub fn new(cols: u16, rows: u16) -> Result<Self, BadSpec> {
        if cols == 0 || rows == 0 { Err(BadSpec::BadSize { cols, rows }) } else { Ok(Self { cols, rows }) }
    }
}

/// How the command is connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    /// Three pipes.
    Pipes {
        /// What to execute.
        command: Argv,
        /// Whether anybody may write to its standard input; otherwise it reads end-of-file at once.
        stdin: bool,
    },
    /// A terminal of its own.
    Pty {
        /// What to execute.
        command: PtyCommand,
        /// The terminal's first size.
        size: Size,
    },
}

impl Transport {
    /// Lets nobody write to its standard input through Tenure. A terminal's stays as it is.
    pub fn close_stdin(&mut self) {
        if let Transport::Pipes { stdin, .. } = self {
            *stdin = false;
        }
    }

    /// The words to execute.
    pub fn argv(&self) -> Argv {
        match self {
            Transport::Pipes { command, .. } => command.clone(),
            Transport::Pty { command, .. } => command.argv(),
        }
    }

    /// The terminal's size, for a pty.
    pub fn size(&self) -> Option<Size> {
        match self {
            Transport::Pipes { .. } => None,
            Transport::Pty { size, .. } => Some(*size),
        }
    }
}

/// What becomes of a process that left the run's session and outlived the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OnEscape {
    /// It is ended and the run has failed.
    #[default]
    Fail,
    /// It is ended and the run keeps its own ending.
    Reap,
    /// It is a declared daemon: it becomes a run of its own.
    Allow,
}

/// What becomes of a run whose owner is lost for longer than the orphan grace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Orphan {
    /// It is ended as `owner-lost`.
    #[default]
    Terminate,
    /// It goes on.
    Keep,
}

/// One run as asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// How it is connected, and its command.
    pub transport: Transport,
    /// Where it starts; bytes, as the system has them.
    pub cwd: Vec<u8>,
    /// Its whole environment as `NAME=VALUE`. Never recorded.
    pub env: Vec<Vec<u8>>,
    /// The names that the caller set on purpose. Recorded without their values.
    pub env_names: Vec<String>,
    /// The file mode creation mask.
    pub umask: u32,
    /// The soft and hard limits of open descriptors; without it, those of whoever launches it.
    pub nofile: Option<(u64, u64)>,
    /// The session it belongs to.
    pub session: Option<String>,
    /// The scope of which it is the only run.
    pub scope: Option<String>,
    /// A name for people.
    pub label: Option<String>,
    /// Its limits.
    pub limits: Limits,
    /// How much of the machine it may use.
    pub resources: Resources,
    /// What becomes of escapees.
    pub on_escape: OnEscape,
    /// What becomes of it when its owner is lost.
    pub orphan: Orphan,
}

impl Spec {
    /// Refuses what cannot be run as asked. The command was checked when it was made.
    pub fn check(&self) -> Result<(), BadSpec> {
        if self.cwd.contains(&0) {
            return Err(BadSpec::Nul { what: "the working directory".into() });
        }
        if let Some(entry) = self.env.iter().find(|entry| entry.contains(&0)) {
            return Err(nul_in_env(entry));
        }
        if let Some(size) = self.transport.size() {
            Size::new(size.cols, size.rows)?;
        }
        self.resources.check()?;
        Ok(self.limits.check()?)
    }
}

/// The system's size limits for starting a program, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExecLimits {
    /// Limit for one argument or variable, with the byte that ends it.
    pub word: usize,
    /// Limit for all of them, with the pointers to them.
    pub total: usize,
    /// Limit for a path, with the byte that ends it.
    pub path: usize,
}

impl Spec {
    /// Refuses sizes that no program of this system could be given. Passes those that only the system can judge.
    pub fn check_size(&self, most: ExecLimits) -> Result<(), BadSpec> {
        let within = |what: &dyn Fn() -> String, bytes: usize, most: usize| {
            if bytes <= most { Ok(()) } else { Err(BadSpec::TooLong { what: what(), bytes, most }) }
        };
        let argv = self.transport.argv();
        for (n, word) in argv.words().iter().enumerate() {
            let what = || if n == 0 { "the program's name".to_owned() } else { format!("argument {n}") };
            within(&what, word.len() + 1, most.word)?;
        }
        for entry in &self.env {
            within(
                &|| format!("the environment variable {}", shown_name(entry)),
                entry.len() + 1,
                most.word,
            )?;
        }
        within(&|| "the working directory".to_owned(), self.cwd.len() + 1, most.path)?;
        let words = argv.words().iter().chain(&self.env);
        let total = words.map(|word| word.len() + 1 + size_of::<usize>()).sum();
        within(&|| "the command with its environment".to_owned(), total, most.total)
    }
}

/// Checks one `NAME=VALUE` that a caller sets on purpose.
pub fn check_env(entry: &[u8]) -> Result<(), BadSpec> {
    if entry.contains(&0) {
        return Err(nul_in_env(entry));
    }
    match entry.iter().position(|&b| b == b'=') {
        Some(at) if at > 0 => Ok(()),
        _ => Err(BadSpec::BadEnv { entry: String::from_utf8_lossy(entry).into_owned() }),
    }
}

/// Names the variable, never its value.
fn nul_in_env(entry: &[u8]) -> BadSpec {
    BadSpec::Nul { what: format!("the environment variable {}", shown_name(entry)) }
}

fn shown_name(entry: &[u8]) -> String {
    let name = entry.split(|&b| b == b'=').next().unwrap_or_default();
    String::from_utf8_lossy(&name[..name.len().min(256)]).chars().take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_command_is_refused() {
        assert_eq!(Argv::new(vec![]), Err(BadSpec::EmptyCommand));
        assert_eq!(Argv::new(vec![vec![], b"x".to_vec()]), Err(BadSpec::EmptyCommand));
        assert_eq!(Line::new("  ".into()), Err(BadSpec::EmptyCommand));
    }

    #[test]
    fn a_nul_byte_is_refused_wherever_it_stands() {
        assert!(matches!(Argv::new(vec![b"a\0b".to_vec()]), Err(BadSpec::Nul { .. })));
        assert!(matches!(Argv::new(vec![b"a".to_vec(), b"\0".to_vec()]), Err(BadSpec::Nul { .. })));
        assert!(matches!(Line::new("a\0".into()), Err(BadSpec::Nul { .. })));
        assert!(matches!(check_env(b"A=\0"), Err(BadSpec::Nul { .. })));
    }

    #[test]
    fn an_empty_argument_after_the_program_is_fine() {
        assert!(Argv::new(vec![b"printf".to_vec(), vec![]]).is_ok());
    }

    #[test]
    fn a_pty_line_reaches_the_shell_verbatim() {
        let text = r#"echo "a  b" 'c' $HOME \"#;
        let command = PtyCommand::Line(Line::new(text.into()).unwrap());
        assert_eq!(command.argv().words()[2], text.as_bytes());
    }

    #[test]
    fn a_line_that_is_executed_otherwise_is_shown_as_it_was_given() {
        let line = Line::new("sleep 1".into()).unwrap().executing(Some("exec sleep 1".into()));
        let argv = PtyCommand::Line(line).argv();
        assert_eq!((&argv.words()[2][..], &argv.given()[2][..]), (&b"exec sleep 1"[..], &b"sleep 1"[..]));
        assert_eq!(argv.words()[..2], argv.given()[..2]);
    }

    #[test]
    fn an_environment_entry_needs_a_name() {
        assert!(check_env(b"A=").is_ok());
        assert!(check_env(b"=x").is_err());
        assert!(check_env(b"A").is_err());
    }
}
