//! A file below a directory, whatever links and dots its path has: what leads out of there is not found, also if
//! somebody changes a link in the very moment.

use crate::{random, system};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags, fchmod, fstat, mkdirat, openat, renameat, unlinkat};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

/// A name below a directory; it need not be there yet.
#[derive(Debug)]
pub struct Beneath {
    root: OwnedFd,
    /// From there, without links and dots as far as it exists.
    path: PathBuf,
}

impl Beneath {
    /// What an absolute path means, if that is below this directory.
    pub fn find(root: &Path, path: &Path) -> io::Result<Self> {
        let root = root.canonicalize()?;
        let (exists, rest) = existing(path)?;
        let Ok(within) = exists.strip_prefix(&root) else {
            let why = format!("it is not below {}", root.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        };
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let fd = openat(rustix::fs::CWD, &root, flags, Mode::empty())?;
        Ok(Self { root: fd, path: within.components().chain(rest.components()).collect() })
    }

    /// All of a regular file, if it is no longer than this.
    pub fn read(&self, most: u64) -> io::Result<Vec<u8>> {
        // A pipe that nobody writes to must not be waited for.
        let file = self.open(OFlags::RDONLY | OFlags::NONBLOCK)?;
        let mut bytes = Vec::new();
        file.take(most + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("it has more than {most} bytes"),
            ));
        }
        Ok(bytes)
    }

    /// Makes it a regular file with these bytes, and the directories above it. A file that was there keeps its mode, and is
    /// whole at every moment. A new file has the mode that the user's umask leaves it, however private this process is.
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mode = match self.open(OFlags::WRONLY | OFlags::NONBLOCK) {
            Ok(file) => Some(Mode::from_raw_mode(fstat(&file)?.st_mode & 0o7777)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => system::user_mode(0o666),
            Err(error) => return Err(error),
        };
        let name = self.path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::IsADirectory))?;
        let parent = self.make_parent()?;
        let draft = draft(name)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(&parent, &draft, flags, Mode::from_raw_mode(0o666))?;
        let written = (|| {
            if let Some(mode) = mode {
                fchmod(&file, mode)?;
            }
            File::from(file).write_all(bytes)?;
            Ok(renameat(&parent, &draft, &parent, name)?)
        })();
        if written.is_err() {
            // What is not whole is of no use; that it stays would be no reason to fail otherwise.
            let _ = unlinkat(&parent, &draft, rustix::fs::AtFlags::empty());
        }
        written
    }

    fn open(&self, flags: OFlags) -> io::Result<File> {
        let file = File::from(at(&self.root, &self.path, flags)?);
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
        }
        Ok(file)
    }

    /// The directory that it is in, made if it is not there.
    fn make_parent(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY;
        let mut dir = at(&self.root, Path::new("."), flags)?;
        for part in self.path.parent().into_iter().flat_map(Path::components) {
            let is_new = match mkdirat(&dir, part.as_os_str(), Mode::from_raw_mode(0o777)) {
                Ok(()) => true,
                Err(rustix::io::Errno::EXIST) => false,
                Err(error) => return Err(error.into()),
            };
            dir = at(&dir, Path::new(part.as_os_str()), flags)?;
            if let Some(mode) = system::user_mode(0o777).filter(|_| is_new) {
                fchmod(&dir, mode)?;
            }
        }
        Ok(dir)
    }
}

/// Opens what is below a directory; no link is followed.
fn at(dir: impl AsFd, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    Ok(system::open_beneath(dir, path, flags)?)
}

/// The part of a path that exists, without links, and the rest, which has only names.
fn existing(path: &Path) -> io::Result<(PathBuf, PathBuf)> {
    let parts: Vec<Component<'_>> = path.components().collect();
    for kept in (1..=parts.len()).rev() {
        let (exists, rest) = parts.split_at(kept);
        match exists.iter().collect::<PathBuf>().canonicalize() {
            Ok(exists) => {
                if rest.iter().any(|part| !matches!(part, Component::Normal(_))) {
                    return Err(io::ErrorKind::NotFound.into());
                }
                return Ok((exists, rest.iter().collect()));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

/// A name beside another, for what is being written.
fn draft(name: &OsStr) -> io::Result<PathBuf> {
    let random: [u8; 6] = random::bytes()?;
    let random: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut draft = std::ffi::OsString::from(".");
    // The longest names have no room for more.
    draft.push(if name.len() > 200 { OsStr::new("file") } else { name });
    draft.push(format!(".{random}"));
    Ok(draft.into())
}
