//! One entry of the allowlist: how it is written, and what is wrong with one that cannot be used.

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
    /// that is empty or holds a blank or a quote stands in single quotes. Without it all arguments are allowed, except
    /// those that are known to run other programs, to write to files, or to have the program look elsewhere for what to do.
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
    /// The variables that the command is given and that are not listed.
    #[serde(default, skip_serializing_if = "Unlisted::is_empty")]
    pub env: Unlisted,
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
    Glob { program: GlobMatcher, place: Place, args: Option<Regex> },
}

/// The way in which an entry names its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A bare name.
    Name,
    /// One path.
    Path,
    /// A pattern of paths. Links in them must not extend it: anybody who can make one could add programs.
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
                let place = match &entry.program {
                    program if !program.contains('/') => Place::Name,
                    program if program.contains(['*', '?', '[', '{']) => Place::Paths,
                    _ => Place::Path,
                };
                Ok(Self::Glob { program: glob(&entry.program, place == Place::Name)?, place, args })
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

    /// Whether this is an entry for the program of `call`, whatever its arguments.
    pub(super) fn names(&self, call: Call<'_>) -> bool {
        match self {
            Self::Exact(exact) => exact.program == call.program.called,
            Self::Glob { program, place: Place::Path | Place::Paths, .. } => {
                program.is_match(&call.program.called)
            }
            Self::Glob { program, place: Place::Name, .. } => {
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
            Self::Glob { program, place: Place::Paths, .. } => program.is_match(&call.program.real),
            Self::Exact(_) | Self::Glob { place: Place::Name | Place::Path, .. } => true,
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
