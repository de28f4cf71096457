//! One entry of the allowlist: how it is written, and what is wrong with one that cannot be used.

use super::Call;
use crate::executable::{Bound, Executable};
use crate::shell::{RunsOthers, Segment};
use globset::{GlobBuilder, GlobMatcher};
use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};
use std::path::{Component, Path, PathBuf};

/// The longest pattern, in bytes.
const MAX_PATTERN: usize = 4096;
/// How much memory a compiled pattern of arguments may take.
const MAX_COMPILED: usize = 256 * 1024;
/// How deep the parentheses of a pattern may nest.
const MAX_NESTING: u32 = 32;

/// What is allowed, as it is written in settings and kept in the registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The program: a glob of an absolute path, or of a bare name. A bare name matches only what was called by that name
    /// and found through the PATH.
    pub program: String,
    /// A regular expression for all arguments, joined by blanks. It must match from their beginning to their end. An argument
    /// that is empty or holds a blank or a quote stands in single quotes. Without it all arguments are allowed, unless the
    /// program runs others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<String>,
    /// This one command in this one directory, as "allow always" has it. Then `program` is a path and no glob.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exact: Option<Exact>,
    /// The only agent it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// One command in one directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exact {
    /// Its words, the first as it was written.
    pub argv: Vec<String>,
    /// Where it is executed.
    pub cwd: PathBuf,
    /// What the program held, and its interpreter, as far as this user could write to them: hashes in hex. Empty, it is
    /// whatever is at that path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sha256: Vec<String>,
}

/// An entry that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("entry {} of the allowlist, for {program:?}: {why}", index + 1)]
pub struct BadEntry {
    /// Which one, from 0.
    pub index: usize,
    /// Its program.
    pub program: String,
    /// What is wrong.
    pub why: BadEntryWhy,
}

/// What is wrong with an entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadEntryWhy {
    /// There is no program.
    #[error("the program is empty; write an absolute path such as /usr/bin/git, or a bare name such as git")]
    Empty,
    /// A path that begins nowhere.
    #[error(
        "the program is a relative path; write an absolute one that begins with /, or a bare name without /"
    )]
    Relative,
    /// A path that no program is ever found under.
    #[error("no program is found under a path with //, /./ or /../ in it; write the path without them")]
    NotNormal,
    /// No glob.
    #[error("the program is no glob: {0}; put [ ] around a character that is meant literally")]
    Glob(String),
    /// No regular expression.
    #[error(
        "args is no regular expression: {0}; correct it, and put a backslash before what is meant literally"
    )]
    Regex(String),
    /// Too much of a pattern.
    #[error("the pattern is too long or too complex; write a shorter one, or several entries")]
    TooLarge,
    /// Two ways to say which arguments.
    #[error("it has both args and exact; write one of them")]
    Both,
    /// No words, or no absolute paths.
    #[error(
        "exact needs the words of a command, an absolute cwd, and an absolute path as the program; write them"
    )]
    Exact,
    /// An agent without a name.
    #[error("the agent is empty; write its name, or leave it out for all agents")]
    EmptyAgent,
}

impl Entry {
    /// The entry for this command in this directory: what "allow always" records. A command that runs whatever its
    /// arguments say is refused.
    pub fn allow_always(call: Call<'_>, cwd: &Path, agent: Option<&str>) -> Result<Self, RunsOthers> {
        super::runner(call)?;
        Ok(Self {
            program: call.program.called.to_string_lossy().into_owned(),
            args: None,
            exact: Some(Exact { argv: call.argv.to_vec(), cwd: cwd.to_owned(), sha256: call.hashes() }),
            agent: agent.map(str::to_owned),
        })
    }
}

impl<'a> Call<'a> {
    /// A command of an analysed line.
    pub fn of(segment: &'a Segment, program: &'a Executable, bound: Option<&'a Bound>) -> Self {
        Self { argv: segment.argv(), program, bound }
    }

    pub(super) fn hashes(&self) -> Vec<String> {
        self.bound.map(Bound::hashes).unwrap_or_default()
    }
}

/// An entry, ready to be asked.
#[derive(Debug, Clone)]
pub(super) enum Pattern {
    Exact(ExactPattern),
    Glob { program: GlobMatcher, bare: bool, args: Option<Regex> },
}

#[derive(Debug, Clone)]
pub(super) struct ExactPattern {
    program: PathBuf,
    pub(super) argv: Vec<String>,
    pub(super) cwd: PathBuf,
    pub(super) sha256: Vec<String>,
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
                let bare = !entry.program.contains('/');
                Ok(Self::Glob { program: glob(&entry.program, bare)?, bare, args })
            }
        }
    }

    fn exact(program: &str, exact: &Exact) -> Result<Self, BadEntryWhy> {
        let program = PathBuf::from(program);
        if !program.is_absolute() || !exact.cwd.is_absolute() || exact.argv.is_empty() {
            return Err(BadEntryWhy::Exact);
        }
        let Exact { argv, cwd, sha256 } = exact.clone();
        Ok(Self::Exact(ExactPattern { program, argv, cwd, sha256 }))
    }

    /// Whether this is an entry for the program of `call`, whatever its arguments.
    pub(super) fn names(&self, call: Call<'_>) -> bool {
        match self {
            Self::Exact(exact) => exact.program == call.program.called,
            Self::Glob { program, bare: false, .. } => program.is_match(&call.program.called),
            Self::Glob { program, bare: true, .. } => {
                let word = call.argv.first().filter(|_| call.program.through_path);
                word.is_some_and(|word| !word.contains('/') && program.is_match(word))
            }
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
    // Alone first: `a)|(b` would be whole only between our parentheses, and would not be anchored there.
    build(text)?;
    build(&format!(r"\A(?:{text})\z"))
}

/// The last line of a parse error says what it is; those before it draw a picture.
fn one_line(error: &str) -> String {
    let last = error.lines().rfind(|line| !line.trim().is_empty()).unwrap_or(error);
    last.trim().trim_start_matches("error: ").to_owned()
}
