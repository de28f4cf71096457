//! The spec of a run: its command and process in exact bytes, and the options that its records keep.

use crate::limits::{BadLimits, Limits};
use crate::output::Keep;
use crate::resources::{NothingLeft, Resources};
use serde::{Deserialize, Serialize};

/// A command line as the system takes it: at least a program, no NUL byte in any word.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
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
    #[error("{what} contains a NUL byte, which no program accepts")]
    Nul {
        /// The part.
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

    /// A line for `sh`, passed on as it is.
    pub fn line(text: &str) -> Result<Self, BadSpec> {
        if text.trim().is_empty() {
            return Err(BadSpec::EmptyCommand);
        }
        if text.contains('\0') {
            return Err(BadSpec::Nul { what: "the command line".into() });
        }
        let words = ["/bin/sh", "-c", text].map(|word| word.as_bytes().to_vec());
        Ok(Self { words: words.into(), given_line: None })
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

/// The treatment of a process that left the run's session and outlived the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OnEscape {
    /// The process is ended, and the run has failed.
    #[default]
    Fail,
    /// The process is ended, and the run keeps its own ending.
    Reap,
    /// The process is a declared daemon, and becomes a run of its own.
    Allow,
}

/// The treatment of a run whose owner is lost for longer than the orphan grace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Orphan {
    /// The run is ended as `owner-lost`.
    #[default]
    Terminate,
    /// The run goes on.
    Keep,
}

/// The options of a run: the part of its spec that its ticket records as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunOptions {
    /// The session that the run belongs to.
    pub session_id: Option<String>,
    /// The key for which this is the only live run.
    pub scope: Option<String>,
    /// A name for people.
    pub label: Option<String>,
    /// The names of the variables that the caller set on purpose. Values are never recorded.
    pub env_names: Vec<String>,
    /// The terminal's first size; without one, the command gets three pipes.
    pub pty_size: Option<Size>,
    /// True if clients may write to standard input; otherwise it is at its end from the beginning. A terminal's always
    /// stays open.
    pub stdin: bool,
    /// The time limits.
    pub limits: Limits,
    /// The bounds on what it uses of the machine.
    #[serde(default, skip_serializing_if = "Resources::is_unbounded")]
    pub resources: Resources,
    /// The fate of escapees.
    pub on_escape: OnEscape,
    /// Its fate when its owner is lost.
    pub orphan: Orphan,
    /// The amount of output that is kept.
    pub keep: Keep,
}

impl RunOptions {
    /// Gives the command a terminal of its own.
    pub fn use_terminal(&mut self, size: Size) {
        (self.pty_size, self.stdin) = (Some(size), true);
    }
}

/// A run as asked for, on its whole way from the caller to the keeper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// The command.
    pub argv: Argv,
    /// The working directory; bytes, as the system has them.
    pub cwd: Vec<u8>,
    /// The whole environment as `NAME=VALUE`. Never recorded.
    pub env: Vec<Vec<u8>>,
    /// The file mode creation mask.
    pub umask: u32,
    /// The soft and hard limits of open descriptors; without them, those of the launching process.
    pub nofile: Option<(u64, u64)>,
    /// True if the run gets a cgroup where one can be had.
    pub cgroup: bool,
    /// True if the command reads its caller's own standard input, which comes on the caller's connection.
    pub passes_stdin: bool,
    /// The recorded part.
    pub options: RunOptions,
}

impl Default for Spec {
    /// A spec without a command, which [`check`](Spec::check) refuses.
    fn default() -> Self {
        Self {
            argv: Argv::default(),
            cwd: b"/".to_vec(),
            env: Vec::new(),
            umask: 0o022,
            nofile: None,
            cgroup: false,
            passes_stdin: false,
            options: RunOptions::default(),
        }
    }
}

impl Spec {
    /// Refuses what cannot be run as asked.
    pub fn check(&self) -> Result<(), BadSpec> {
        if self.argv.words.is_empty() {
            return Err(BadSpec::EmptyCommand);
        }
        if self.cwd.contains(&0) {
            return Err(BadSpec::Nul { what: "the working directory".into() });
        }
        if let Some(entry) = self.env.iter().find(|entry| entry.contains(&0)) {
            return Err(nul_in_env(entry));
        }
        if let Some(size) = self.options.pty_size {
            Size::new(size.cols, size.rows)?;
        }
        self.options.resources.check()?;
        Ok(self.options.limits.check()?)
    }

    /// Lets the command read its caller's own standard input, so that nobody writes to it through Tenure. Changes nothing
    /// for a terminal, which is typed to instead, or where standard input is closed.
    pub fn pass_stdin(&mut self) {
        self.passes_stdin = self.options.stdin && self.options.pty_size.is_none();
        self.options.stdin &= !self.passes_stdin;
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
        for (n, word) in self.argv.words().iter().enumerate() {
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
        let words = self.argv.words().iter().chain(&self.env);
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
        assert_eq!(Argv::line("  "), Err(BadSpec::EmptyCommand));
        assert_eq!(Spec::default().check(), Err(BadSpec::EmptyCommand));
    }

    #[test]
    fn a_nul_byte_is_refused_wherever_it_stands() {
        assert!(matches!(Argv::new(vec![b"a\0b".to_vec()]), Err(BadSpec::Nul { .. })));
        assert!(matches!(Argv::new(vec![b"a".to_vec(), b"\0".to_vec()]), Err(BadSpec::Nul { .. })));
        assert!(matches!(Argv::line("a\0"), Err(BadSpec::Nul { .. })));
        assert!(matches!(check_env(b"A=\0"), Err(BadSpec::Nul { .. })));
    }

    #[test]
    fn an_empty_argument_after_the_program_is_fine() {
        assert!(Argv::new(vec![b"printf".to_vec(), vec![]]).is_ok());
    }

    #[test]
    fn a_pty_line_reaches_the_shell_verbatim() {
        let text = r#"echo "a  b" 'c' $HOME \"#;
        assert_eq!(Argv::line(text).unwrap().words()[2], text.as_bytes());
    }

    #[test]
    fn a_line_that_is_executed_otherwise_is_shown_as_it_was_given() {
        let argv = Argv::line("sleep 1").unwrap().executing("exec sleep 1".into());
        assert_eq!((&argv.words()[2][..], &argv.given()[2][..]), (&b"exec sleep 1"[..], &b"sleep 1"[..]));
        assert_eq!(argv.words()[..2], argv.given()[..2]);
    }

    #[test]
    fn only_an_open_pipe_is_passed_on() {
        let passed = |pty_size, stdin| {
            let options = RunOptions { pty_size, stdin, ..RunOptions::default() };
            let mut spec = Spec { options, ..Spec::default() };
            spec.pass_stdin();
            (spec.passes_stdin, spec.options.stdin)
        };
        assert_eq!(passed(None, true), (true, false));
        assert_eq!(passed(None, false), (false, false));
        assert_eq!(passed(Some(Size { cols: 1, rows: 1 }), true), (false, true));
    }

    #[test]
    fn an_environment_entry_needs_a_name() {
        assert!(check_env(b"A=").is_ok());
        assert!(check_env(b"=x").is_err());
        assert!(check_env(b"A").is_err());
    }
}
