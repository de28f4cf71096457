//! Starts the root of a run: it is created inside its job, suspended, recorded, and only then resumed (I2).

use super::root::Root;
use super::search;
use super::stdio::Stdio;
use super::{Start, Suspended, start};
use crate::command_line;
use crate::enclosure::Enclosure;
use crate::fork::SingleThread;
use crate::poll::{Pollable, Waitable};
use crate::spawn::{NoRoot, Outcome};
use std::io;
use std::os::windows::io::{AsHandle, OwnedHandle};
use std::path::PathBuf;
use std::sync::Arc;
use tenure_core::ending::SpawnError;
use tenure_core::resources::Rlimit;

/// The program to execute. Windows passes text, so words, variables and directory must be UTF-8.
#[derive(Debug)]
pub struct Plan {
    argv: Vec<String>,
    env: Vec<String>,
    cwd: PathBuf,
    rlimits: Vec<Rlimit>,
}

impl Plan {
    /// Takes the words, the variables (`NAME=value`) and the directory; an error if one is not UTF-8.
    pub fn new(argv: Vec<Vec<u8>>, env: Vec<Vec<u8>>, cwd: Vec<u8>) -> io::Result<Self> {
        let (argv, env) = (texts(argv)?, texts(env)?);
        if argv.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "there is no command"));
        }
        Ok(Self { argv, env, cwd: PathBuf::from(text(cwd)?), rlimits: Vec::new() })
    }

    /// Returns the plan unchanged: there is neither a mask nor a limit of descriptors here.
    #[must_use]
    pub fn with(self, _: u32, _: (u64, u64)) -> Self {
        self
    }

    /// Returns the plan with limits for each process. They do not exist here, so its start will be refused.
    #[must_use]
    pub fn bounded(self, rlimits: &[(Rlimit, u64)]) -> Self {
        Self { rlimits: rlimits.iter().map(|&(limit, _)| limit).collect(), ..self }
    }

    /// Returns the absolute path of the file that will be executed; `None` if there is none.
    pub fn executable(&self) -> Option<String> {
        let found = self.program().ok()?;
        found.is_absolute().then(|| found.to_string_lossy().into_owned())
    }

    fn program(&self) -> Result<PathBuf, SpawnError> {
        search::find(&self.argv[0], &self.cwd, self.variable("PATH").unwrap_or_default())
    }

    /// Returns the value of a variable. Names have no case here; the last one counts.
    fn variable(&self, name: &str) -> Option<&str> {
        let named =
            |entry: &&String| entry.split_once('=').is_some_and(|(key, _)| key.eq_ignore_ascii_case(name));
        self.env.iter().rev().find(named).and_then(|entry| entry.split_once('=')).map(|(_, value)| value)
    }

    fn prepare(&self) -> Result<Start, SpawnError> {
        let program = self.program()?;
        if !self.cwd.is_dir() {
            return Err(refused(format!("cannot enter the working directory {}", self.cwd.display())));
        }
        let wide = |word: &String| word.encode_utf16().collect::<Vec<u16>>();
        let words: Vec<_> = self.argv[1..].iter().map(wide).collect();
        let path = super::wide(&program);
        // The first word is the program's name for itself; its file is passed beside the line.
        let line = command_line::join(&wide(&self.argv[0]), &words)
            .and_then(|line| command_line::join(&path[..path.len() - 1], &[]).map(|_| line))
            .map_err(|why| refused(format!("cannot execute {}: {why}", self.argv[0])))?;
        Ok(Start {
            program: path,
            line: line.into_iter().chain([0]).collect(),
            environment: block(&self.env),
            directory: super::wide(&self.cwd),
        })
    }

    fn explain(&self, error: &io::Error) -> SpawnError {
        refused(format!("cannot execute {}: {error}", self.argv[0]))
    }
}

fn refused(detail: String) -> SpawnError {
    SpawnError { detail, not_found: false }
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    let text =
        String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    if text.contains('\0') {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it has a NUL in it"));
    }
    Ok(text)
}

fn texts(list: Vec<Vec<u8>>) -> io::Result<Vec<String>> {
    list.into_iter().map(text).collect()
}

/// Builds the system's block of variables: sorted without regard to case, each name once (the last one counts).
pub(crate) fn block(env: &[String]) -> Vec<u16> {
    let mut sorted = std::collections::BTreeMap::new();
    for entry in env {
        // A variable's name may begin with '=': cmd keeps the directory of each drive there.
        let end = entry.char_indices().skip(1).find(|(_, c)| *c == '=').map(|(at, _)| at);
        if let Some(end) = end {
            sorted.insert(entry[..end].to_uppercase(), entry);
        }
    }
    let mut block: Vec<u16> = sorted.values().flat_map(|entry| entry.encode_utf16().chain([0])).collect();
    if block.is_empty() {
        block.push(0);
    }
    block.push(0);
    block
}

/// A root that has not run yet. Dropping it unopened kills it before it has run.
#[derive(Debug)]
pub struct Gated {
    root: Root,
    suspended: Suspended,
}

/// The report of a root that was resumed: all that could keep it from executing was found before.
#[derive(Debug)]
pub struct Report {
    there: OwnedHandle,
}

/// Creates the root inside the job, with its standard streams and no other handle of ours. It leads a group of its
/// own, and has run nothing yet.
pub fn start_root(
    _: &SingleThread,
    plan: &Plan,
    stdio: &Stdio,
    enclosure: Option<&Enclosure>,
) -> Result<Gated, NoRoot> {
    let Some(enclosure) = enclosure else {
        return Err(io::Error::other("a run on Windows needs a job").into());
    };
    if let Some(limit) = plan.rlimits.first() {
        return Err(io::Error::other(format!("Windows has no limit like {limit:?} for each process")).into());
    }
    let prepared = plan.prepare().map_err(NoRoot::Command)?;
    let suspended =
        start(&prepared, stdio, &enclosure.job).map_err(|error| NoRoot::Command(plan.explain(&error)))?;
    let process = suspended.hold()?.ok_or_else(|| io::Error::other("the root was gone before it ran"))?;
    let console = match stdio {
        Stdio::Pty(pty) => Some(Arc::clone(pty.console())),
        Stdio::Pipes { .. } => None,
    };
    Ok(Gated { root: Root::new(process, Arc::clone(&enclosure.job), console)?, suspended })
}

impl Gated {
    /// Returns the root, which has run nothing yet.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// Kills the root before it runs anything.
    pub fn abandon(self) {}

    /// Resumes the root.
    pub fn release(self) -> io::Result<(Root, Report)> {
        let there = super::pipe::done()?;
        self.suspended.resume()?;
        Ok((self.root, Report { there }))
    }
}

impl Report {
    /// Returns that the command executes.
    pub fn read(&self, _: &Plan) -> Outcome {
        Outcome::Executes
    }
}

impl Pollable for Report {
    fn waitable(&self) -> Waitable<'_> {
        Waitable { read: Some(self.there.as_handle()), write: None }
    }
}
