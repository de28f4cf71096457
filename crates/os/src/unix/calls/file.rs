//! Implements `file.rs` with calls relative to an open directory.

use crate::file::{Dir, FileId};
use crate::system;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags, fchmod, fstat, linkat, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;
use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const PRIVATE_DIR: Mode = Mode::RWXU;
const PRIVATE_FILE: Mode = Mode::RUSR.union(Mode::WUSR);

pub(crate) type DirHandle = OwnedFd;

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

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

pub(crate) fn open_dir(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    openat(rustix::fs::CWD, path, flags, Mode::empty()).map_err(Into::into)
}

pub(crate) fn make_dir(path: &Path) -> io::Result<()> {
    mkdirat(rustix::fs::CWD, path, PRIVATE_DIR).map_err(Into::into)
}

pub(crate) fn make_dirs(path: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

pub(crate) fn claim(dir: &OwnedFd) -> io::Result<()> {
    let refused = |why: String| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    let is = fstat(dir)?;
    let (owner, me) = (is.st_uid, rustix::process::geteuid().as_raw());
    let mode = is.st_mode & 0o7777;
    if owner != me {
        return refused(format!("it belongs to the user {owner}, and this is the user {me}"));
    }
    if mode & 0o022 != 0 {
        return refused(format!("others may write to it (its mode is {mode:03o})"));
    }
    if mode & 0o077 != 0 {
        fchmod(dir, PRIVATE_DIR)?;
    }
    Ok(())
}

pub(crate) fn open_file(dir: &OwnedFd, name: &str, how: Open) -> io::Result<File> {
    let how = match how {
        Open::Read => OFlags::RDONLY,
        Open::New => OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL,
        Open::Append => OFlags::RDWR | OFlags::CREATE | OFlags::APPEND,
        Open::Lock => OFlags::RDWR | OFlags::CREATE,
        Open::Look => OFlags::RDWR,
    };
    let flags = how | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    openat(dir, name, flags, PRIVATE_FILE).map(File::from).map_err(Into::into)
}

/// Opens a file without blocking; `None` for a link, or a pipe that nobody reads. The caller must still check that
/// it is a regular file.
pub(crate) fn open_regular(dir: &OwnedFd, name: &str) -> io::Result<Option<File>> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    match openat(dir, name, flags, Mode::empty()) {
        Ok(fd) => Ok(Some(File::from(fd))),
        Err(Errno::LOOP | Errno::NXIO) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns the names in a directory; `None` for each that is not UTF-8.
pub(crate) fn entries(dir: &OwnedFd) -> io::Result<impl Iterator<Item = io::Result<Option<String>>>> {
    let name = |entry: rustix::io::Result<rustix::fs::DirEntry>| match entry {
        Ok(entry) => match entry.file_name().to_str() {
            Ok("." | "..") => None,
            Ok(name) => Some(Ok(Some(name.to_owned()))),
            Err(_) => Some(Ok(None)),
        },
        Err(error) => Some(Err(error.into())),
    };
    Ok(rustix::fs::Dir::read_from(dir)?.filter_map(name))
}

pub(crate) fn link(dir: &OwnedFd, name: &str, as_name: &str) -> io::Result<()> {
    linkat(dir, name, dir, as_name, AtFlags::empty()).map_err(Into::into)
}

/// Renames a file after its content is on disk: a power cut leaves the old file or the new one.
pub(crate) fn rename(dir: &OwnedFd, name: &str, as_name: &str) -> io::Result<()> {
    open_file(dir, name, Open::Read)?.sync_all()?;
    renameat(dir, name, dir, as_name).map_err(Into::into)
}

pub(crate) fn unlink(dir: &OwnedFd, name: &str) -> io::Result<()> {
    unlinkat(dir, name, AtFlags::empty()).map_err(Into::into)
}

pub(crate) fn privately(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600)
}

pub(crate) fn close_to_others(path: &Path) -> io::Result<()> {
    if std::fs::metadata(path)?.permissions().mode() & 0o077 != 0 {
        std::fs::set_permissions(path, Permissions::from_mode(0o600))?;
    }
    Ok(())
}

pub(crate) fn plain(path: PathBuf) -> PathBuf {
    path
}

pub(crate) const CLOSING: &str = "chmod 600 it";

pub(crate) fn is_private(path: &Path) -> io::Result<bool> {
    let file = std::fs::metadata(path)?;
    // A file's owner knows its content and may open it to all.
    let is_ours = file.uid() == rustix::process::geteuid().as_raw() || file.uid() == 0;
    let open_to_others = file.permissions().mode() & 0o077 != 0;
    Ok(is_ours && !open_to_others)
}

/// The umask that this process was started with, once it has another.
static USER_UMASK: OnceLock<u32> = OnceLock::new();

pub(crate) fn make_private() {
    let before = rustix::process::umask(Mode::RWXG | Mode::RWXO);
    // A second call would find our own umask.
    let _ = USER_UMASK.set(system::bits(before.as_raw_mode()));
}

/// Returns the mode of a new file for the user: these bits, as far as the user's umask leaves them. `None` if this
/// process has that umask itself.
pub(crate) fn user_mode(bits: u32) -> Option<Mode> {
    USER_UMASK.get().map(|umask| Mode::from_raw_mode(system::mode(bits & !umask)))
}

pub(crate) fn umask() -> u32 {
    // The umask can only be read by setting it; there is only one thread yet.
    let mask = rustix::process::umask(Mode::empty());
    rustix::process::umask(mask);
    system::bits(mask.as_raw_mode())
}

pub(crate) fn sync_names(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

pub(crate) fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    file.read_at(buffer, at)
}

pub(crate) fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<usize> {
    file.write_at(bytes, at)
}

pub(crate) fn file_id(path: &Path) -> io::Result<FileId> {
    id_of(&rustix::fs::stat(path)?)
}

pub(crate) fn file_id_in(dir: &OwnedFd, name: &str) -> io::Result<FileId> {
    id_of(&rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// Returns true if the directory has no link left: a removed one loses even its own.
pub(crate) fn is_deleted(dir: &OwnedFd) -> io::Result<bool> {
    Ok(rustix::fs::fstat(dir)?.st_nlink == 0)
}

/// Makes an id of device and inode. The type of a device differs between systems; its exact number does not matter.
fn id_of(found: &rustix::fs::Stat) -> io::Result<FileId> {
    let metadata = (i128::from(found.st_dev), i128::from(found.st_ino));
    let number = |n: i128| u64::try_from(n & i128::from(u64::MAX)).map_err(io::Error::other);
    Ok(FileId(number(metadata.0)?, number(metadata.1)?))
}
