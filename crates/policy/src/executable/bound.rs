//! The identity of a program's file, taken when it is allowed and compared right before it is executed. A moment
//! remains between the comparison and execve(2); only a user who can write to the program's directory can exploit
//! it.

use super::Executable;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use tenure_os::executable::{self, Facts};
use tenure_os::{file, text};

/// The largest file whose content is hashed.
const MAX_HASHED: u64 = 64 << 20;
/// Length of a script's first line that the kernel reads.
const FIRST_LINE: usize = 256;
/// Maximum number of scripts that are each other's interpreters; the kernel follows five.
const MAX_INTERPRETERS: u8 = 5;

/// The identity of a file at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// The path by which it is executed.
    pub called: PathBuf,
    /// The file behind all links.
    pub real: PathBuf,
    /// The device's number.
    pub device: u64,
    /// The inode on that device.
    pub inode: u64,
    /// The length in bytes.
    pub size: u64,
    /// The time when its content changed, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// The time when its content or metadata changed, in nanoseconds since 1970.
    pub changed_ns: i64,
    /// The kind and permissions.
    pub mode: u32,
    /// The content.
    pub content: Content,
    /// The interpreter, if it is a script.
    pub interpreter: Option<Box<Bound>>,
}

/// The identity of a file's content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    /// The hash, in hex.
    Sha256(String),
    /// No hash: this user can write neither to the file nor to its directory.
    NotWritable,
    /// No hash: the user could write to the file, but it is too large.
    TooLarge,
}

/// The reason why a program's identity cannot be taken.
#[derive(Debug, thiserror::Error)]
pub enum Unbindable {
    /// The file cannot be read.
    #[error("cannot read {path:?}: {error}; check that it exists and is readable")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The script's first line names no absolute path.
    #[error("the first line of {path:?} does not name its interpreter by an absolute path; correct it")]
    Interpreter {
        /// The script.
        path: PathBuf,
    },
    /// Too many scripts have scripts as their interpreters.
    #[error("{path:?} has too many interpreters that are scripts themselves; correct their first lines")]
    TooDeep {
        /// The script at which the search ended.
        path: PathBuf,
    },
}

/// The reason why a program is not the recorded one.
#[derive(Debug, thiserror::Error)]
pub enum Changed {
    /// The file is another one now.
    #[error("{path:?} has changed since it was allowed: another {}; request it again", list(what))]
    Differs {
        /// The file.
        path: PathBuf,
        /// The differences; at least one.
        what: Vec<What>,
    },
    /// The file can no longer be examined.
    #[error("a program that was allowed cannot be checked again: {0}")]
    Gone(#[from] Unbindable),
}

/// A difference between two files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum What {
    /// The file that its path leads to.
    Target,
    /// The device or inode.
    File,
    /// The length.
    Size,
    /// The time of the last write.
    Modified,
    /// The time of the last change of any kind.
    Changed,
    /// The kind or the permissions.
    Mode,
    /// The content, or the ability to write to it.
    Content,
    /// The presence of an interpreter.
    Interpreter,
}

impl Bound {
    /// Takes the identity of the file that `path` leads to.
    pub fn of(path: &Path) -> Result<Self, Unbindable> {
        Self::at(path, 0)
    }

    /// Takes the identity of a program that was found.
    pub fn of_executable(executable: &Executable) -> Result<Self, Unbindable> {
        Self::of(&executable.called)
    }

    /// Checks that the program and its interpreter are still the same.
    pub fn check(&self) -> Result<(), Changed> {
        let now = Self::of(&self.called)?;
        let (mut then, mut now) = (self, &now);
        loop {
            let what = then.differences(now);
            if !what.is_empty() {
                return Err(Changed::Differs { path: then.called.clone(), what });
            }
            match (&then.interpreter, &now.interpreter) {
                (Some(its), Some(other)) => (then, now) = (its, other),
                // An interpreter on one side only counts as a difference above.
                (None, _) | (_, None) => return Ok(()),
            }
        }
    }

    /// Returns the hashes of the files that this user could write to: the program, and then its interpreter. All
    /// other parts of the identity change when the same program is installed again.
    pub fn hashes(&self) -> Vec<String> {
        let chain = std::iter::successors(Some(self), |bound| bound.interpreter.as_deref());
        let hash = |bound: &Self| match &bound.content {
            Content::Sha256(hash) => Some(hash.clone()),
            Content::NotWritable | Content::TooLarge => None,
        };
        chain.filter_map(hash).collect()
    }

    fn at(path: &Path, depth: u8) -> Result<Self, Unbindable> {
        let unreadable = |error| Unbindable::Unreadable { path: path.to_owned(), error };
        let real = file::real(path).map_err(unreadable)?;
        let (facts, content, first) = look(&real).map_err(unreadable)?;
        let interpreter = match interpreter(&first, path)? {
            None => None,
            Some(_) if depth >= MAX_INTERPRETERS => {
                return Err(Unbindable::TooDeep { path: path.to_owned() });
            }
            Some(by) => Some(Box::new(Self::at(&by, depth + 1)?)),
        };
        Ok(Self {
            called: path.to_owned(),
            real,
            device: facts.device,
            inode: facts.inode,
            size: facts.size,
            modified_ns: facts.modified_ns,
            changed_ns: facts.changed_ns,
            mode: facts.mode,
            content,
            interpreter,
        })
    }

    fn differences(&self, now: &Self) -> Vec<What> {
        let file = (self.device, self.inode) != (now.device, now.inode);
        let same_interpreter = self.interpreter.is_some() == now.interpreter.is_some();
        [
            (self.real != now.real, What::Target),
            (file, What::File),
            (self.size != now.size, What::Size),
            (self.modified_ns != now.modified_ns, What::Modified),
            (self.changed_ns != now.changed_ns, What::Changed),
            (self.mode != now.mode, What::Mode),
            (self.content != now.content, What::Content),
            (!same_interpreter, What::Interpreter),
        ]
        .into_iter()
        .filter_map(|(differs, what)| differs.then_some(what))
        .collect()
    }
}

/// Returns the facts about the file at `real`, its content, and its first bytes. An executable file need not be
/// readable: then there is no first line to follow, and a user who cannot write to it cannot have changed it.
fn look(real: &Path) -> io::Result<(Facts, Content, Vec<u8>)> {
    let facts = executable::facts(real)?;
    if !facts.is_file {
        return Err(io::Error::other("it is not a regular file"));
    }
    match executable::open(real) {
        Ok(file) => {
            let facts = executable::facts_of(&file)?;
            let (content, first) = read(file, real, &facts)?;
            Ok((facts, content, first))
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && !executable::may_change(real) => {
            Ok((facts, Content::NotWritable, Vec::new()))
        }
        Err(error) => Err(error),
    }
}

/// Returns a file's content, and its first bytes.
fn read(mut file: File, path: &Path, facts: &Facts) -> io::Result<(Content, Vec<u8>)> {
    let mut first = Vec::new();
    file.by_ref().take(FIRST_LINE as u64).read_to_end(&mut first)?;
    if !executable::may_change(path) {
        return Ok((Content::NotWritable, first));
    }
    if facts.size > MAX_HASHED {
        return Ok((Content::TooLarge, first));
    }
    let mut hash = Sha256::new();
    hash.update(&first);
    let mut buffer = vec![0; 64 * 1024];
    // A file that grows meanwhile gets another size and other times; reading it ends all the same.
    let mut rest = file.take(MAX_HASHED);
    loop {
        match rest.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => hash.update(&buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let hex = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((Content::Sha256(hex), first))
}

/// Returns the interpreter that a file's first line names.
fn interpreter(first: &[u8], script: &Path) -> Result<Option<PathBuf>, Unbindable> {
    let Some(rest) = first.strip_prefix(b"#!") else { return Ok(None) };
    let line = rest.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\0');
    let name = line.split(blank).find(|word| !word.is_empty()).unwrap_or_default();
    let path = PathBuf::from(text::from_bytes(name));
    if path.is_absolute() { Ok(Some(path)) } else { Err(Unbindable::Interpreter { path: script.to_owned() }) }
}

fn list(what: &[What]) -> String {
    what.iter().map(What::to_string).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Target => "file behind its links",
            Self::File => "inode",
            Self::Size => "size",
            Self::Modified => "time of change",
            Self::Changed => "time of status change",
            Self::Mode => "mode",
            Self::Content => "content",
            Self::Interpreter => "interpreter",
        })
    }
}
