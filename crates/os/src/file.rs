//! Files in a directory that is held open: paths are looked up once, so a moved or very long directory does not
//! matter. Only [`sync_names`] and [`Dir::write_synced`] sync: all other records must outlive a process, not a
//! power cut.

use crate::system::{self, Open};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use tenure_core::location::FileLocation;

/// The file behind a name, read with a size limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Regular {
    /// A regular file, with its whole content.
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

    /// Creates a directory for its owner alone; it must not exist yet.
    pub fn make(path: &Path) -> io::Result<Self> {
        system::make_dir(path)?;
        Self::open(path)
    }

    /// Creates a directory, and its missing parents, for its owner alone; it may exist.
    pub fn ensure(path: &Path) -> io::Result<Self> {
        system::make_dirs(path)?;
        Self::open(path)
    }

    /// Checks that the directory belongs to its owner alone. If others may read it, it is closed to them; if others
    /// own it or may have changed it, it is refused.
    pub fn claim(&self) -> io::Result<()> {
        system::claim(&self.handle)
    }

    /// Returns the path by which the directory was opened.
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

    /// Returns the whole content of a file; `None` if there is none.
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

    /// Returns the names of all entries, sorted; an error if there are more than `most`. Names that are not UTF-8
    /// are counted and left out, because no program of ours made them.
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

    /// Returns the content of a regular file of at most so many bytes. Nothing else is opened for long: no link is
    /// followed, and no writer of a pipe is waited for.
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

    /// Appends to a file for its owner alone, and creates it if needed. A line that an earlier failure cut off
    /// stays a line of its own.
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

    /// Reserves the disk space of a small file that must be writable later, even if the disk is full by then.
    pub fn reserve(&self, name: &str, len: usize) -> io::Result<Reserved> {
        let mut file = self.create(name)?;
        file.write_all(&vec![b' '; len])?;
        Ok(Reserved { file, name: name.to_owned(), len })
    }

    /// Links a file under a second, final name; `false` if that name exists: the first one wins.
    pub fn publish(&self, name: &str, as_name: &str) -> io::Result<bool> {
        match system::link(&self.handle, name, as_name) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Renames a file, replacing any file with the new name.
    pub fn replace(&self, name: &str, as_name: &str) -> io::Result<()> {
        system::rename(&self.handle, name, as_name)
    }

    /// Removes a file; a missing file is no error.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        match system::unlink(&self.handle, name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }
}

/// Disk space reserved for one file.
#[derive(Debug)]
pub struct Reserved {
    file: File,
    name: String,
    len: usize,
}

impl Reserved {
    /// Writes the file's content into the reserved space, and beyond it if the disk has room.
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

/// Identifies a file while a process holds it open: another file at the same path has another id.
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

/// Sets the options so that a new file is its owner's alone. On systems without file modes, the directory's
/// permissions decide.
pub fn privately(options: &mut OpenOptions) -> &mut OpenOptions {
    system::privately(options)
}

/// Closes a file to all but its owner, if others may use it.
pub fn close_to_others(path: &Path) -> io::Result<()> {
    system::close_to_others(path)
}

/// Returns the same path without links and `..`, as people and programs write it.
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

/// The advice on this system for closing a file to others.
pub const CLOSING: &str = system::CLOSING;

/// Makes all new files of this process their owner's alone.
pub fn make_private() {
    system::make_private();
}

/// Returns this process's file mode creation mask, if the system has one.
pub fn umask() -> u32 {
    system::umask()
}

/// Syncs the names in a directory to the disk, on systems where programs must do so.
pub fn sync_names(dir: &Path) -> io::Result<()> {
    system::sync_names(dir)
}

/// Reads at a position, as many bytes as one call returns.
pub fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    system::read_at(file, buffer, at)
}

/// Writes at a position, as many bytes as one call takes.
pub fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<usize> {
    system::write_at(file, bytes, at)
}
