//! What `file.rs` promises, kept with calls that are relative to an open directory.

use crate::file::Dir;
use crate::system;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags, fchmod, fstat, linkat, mkdirat, openat, unlinkat};
use rustix::io::Errno;
use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

const PRIVATE_DIR: Mode = Mode::RWXU;
const PRIVATE_FILE: Mode = Mode::RUSR.union(Mode::WUSR);

pub(crate) type DirHandle = OwnedFd;

/// What a file is opened for. No link is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Open {
    Read,
    /// It must not exist yet.
    New,
    /// It is made if it is not there.
    Append,
    /// To be locked, and made if it is not there.
    Lock,
    /// To look at its lock.
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

/// Without waiting for anybody; `None` is a link or a pipe's end, but not everything that is no regular file.
pub(crate) fn open_regular(dir: &OwnedFd, name: &str) -> io::Result<Option<File>> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    match openat(dir, name, flags, Mode::empty()) {
        Ok(fd) => Ok(Some(File::from(fd))),
        Err(Errno::LOOP | Errno::NXIO) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The names in a directory; `None` for each that is not text.
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
    let open_to_others = std::fs::metadata(path)?.permissions().mode() & 0o077 != 0;
    Ok(!open_to_others)
}

pub(crate) fn make_private() {
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
}

pub(crate) fn umask() -> u32 {
    // It can only be read by setting it; there is one thread yet.
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
