//! Files of a directory that is held open: paths are looked up once, so a moved or very long directory does
//! not matter. Nothing here syncs: these records must outlive a process, not a power cut.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags, fchmod, fstat, linkat, mkdirat, openat, unlinkat};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

const PRIVATE_DIR: Mode = Mode::RWXU;
const PRIVATE_FILE: Mode = Mode::RUSR.union(Mode::WUSR);

/// What is behind a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Regular {
    /// A regular file, and this is all of it.
    Bytes(Vec<u8>),
    /// A regular file that is too large.
    TooLarge,
    /// A directory, a link, a pipe or anything else.
    Other,
}

/// An open directory.
#[derive(Debug)]
pub struct Dir {
    fd: OwnedFd,
    path: PathBuf,
}

impl Dir {
    /// Opens a directory.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        Ok(Self { fd: openat(rustix::fs::CWD, path, flags, Mode::empty())?, path: path.to_owned() })
    }

    /// Makes a directory for its owner alone; it must not exist yet.
    pub fn make(path: &Path) -> io::Result<Self> {
        mkdirat(rustix::fs::CWD, path, PRIVATE_DIR)?;
        Self::open(path)
    }

    /// Makes a directory, and those above it, for its owner alone; it may exist.
    pub fn ensure(path: &Path) -> io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        Self::open(path)
    }

    /// Makes sure that it is its owner's alone: one that others may read is closed to them, one that they own or may
    /// have changed is refused.
    pub fn claim(&self) -> io::Result<()> {
        let refused = |why: String| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        let is = fstat(&self.fd)?;
        let (owner, me) = (is.st_uid, rustix::process::geteuid().as_raw());
        let mode = is.st_mode & 0o7777;
        if owner != me {
            return refused(format!("it belongs to the user {owner}, and this is the user {me}"));
        }
        if mode & 0o022 != 0 {
            return refused(format!("others may write to it (its mode is {mode:03o})"));
        }
        if mode & 0o077 != 0 {
            fchmod(&self.fd, PRIVATE_DIR)?;
        }
        Ok(())
    }

    /// The path it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path that reaches `name` in this directory, however long the directory's own path is; good only in
    /// this process, while this is open.
    pub(crate) fn short_path(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{name}", self.fd.as_raw_fd()))
    }

    /// The whole content of a file; `None` if there is none.
    pub fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        match openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => {
                let mut bytes = Vec::new();
                File::from(fd).read_to_end(&mut bytes)?;
                Ok(Some(bytes))
            }
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The names of everything in it, sorted; an error if there are more than `most`. Those that are not text are left
    /// out, as no program of ours has made them, and counted.
    pub fn names(&self, most: usize) -> io::Result<(Vec<String>, u64)> {
        let (mut names, mut unnamed) = (Vec::new(), 0);
        for entry in rustix::fs::Dir::read_from(&self.fd)? {
            match entry?.file_name().to_str() {
                Ok("." | "..") => {}
                Ok(_) if names.len() == most => {
                    return Err(io::Error::other(format!("it has more than {most} entries")));
                }
                Ok(name) => names.push(name.to_owned()),
                Err(_) => unnamed += 1,
            }
        }
        names.sort_unstable();
        Ok((names, unnamed))
    }

    /// The content of a regular file of at most so many bytes. Nothing else is opened for long: no link is followed, and
    /// nobody at the other end of a pipe is waited for.
    pub fn read_regular(&self, name: &str, most: u64) -> io::Result<Regular> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = match openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => File::from(fd),
            Err(rustix::io::Errno::LOOP | rustix::io::Errno::NXIO) => return Ok(Regular::Other),
            Err(error) => return Err(error.into()),
        };
        if !file.metadata()?.is_file() {
            return Ok(Regular::Other);
        }
        let mut bytes = Vec::new();
        file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        Ok(if bytes.len() as u64 > most { Regular::TooLarge } else { Regular::Bytes(bytes) })
    }

    /// Writes a new file for its owner alone; it must not exist yet.
    pub fn write_new(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.create(name)?.write_all(bytes)
    }

    /// Adds to the end of a file for its owner alone, which is made if it is not there. What was cut off by an earlier
    /// failure stays a line of its own.
    pub fn append(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        use std::io::{Seek, SeekFrom};
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::APPEND | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let mut file = File::from(openat(&self.fd, name, flags, PRIVATE_FILE)?);
        let mut last = [b'\n'];
        if file.seek(SeekFrom::End(-1)).is_ok() {
            file.read_exact(&mut last)?;
        }
        if last != [b'\n'] {
            file.write_all(b"\n")?;
        }
        file.write_all(bytes)
    }

    fn create(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        Ok(File::from(openat(&self.fd, name, flags, PRIVATE_FILE)?))
    }

    /// Sets aside the disk space for a small file that must be writable later, on a disk that is full by then.
    pub fn reserve(&self, name: &str, len: usize) -> io::Result<Reserved> {
        let mut file = self.create(name)?;
        file.write_all(&vec![b' '; len])?;
        Ok(Reserved { file, name: name.to_owned(), len })
    }

    /// Gives a file a second, final name; `false` if that name is taken: the first to come wins.
    pub fn publish(&self, name: &str, as_name: &str) -> io::Result<bool> {
        match linkat(&self.fd, name, &self.fd, as_name, AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::EXIST) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes a file; one that is not there is no error.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        match unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Disk space set aside for one file.
#[derive(Debug)]
pub struct Reserved {
    file: File,
    name: String,
    len: usize,
}

impl Reserved {
    /// Writes the file's true content into the space, as far as it goes and beyond if the disk lets it.
    pub fn fill(mut self, bytes: &[u8]) -> io::Result<String> {
        use std::io::{Seek, SeekFrom};
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(bytes)?;
        if bytes.len() < self.len {
            self.file.set_len(bytes.len() as u64)?;
        }
        Ok(self.name)
    }
}

/// From now on what this process makes is its owner's alone.
pub fn make_private() {
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
}

/// This process's file mode creation mask.
pub fn umask() -> u32 {
    // It can only be read by setting it; there is one thread yet.
    let mask = rustix::process::umask(Mode::empty());
    rustix::process::umask(mask);
    mask.as_raw_mode()
}
