//! A file below a directory, whatever links and dots its path has: a path that leads outside is not found, even if
//! another process changes a link at that moment.

use crate::{paths, system};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags, fchmod, fstat, mkdirat, openat, renameat, unlinkat};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// A name below a directory; it need not exist yet.
#[derive(Debug)]
pub struct Beneath {
    root: OwnedFd,
    /// The path below the root, without links and dots as far as it exists.
    path: PathBuf,
}

impl Beneath {
    /// Resolves an absolute path, which must be below this directory.
    pub fn find(root: &Path, path: &Path) -> io::Result<Self> {
        let root = root.canonicalize()?;
        let (exists, rest) = paths::split_existing(path)?;
        let Ok(within) = exists.strip_prefix(&root) else {
            let why = format!("it is not below {}", root.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        };
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let fd = openat(rustix::fs::CWD, &root, flags, Mode::empty())?;
        Ok(Self { root: fd, path: within.components().chain(rest.components()).collect() })
    }

    /// Reads a regular file of at most this length.
    pub fn read(&self, most: u64) -> io::Result<Vec<u8>> {
        // Non-blocking, so that a pipe without a writer is not waited for.
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

    /// Writes a regular file, and creates the directories above it. An existing file keeps its mode, and is
    /// complete at every moment. A new file gets the mode that the user's umask leaves it, however private this
    /// process is.
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mode = match self.open(OFlags::WRONLY | OFlags::NONBLOCK) {
            Ok(file) => Some(Mode::from_raw_mode(fstat(&file)?.st_mode & 0o7777)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => system::user_mode(0o666),
            Err(error) => return Err(error),
        };
        let name = self.path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::IsADirectory))?;
        let parent = self.make_parent()?;
        let draft = paths::draft_name(name)?;
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
            // An incomplete draft is useless; if it cannot be removed, that is ignored.
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

    /// Opens the parent directory, and creates it if it is missing.
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

/// Opens a path below a directory; no link is followed.
fn at(dir: impl AsFd, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    Ok(system::open_beneath(dir, path, flags)?)
}
