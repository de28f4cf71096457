//! The allowlist: commands that need no approval. Every command of a line must match some entry; one that matches
//! none is a [`Miss`], which names the command and the reason.

mod entry;

// The tests use lines for POSIX shells, which exist only on Unix.
#[cfg(test)]
#[cfg(unix)]
mod tests;

pub use entry::{BadEntry, BadEntryWhy, Entry, Exact};

use crate::environment::Unlisted;
use crate::executable::{Bound, Executable};
use crate::shell::{Reaches, RunsOthers, quote, reaches, runs_others};
use entry::Pattern;
use std::path::{Path, PathBuf};

/// A list of valid entries.
#[derive(Debug, Clone)]
pub struct Allowlist {
    entries: Vec<Entry>,
    patterns: Vec<Pattern>,
}

/// A command of a line, with its resolved program.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The words, as they were written.
    pub argv: &'a [String],
    /// The program.
    pub program: &'a Executable,
    /// The identity of the program's file, if it could be taken.
    pub bound: Option<&'a Bound>,
}

/// The caller of a command line, with its directory and variables.
#[derive(Debug, Clone, Copy)]
pub struct Caller<'a> {
    /// The agent, if there is one.
    pub agent: Option<&'a str>,
    /// The working directory of the line.
    pub cwd: &'a Path,
    /// The variables of the call that are part of the decision.
    pub env: &'a Unlisted,
}

/// A command that no entry allows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("command {} ({program:?}, which is {called:?}) is not allowed: {why}", segment + 1)]
pub struct Miss {
    /// The index of the command in the line, from 0.
    pub segment: usize,
    /// The command's first word.
    pub program: String,
    /// The program that the first word resolves to.
    pub called: PathBuf,
    /// The reason.
    pub why: MissWhy,
}

/// The reason why no entry allows a command: the mismatch of the closest entry. Ordered by closeness.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum MissWhy {
    /// No entry names the program.
    #[error("no entry of the allowlist names this program")]
    Program,
    /// An entry names it, for another agent.
    #[error("the entry that names this program is for another agent")]
    Agent,
    /// An entry names it with other arguments, or for another directory.
    #[error("the entry that names this program allows other arguments, or another directory")]
    Arguments,
    /// The arguments contain control characters, which no pattern matches.
    #[error("an argument contains a newline or another control character, which no pattern matches")]
    Control,
    /// An entry names it without a pattern of arguments, which is not enough for this program.
    #[error("the entry that names this program has no pattern of its arguments, and {0}")]
    RunsOthers(RunsOthers),
    /// An entry names it without a pattern of arguments, which is not enough for these arguments.
    #[error("the entry that names this program has no pattern of its arguments, and {0}")]
    Reaches(Reaches),
    /// A glob of paths matches the program's path, but not the target of its links.
    #[error("the entry that matches its path does not match {real:?}, the file behind its links")]
    Link {
        /// The file behind all links.
        real: PathBuf,
    },
    /// An entry names it, but the call sets unlisted variables.
    #[error("the call sets {}, which only an entry for this exact command can allow", names.join(", "))]
    Variables {
        /// The variables' names.
        names: Vec<String>,
    },
    /// An entry allows this very command, but the program's content has changed.
    #[error("the program has changed since the command was allowed permanently")]
    Changed,
}

impl Allowlist {
    /// Checks the entries; the error names the invalid one and the way to fix it.
    pub fn new(entries: Vec<Entry>) -> Result<Self, BadEntry> {
        let compile = |(index, entry): (usize, &Entry)| {
            Pattern::of(entry).map_err(|why| BadEntry { index, program: entry.program.clone(), why })
        };
        let patterns = entries.iter().enumerate().map(compile).collect::<Result<_, _>>()?;
        Ok(Self { entries, patterns })
    }

    /// Returns, for each command, the index of the first entry that allows it.
    pub fn matches(&self, caller: Caller<'_>, calls: &[Call<'_>]) -> Result<Vec<usize>, Miss> {
        let one = |(segment, call): (usize, &Call<'_>)| {
            self.find(caller, *call).map_err(|why| Miss {
                segment,
                program: call.argv.first().cloned().unwrap_or_default(),
                called: call.program.called.clone(),
                why,
            })
        };
        calls.iter().enumerate().map(one).collect()
    }

    fn find(&self, caller: Caller<'_>, call: Call<'_>) -> Result<usize, MissWhy> {
        let candidate =
            Candidate { call, caller, text: joined(call.argv), wants_pattern: wants_pattern(call).err() };
        let mut closest = MissWhy::Program;
        for (index, (entry, pattern)) in self.entries.iter().zip(&self.patterns).enumerate() {
            match allows(entry, pattern, &candidate) {
                Ok(()) => return Ok(index),
                Err(why) => closest = closest.max(why),
            }
        }
        Err(closest)
    }
}

/// A command, prepared for the comparison with every entry.
struct Candidate<'a> {
    call: Call<'a>,
    caller: Caller<'a>,
    /// The arguments as one text; `None` if no pattern may match them.
    text: Option<String>,
    /// The reason why an entry without a pattern of arguments is not enough.
    wants_pattern: Option<MissWhy>,
}

fn allows(entry: &Entry, pattern: &Pattern, candidate: &Candidate<'_>) -> Result<(), MissWhy> {
    if !pattern.names(candidate.call) {
        return Err(MissWhy::Program);
    }
    if !pattern.follows(candidate.call) {
        return Err(MissWhy::Link { real: candidate.call.program.real.clone() });
    }
    let caller = candidate.caller;
    if entry.agent.is_some() && entry.agent.as_deref() != caller.agent {
        return Err(MissWhy::Agent);
    }
    match (pattern, &candidate.text, &candidate.wants_pattern) {
        (Pattern::Exact(exact), _, _) => {
            if exact.argv != candidate.call.argv || exact.cwd != caller.cwd {
                return Err(MissWhy::Arguments);
            }
            if exact.env != *caller.env {
                return Err(variables(caller.env));
            }
            let same = exact.sha256.is_empty() || exact.sha256 == candidate.call.hashes();
            if same { Ok(()) } else { Err(MissWhy::Changed) }
        }
        (Pattern::Glob { .. }, _, _) if !caller.env.is_empty() => Err(variables(caller.env)),
        (Pattern::Glob { args: Some(_), .. }, None, _) => Err(MissWhy::Control),
        (Pattern::Glob { args: Some(args), .. }, Some(text), _) => {
            if args.is_match(text) {
                Ok(())
            } else {
                Err(MissWhy::Arguments)
            }
        }
        (Pattern::Glob { args: None, .. }, _, Some(why)) => Err(why.clone()),
        (Pattern::Glob { args: None, .. }, _, None) => Ok(()),
    }
}

fn variables(env: &Unlisted) -> MissWhy {
    MissWhy::Variables { names: env.names().map(str::to_owned).collect() }
}

/// Returns the text that a pattern is matched against: the arguments, joined by blanks. An argument that is empty,
/// or contains a blank or a quote, is put in single quotes, so that no two argument lists have the same text.
fn joined(argv: &[String]) -> Option<String> {
    let mut text = String::new();
    for (at, argument) in argv.iter().skip(1).enumerate() {
        if argument.chars().any(char::is_control) {
            return None;
        }
        if at > 0 {
            text.push(' ');
        }
        let plain = !argument.is_empty() && !argument.contains(|c: char| c == '\'' || c.is_whitespace());
        text.push_str(&if plain { argument.clone() } else { quote(argument) });
    }
    Some(text)
}

/// Fails if a command executes its arguments.
fn runner(call: Call<'_>) -> Result<(), RunsOthers> {
    by_every_name(call, runs_others)
}

/// Fails if an entry without a pattern of arguments is not enough for a command.
fn wants_pattern(call: Call<'_>) -> Result<(), MissWhy> {
    runner(call).map_err(MissWhy::RunsOthers)?;
    by_every_name(call, reaches).map_err(MissWhy::Reaches)
}

/// Checks a command by its first word, by the name that it is executed under and by the file behind that. A file
/// that contains many programs acts by its name, so its name counts.
fn by_every_name<E>(call: Call<'_>, ask: impl Fn(&[String]) -> Result<(), E>) -> Result<(), E> {
    let Executable { called, real, .. } = call.program;
    let by_name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let many = by_name(real).is_some_and(|name| matches!(name.as_str(), "busybox" | "toybox" | "coreutils"));
    let names = [call.argv.first().cloned(), by_name(called), by_name(real).filter(|_| !many)];
    for name in names.into_iter().flatten() {
        let mut argv = call.argv.to_vec();
        match argv.first_mut() {
            Some(first) => *first = name,
            None => argv.push(name),
        }
        ask(&argv)?;
    }
    Ok(())
}
