//! The identity of a program's file, taken when it is allowed and compared right before it is executed. Between the
//! comparison and execve(2) there is still a moment; whoever can use it can write to the program's directory.

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
/// What the kernel reads of a script's first line.
const FIRST_LINE: usize = 256;
/// How many scripts may be each other's interpreters; the kernel follows five.
const MAX_INTERPRETERS: u8 = 5;

/// One file as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// The path by which it is executed.
    pub called: PathBuf,
    /// The file behind all links.
    pub real: PathBuf,
    /// The device it is on.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
    /// Its length in bytes.
    pub size: u64,
    /// When its content changed, in nanoseconds of the epoch.
    pub modified_ns: i64,
    /// When anything about it changed, in nanoseconds of the epoch.
    pub changed_ns: i64,
    /// Its kind and permissions.
    pub mode: u32,
    /// What it holds.
    pub content: Content,
    /// What executes it, if it is a script.
    pub interpreter: Option<Box<Bound>>,
}

/// What is known of a file's content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    /// Its hash, in hex.
    Sha256(String),
    /// Neither it nor its directory can be written to by this user.
    NotWritable,
    /// It could be written to, and is too large to be hashed.
    TooLarge,
}

/// A program whose identity cannot be taken.
#[derive(Debug, thiserror::Error)]
pub enum Unbindable {
    /// The file cannot be read.
    #[error("{path:?} cannot be looked at: {error}; see that it is there and readable")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The script's first line names no absolute path.
    #[error("the first line of {path:?} does not name its interpreter by an absolute path; correct it")]
    Interpreter {
        /// The script.
        path: PathBuf,
    },
    /// Scripts whose interpreters are scripts, too often.
    #[error(
        "{path:?} is one script too many: their interpreters are scripts themselves; correct their first lines"
    )]
    TooDeep {
        /// The script at which it was given up.
        path: PathBuf,
    },
}

/// A program that is not what it was.
#[derive(Debug, thiserror::Error)]
pub enum Changed {
    /// It is another one now.
    #[error("{path:?} is not what was allowed, it has another {}; ask for it again", list(what))]
    Differs {
        /// The file.
        path: PathBuf,
        /// In what it differs; at least one.
        what: Vec<What>,
    },
    /// It cannot be looked at any more.
    #[error("what was allowed cannot be found again: {0}")]
    Gone(#[from] Unbindable),
}

/// In what a file can differ.
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
    /// The content, or whether it can be written to.
    Content,
    /// The presence of an interpreter.
    Interpreter,
}

impl Bound {
    /// The identity of what `path` leads to.
    pub fn of(path: &Path) -> Result<Self, Unbindable> {
        Self::at(path, 0)
    }

    /// The identity of a program that was found.
    pub fn of_executable(executable: &Executable) -> Result<Self, Unbindable> {
        Self::of(&executable.called)
    }

    /// Whether the program is still the same, and its interpreter too.
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
                // That there is one in only one of them is a difference.
                (None, _) | (_, None) => return Ok(()),
            }
        }
    }

    /// The hashes of what this user could write to: the program, and then what executes it. All else that makes up its
    /// identity changes when the same program is installed again.
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

/// The file at `real`, what it holds, and its first bytes. What may be executed need not be readable: then there is no
/// first line to follow, and whoever cannot write to it cannot have changed it.
fn look(real: &Path) -> io::Result<(Facts, Content, Vec<u8>)> {
    let facts = executable::facts(real)?;
    if !facts.is_file {
        return Err(io::Error::other("it is no file"));
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

/// What a file holds, and its first bytes.
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
    // A file that grows meanwhile has another size and other times; it is not read for ever.
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

/// The interpreter that a file's first line names.
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
