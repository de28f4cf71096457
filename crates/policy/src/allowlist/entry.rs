//! An entry of the allowlist: its syntax, and the errors of invalid ones.

use super::{Call, Caller};
use crate::environment::Unlisted;
use crate::executable::{Bound, Executable};
use crate::shell::{RunsOthers, Segment};
use globset::{GlobBuilder, GlobMatcher};
use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};
use std::path::{Component, Path, PathBuf};

/// The longest pattern, in bytes.
const MAX_PATTERN: usize = 4096;
/// Maximum memory of a compiled pattern of arguments, in bytes.
const MAX_COMPILED: usize = 256 * 1024;
/// Maximum depth of nested parentheses in a pattern.
const MAX_NESTING: u32 = 32;

/// An entry, as it is written in settings and stored in the registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The program: a glob of an absolute path, or of a bare name. A bare name matches only a program called by
    /// that name and found through the PATH.
    pub program: String,
    /// A regular expression for all arguments, joined by blanks. It must match from their beginning to their end.
    /// An argument that is empty or contains a blank or a quote is put in single quotes. Without the expression all
    /// arguments are allowed, except those that are known to run other programs, to write files, or to make the
    /// program read instructions from elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<String>,
    /// A single command in a single directory, as "allow always" records it. Then `program` is a path and not a
    /// glob.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exact: Option<Exact>,
    /// The agent to which the entry is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// A command in one directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exact {
    /// The words; the first as it was written.
    pub argv: Vec<String>,
    /// The working directory.
    pub cwd: PathBuf,
    /// The hashes in hex of the program and its interpreter, as far as this user could write to them. Empty, any
    /// content is accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sha256: Vec<String>,
    /// The unlisted variables of the command.
    #[serde(default, skip_serializing_if = "Unlisted::is_empty")]
    pub env: Unlisted,
}

/// An invalid entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("entry {} of the allowlist, for {program:?}: {why}", index + 1)]
pub struct BadEntry {
    /// The entry's index, from 0.
    pub index: usize,
    /// The entry's program.
    pub program: String,
    /// The error.
    pub why: BadEntryWhy,
}

/// The error in an entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadEntryWhy {
    /// There is no program.
    #[error("the program is empty; write an absolute path such as /usr/bin/git, or a bare name such as git")]
    Empty,
    /// The program is a relative path.
    #[error(
        "the program is a relative path; write an absolute one that begins with /, or a bare name without /"
    )]
    Relative,
    /// The path has a form under which no program is ever found.
    #[error("no program is found under a path with //, /./ or /../ in it; write the path without them")]
    NotNormal,
    /// The program is not a glob.
    #[error("the program is not a valid glob: {0}; put [ ] around a character that is meant literally")]
    Glob(String),
    /// The arguments are not a regular expression.
    #[error(
        "args is not a valid regular expression: {0}; correct it, and put a backslash before literal characters"
    )]
    Regex(String),
    /// A pattern is too large.
    #[error("the pattern is too long or too complex; write a shorter one, or several entries")]
    TooLarge,
    /// Both `args` and `exact` are given.
    #[error("it has both args and exact; write one of them")]
    Both,
    /// The exact command has no words, or relative paths.
    #[error(
        "exact needs the words of a command, an absolute cwd, and an absolute path as the program; write them"
    )]
    Exact,
    /// The agent has no name.
    #[error("the agent is empty; write its name, or leave it out for all agents")]
    EmptyAgent,
}

impl Entry {
    /// Makes the entry that "allow always" records: for this command in this directory. A command that executes its
    /// arguments is refused.
    pub fn allow_always(call: Call<'_>, caller: Caller<'_>) -> Result<Self, RunsOthers> {
        super::runner(call)?;
        let Caller { agent, cwd, env } = caller;
        let (argv, sha256) = (call.argv.to_vec(), call.hashes());
        Ok(Self {
            program: call.program.called.to_string_lossy().into_owned(),
            args: None,
            exact: Some(Exact { argv, cwd: cwd.to_owned(), sha256, env: env.clone() }),
            agent: agent.map(str::to_owned),
        })
    }
}

impl<'a> Call<'a> {
    /// Makes a call from a command of an analysed line.
    pub fn of(segment: &'a Segment, program: &'a Executable, bound: Option<&'a Bound>) -> Self {
        Self { argv: segment.argv(), program, bound }
    }

    pub(super) fn hashes(&self) -> Vec<String> {
        self.bound.map(Bound::hashes).unwrap_or_default()
    }
}

/// An entry, compiled for matching.
#[derive(Debug, Clone)]
pub(super) enum Pattern {
    Exact(ExactPattern),
    Glob { program: GlobMatcher, form: ProgramForm, args: Option<Regex> },
}

/// The form in which an entry names its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProgramForm {
    /// A bare name.
    Name,
    /// A single path.
    Path,
    /// A pattern of paths. Links must not extend it, because any user who can create one could add programs.
    Paths,
}

#[derive(Debug, Clone)]
pub(super) struct ExactPattern {
    program: PathBuf,
    pub(super) argv: Vec<String>,
    pub(super) cwd: PathBuf,
    pub(super) sha256: Vec<String>,
    pub(super) env: Unlisted,
}

impl Pattern {
    pub(super) fn of(entry: &Entry) -> Result<Self, BadEntryWhy> {
        if entry.program.is_empty() {
            return Err(BadEntryWhy::Empty);
        }
        if entry.agent.as_deref() == Some("") {
            return Err(BadEntryWhy::EmptyAgent);
        }
        match (&entry.exact, &entry.args) {
            (Some(_), Some(_)) => Err(BadEntryWhy::Both),
            (Some(exact), None) => Self::exact(&entry.program, exact),
            (None, args) => {
                let args = args.as_deref().map(regex).transpose()?;
                let form = match &entry.program {
                    program if !program.contains('/') => ProgramForm::Name,
                    program if program.contains(['*', '?', '[', '{']) => ProgramForm::Paths,
                    _ => ProgramForm::Path,
                };
                Ok(Self::Glob { program: glob(&entry.program, form == ProgramForm::Name)?, form, args })
            }
        }
    }

    fn exact(program: &str, exact: &Exact) -> Result<Self, BadEntryWhy> {
        let program = PathBuf::from(program);
        if !program.is_absolute() || !exact.cwd.is_absolute() || exact.argv.is_empty() {
            return Err(BadEntryWhy::Exact);
        }
        let Exact { argv, cwd, sha256, env } = exact.clone();
        Ok(Self::Exact(ExactPattern { program, argv, cwd, sha256, env }))
    }

    /// Returns true if the entry names the program of `call`, whatever its arguments.
    pub(super) fn names(&self, call: Call<'_>) -> bool {
        match self {
            Self::Exact(exact) => exact.program == call.program.called,
            Self::Glob { program, form: ProgramForm::Path | ProgramForm::Paths, .. } => {
                program.is_match(&call.program.called)
            }
            Self::Glob { program, form: ProgramForm::Name, .. } => {
                let word = call.argv.first().filter(|_| call.program.through_path);
                word.is_some_and(|word| !word.contains('/') && program.is_match(word))
            }
        }
    }
}

impl Pattern {
    /// Returns true if the pattern also covers the target of the links by which a program is called.
    pub(super) fn follows(&self, call: Call<'_>) -> bool {
        match self {
            Self::Glob { program, form: ProgramForm::Paths, .. } => program.is_match(&call.program.real),
            Self::Exact(_) | Self::Glob { form: ProgramForm::Name | ProgramForm::Path, .. } => true,
        }
    }
}

fn glob(text: &str, bare: bool) -> Result<GlobMatcher, BadEntryWhy> {
    if text.len() > MAX_PATTERN {
        return Err(BadEntryWhy::TooLarge);
    }
    if !bare && !text.starts_with('/') {
        return Err(BadEntryWhy::Relative);
    }
    let odd = |part: Component<'_>| matches!(part, Component::ParentDir | Component::CurDir);
    let normal = !text.contains("//") && !text.contains("/./") && !Path::new(text).components().any(odd);
    if !normal {
        return Err(BadEntryWhy::NotNormal);
    }
    let built = GlobBuilder::new(text).literal_separator(true).backslash_escape(true).build();
    built.map(|glob| glob.compile_matcher()).map_err(|error| BadEntryWhy::Glob(error.kind().to_string()))
}

fn regex(text: &str) -> Result<Regex, BadEntryWhy> {
    if text.len() > MAX_PATTERN {
        return Err(BadEntryWhy::TooLarge);
    }
    let build = |text: &str| {
        let built = RegexBuilder::new(text).size_limit(MAX_COMPILED).nest_limit(MAX_NESTING).build();
        built.map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => BadEntryWhy::TooLarge,
            error => BadEntryWhy::Regex(one_line(&error.to_string())),
        })
    };
    // Compiled alone first: `a)|(b` is valid only between our parentheses, and would not be anchored there.
    build(text)?;
    build(&format!(r"\A(?:{text})\z"))
}

/// Returns the last line of a parse error, which has the message; those before it draw a picture.
fn one_line(error: &str) -> String {
    let last = error.lines().rfind(|line| !line.trim().is_empty()).unwrap_or(error);
    last.trim().trim_start_matches("error: ").to_owned()
}
