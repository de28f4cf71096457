//! Files of a directory that is held open: paths are looked up once, so a moved or very long directory does
//! not matter. Only [`sync_names`] and [`Dir::write_synced`] sync: all other records must outlive a process, not a
//! power cut.

use crate::system::{self, Open};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use tenure_core::location::FileLocation;

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
    pub(crate) handle: system::DirHandle,
    path: PathBuf,
}

impl Dir {
    /// Opens a directory.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { handle: system::open_dir(path)?, path: path.to_owned() })
    }

    /// Makes a directory for its owner alone; it must not exist yet.
    pub fn make(path: &Path) -> io::Result<Self> {
        system::make_dir(path)?;
        Self::open(path)
    }

    /// Makes a directory, and those above it, for its owner alone; it may exist.
    pub fn ensure(path: &Path) -> io::Result<Self> {
        system::make_dirs(path)?;
        Self::open(path)
    }

    /// Makes sure that it is its owner's alone: one that others may read is closed to them, one that they own or may
    /// have changed is refused.
    pub fn claim(&self) -> io::Result<()> {
        system::claim(&self.handle)
    }

    /// The path it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a path that leads to the directory as long as it is held open, even if it is moved, where the system has
    /// such a path. Valid only in this process.
    pub fn lasting_path(&self) -> PathBuf {
        system::lasting_path(&self.handle).filter(|path| path.is_dir()).unwrap_or_else(|| self.path.clone())
    }

    /// Returns the directory's current path, even if it was moved since it was opened, where the system tells.
    pub fn current_path(&self) -> PathBuf {
        real(&self.lasting_path()).unwrap_or_else(|_| self.path.clone())
    }

    /// Returns true if the directory was deleted since it was opened; one that was moved was not.
    pub fn is_deleted(&self) -> io::Result<bool> {
        system::is_deleted(&self.handle)
    }

    /// The whole content of a file; `None` if there is none.
    pub fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        match system::open_file(&self.handle, name, Open::Read) {
            Ok(mut file) => {
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes)?;
                Ok(Some(bytes))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The names of everything in it, sorted; an error if there are more than `most`. Those that are not text are left
    /// out, as no program of ours has made them, and counted.
    pub fn names(&self, most: usize) -> io::Result<(Vec<String>, u64)> {
        let (mut names, mut unnamed) = (Vec::new(), 0);
        for name in system::entries(&self.handle)? {
            match name? {
                Some(_) if names.len() == most => {
                    return Err(io::Error::other(format!("it has more than {most} entries")));
                }
                Some(name) => names.push(name),
                None => unnamed += 1,
            }
        }
        names.sort_unstable();
        Ok((names, unnamed))
    }

    /// The content of a regular file of at most so many bytes. Nothing else is opened for long: no link is followed, and
    /// nobody at the other end of a pipe is waited for.
    pub fn read_regular(&self, name: &str, most: u64) -> io::Result<Regular> {
        let Some(file) = system::open_regular(&self.handle, name)? else { return Ok(Regular::Other) };
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

    /// Writes a new file and syncs it to disk: for a file that is to replace another.
    pub fn write_synced(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut file = self.create(name)?;
        file.write_all(bytes)?;
        file.sync_all()
    }

    /// Adds to the end of a file for its owner alone, which is made if it is not there. What was cut off by an earlier
    /// failure stays a line of its own.
    pub fn append(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        use std::io::{Seek, SeekFrom};
        let mut file = system::open_file(&self.handle, name, Open::Append)?;
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
        system::open_file(&self.handle, name, Open::New)
    }

    /// Sets aside the disk space for a small file that must be writable later, on a disk that is full by then.
    pub fn reserve(&self, name: &str, len: usize) -> io::Result<Reserved> {
        let mut file = self.create(name)?;
        file.write_all(&vec![b' '; len])?;
        Ok(Reserved { file, name: name.to_owned(), len })
    }

    /// Gives a file a second, final name; `false` if that name is taken: the first to come wins.
    pub fn publish(&self, name: &str, as_name: &str) -> io::Result<bool> {
        match system::link(&self.handle, name, as_name) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Renames a file, and replaces whatever has the new name.
    pub fn replace(&self, name: &str, as_name: &str) -> io::Result<()> {
        system::rename(&self.handle, name, as_name)
    }

    /// Removes a file; one that is not there is no error.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        match system::unlink(&self.handle, name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
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

/// Identifies a file as long as somebody holds it: another file at the same name has another id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileId(pub(crate) u64, pub(crate) u64);

impl FileId {
    /// Returns the id of the file at a path; `None` if there is none.
    pub fn of(path: &Path) -> io::Result<Option<Self>> {
        found(system::file_id(path))
    }

    /// Returns the id of the file with a name in a directory; `None` if there is none.
    pub fn within(dir: &Dir, name: &str) -> io::Result<Option<Self>> {
        found(system::file_id_in(&dir.handle, name))
    }
}

fn found(id: io::Result<FileId>) -> io::Result<Option<FileId>> {
    match id {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        id => id.map(Some),
    }
}

/// The same options, by which a file that is made is its owner's alone. Where files have no mode, the directory that it
/// is made in says whose it is.
pub fn privately(options: &mut OpenOptions) -> &mut OpenOptions {
    system::privately(options)
}

/// Closes a file to everybody but its owner, if others may use it.
pub fn close_to_others(path: &Path) -> io::Result<()> {
    system::close_to_others(path)
}

/// The path without links and `..` in it that leads to the same, as people and programs write it.
pub fn real(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize().map(system::plain)
}

/// Returns the current location of a file or directory, which tells it from a copy.
pub fn location(path: &Path) -> io::Result<FileLocation> {
    let path = real(path)?;
    let facts = crate::executable::facts(&path)?;
    let boot_id = crate::process::here().boot_id.clone();
    let (device, inode) = (facts.device, facts.inode);
    Ok(FileLocation { device, inode, path: path.to_string_lossy().into_owned(), boot_id })
}

/// Returns true if nobody but this user, and the machine's administrator, owns a file or may use it.
pub fn is_private(path: &Path) -> io::Result<bool> {
    system::is_private(path)
}

/// How people close a file to others here, as advice.
pub const CLOSING: &str = system::CLOSING;

/// From now on what this process makes is its owner's alone.
pub fn make_private() {
    system::make_private();
}

/// This process's file mode creation mask, where the system has one.
pub fn umask() -> u32 {
    system::umask()
}

/// Brings the names in a directory to the disk, where that is for programs to do.
pub fn sync_names(dir: &Path) -> io::Result<()> {
    system::sync_names(dir)
}

/// Reads at a position, as much as the file gives at once.
pub fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    system::read_at(file, buffer, at)
}

/// Writes at a position, as much as the file takes at once.
pub fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<usize> {
    system::write_at(file, bytes, at)
}
