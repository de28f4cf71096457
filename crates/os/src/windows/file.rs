//! Implements `file.rs` with absolute paths, and with access lists that name this user and the system alone.

use super::private::{self, Descriptor};
use super::{check, wide};
use crate::file::FileId;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use windows_sys::Win32::Storage::FileSystem::{CreateDirectoryW, FILE_FLAG_OPEN_REPARSE_POINT};

/// A directory's absolute path: Windows opens nothing relative to a directory.
pub(crate) type DirHandle = PathBuf;

/// The purpose of opening a file. No link is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Open {
    Read,
    /// Creates the file, which must not exist yet.
    New,
    /// Appends; the file is created if it is missing.
    Append,
    /// Locks; the file is created if it is missing.
    Lock,
    /// Looks at the lock.
    Look,
}

pub(crate) fn open_dir(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    if std::fs::metadata(&path)?.is_dir() { Ok(path) } else { Err(io::ErrorKind::NotADirectory.into()) }
}

/// Creates a private directory; files created in it later are as private.
pub(crate) fn make_dir(path: &Path) -> io::Result<()> {
    let name = wide(std::path::absolute(path)?);
    let alone = Descriptor::of_this_user()?;
    let attributes = alone.attributes();
    // SAFETY: the name ends in a zero, and the descriptor outlives the call.
    check(unsafe { CreateDirectoryW(name.as_ptr(), &raw const attributes) })
}

pub(crate) fn make_dirs(path: &Path) -> io::Result<()> {
    let is_there = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists if path.is_dir() => Ok(()),
        _ => Err(error),
    };
    match make_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            path.parent().map_or(Ok(()), make_dirs)?;
            make_dir(path).or_else(is_there)
        }
        other => other.or_else(is_there),
    }
}

pub(crate) fn claim(dir: &Path) -> io::Result<()> {
    private::claim(dir)
}

pub(crate) fn open_file(dir: &Path, name: &str, how: Open) -> io::Result<File> {
    let mut options = OpenOptions::new();
    match how {
        Open::Read => options.read(true),
        Open::New => options.write(true).create_new(true),
        Open::Append => options.read(true).append(true).create(true),
        Open::Lock => options.read(true).write(true).create(true).truncate(false),
        Open::Look => options.read(true).write(true),
    };
    // This opens a link itself, which is then refused.
    let file = options.custom_flags(FILE_FLAG_OPEN_REPARSE_POINT).open(dir.join(name))?;
    if file.metadata()?.is_symlink() {
        return Err(io::Error::other(format!("{name} is a link")));
    }
    Ok(file)
}

/// Opens a regular file; `None` for a link or a directory.
pub(crate) fn open_regular(dir: &Path, name: &str) -> io::Result<Option<File>> {
    let is = std::fs::symlink_metadata(dir.join(name))?;
    if is.is_file() { open_file(dir, name, Open::Read).map(Some) } else { Ok(None) }
}

/// Returns the names in a directory; `None` for each that is not valid text.
pub(crate) fn entries(dir: &Path) -> io::Result<impl Iterator<Item = io::Result<Option<String>>>> {
    Ok(std::fs::read_dir(dir)?.map(|entry| Ok(entry?.file_name().into_string().ok())))
}

pub(crate) fn link(dir: &Path, name: &str, as_name: &str) -> io::Result<()> {
    std::fs::hard_link(dir.join(name), dir.join(as_name))
}

/// Returns `None`: no path follows an open directory here, and a directory with open files is not moved.
pub(crate) fn lasting_path(_: &Path) -> Option<PathBuf> {
    None
}

/// Returns true if the directory is missing at its path: one with open files is not moved here, so it was deleted.
pub(crate) fn is_deleted(dir: &Path) -> io::Result<bool> {
    match std::fs::metadata(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        found => found.map(|_| false),
    }
}

pub(crate) fn rename(dir: &Path, name: &str, as_name: &str) -> io::Result<()> {
    std::fs::rename(dir.join(name), dir.join(as_name))
}

pub(crate) fn unlink(dir: &Path, name: &str) -> io::Result<()> {
    std::fs::remove_file(dir.join(name))
}

/// Returns the options unchanged: a file in a private directory is private.
pub(crate) fn privately(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

pub(crate) fn close_to_others(path: &Path) -> io::Result<()> {
    std::fs::metadata(path).map(drop)
}

/// Removes the prefix with which the system takes a path literally, because many programs do not accept it. A path
/// that would become another one, or too long, keeps the prefix.
pub(crate) fn plain(path: PathBuf) -> PathBuf {
    const LONGEST: usize = 248;
    let Some(text) = path.to_str() else { return path };
    let short = match (text.strip_prefix(r"\\?\UNC\"), text.strip_prefix(r"\\?\")) {
        (Some(share), _) => PathBuf::from(format!(r"\\{share}")),
        (None, Some(local)) => PathBuf::from(local),
        (None, None) => return path,
    };
    let same = std::path::absolute(&short).is_ok_and(|whole| whole == short);
    if same && text.len() < LONGEST { short } else { path }
}

pub(crate) const CLOSING: &str = "icacls it with /inheritance:r and /grant:r for yourself alone";

pub(crate) fn is_private(path: &Path) -> io::Result<bool> {
    private::is_private(path)
}

/// Does nothing: a file in a private directory is private; there is no mask.
pub(crate) fn make_private() {}

pub(crate) fn umask() -> u32 {
    0
}

/// Checks that the directory exists. The file system's journal keeps names, and a directory cannot even be opened
/// for syncing.
pub(crate) fn sync_names(dir: &Path) -> io::Result<()> {
    std::fs::metadata(dir).map(drop)
}

pub(crate) fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    file.seek_read(buffer, at)
}

pub(crate) fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<usize> {
    file.seek_write(bytes, at)
}

/// Identifies a file by its creation time: an open file cannot be replaced here, so only its removal has to be seen.
pub(crate) fn file_id(path: &Path) -> io::Result<FileId> {
    Ok(FileId(0, std::fs::metadata(path)?.creation_time()))
}

pub(crate) fn file_id_in(dir: &Path, name: &str) -> io::Result<FileId> {
    file_id(&dir.join(name))
}
