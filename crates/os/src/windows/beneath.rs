//! A file below a directory, whatever links and dots its path has: a path that leads outside is not found, even if
//! another process changes a link at that moment. Every opened file is checked for its true place.

use super::{check, wide};
use crate::paths;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::windows::ffi::OsStringExt;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::AsRawHandle;
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT, FILE_SHARE_READ, FILE_SHARE_WRITE,
    GetFinalPathNameByHandleW, REPLACEFILE_IGNORE_MERGE_ERRORS, ReplaceFileW,
};

/// A name below a directory; it need not exist yet.
#[derive(Debug)]
pub struct Beneath {
    /// The root, as the system spells it.
    root: PathBuf,
    /// The path below the root, without links and dots as far as it exists.
    path: PathBuf,
}

impl Beneath {
    /// Resolves an absolute path, which must be below this directory.
    pub fn find(root: &Path, path: &Path) -> io::Result<Self> {
        let root = root.canonicalize()?;
        let (exists, rest) = paths::split_existing(path)?;
        let Ok(within) = exists.strip_prefix(&root) else { return Err(outside(&root)) };
        let path: PathBuf = within.components().chain(rest.components()).collect();
        // The part after a colon names a second stream of the same file.
        if path.as_os_str().as_encoded_bytes().contains(&b':') {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a file's name has no colon"));
        }
        Ok(Self { root, path })
    }

    /// Reads a regular file of at most this length.
    pub fn read(&self, most: u64) -> io::Result<Vec<u8>> {
        let file = self.open(OpenOptions::new().read(true))?;
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

    /// Writes a regular file, and creates the directories above it. An existing file keeps its access list, and is
    /// complete at every moment.
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let is_there = match self.open(OpenOptions::new().write(true)) {
            Ok(_) => true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(error),
        };
        let name = self.path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::IsADirectory))?;
        // While this is open, neither the directory nor those above it can be moved, and a directory with entries
        // is no link.
        let (_pinned, parent) = self.make_parent()?;
        let (draft, target) = (parent.join(paths::draft_name(name)?), parent.join(name));
        let file = OpenOptions::new().write(true).create_new(true).open(&draft)?;
        let written = self.fill(file, bytes).and_then(|()| {
            if is_there { replace(&target, &draft) } else { std::fs::rename(&draft, &target) }
        });
        if written.is_err() {
            // An incomplete draft is useless; if it cannot be removed, that is ignored.
            let _ = std::fs::remove_file(&draft);
        }
        written
    }

    /// Writes a new draft, if it was created below the root.
    fn fill(&self, mut draft: File, bytes: &[u8]) -> io::Result<()> {
        self.check_place(&draft)?;
        draft.write_all(bytes)
    }

    /// Opens the file itself: no link is followed in the last step.
    fn open(&self, options: &mut OpenOptions) -> io::Result<File> {
        let options = options.custom_flags(FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_BACKUP_SEMANTICS);
        let opened = options.open(self.whole());
        let file = match opened {
            // A directory cannot be opened for writing.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && self.whole().is_dir() => {
                return Err(irregular());
            }
            other => other?,
        };
        self.check_place(&file)?;
        if file.metadata()?.is_file() { Ok(file) } else { Err(irregular()) }
    }

    fn whole(&self) -> PathBuf {
        if self.path.as_os_str().is_empty() { self.root.clone() } else { self.root.join(&self.path) }
    }

    /// Opens the parent directory and holds it; creates it if it is missing.
    fn make_parent(&self) -> io::Result<(File, PathBuf)> {
        let mut path = self.root.clone();
        let mut dir = self.pin(&path)?;
        for part in self.path.parent().into_iter().flat_map(Path::components) {
            path.push(part);
            match std::fs::create_dir(&path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            dir = self.pin(&path)?;
        }
        Ok((dir, path))
    }

    /// Opens a directory so that it cannot be moved.
    fn pin(&self, path: &Path) -> io::Result<File> {
        let dir = OpenOptions::new()
            .read(true)
            .share_mode(FILE_SHARE_READ | FILE_SHARE_WRITE)
            .custom_flags(FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_BACKUP_SEMANTICS)
            .open(path)?;
        self.check_place(&dir)?;
        if dir.metadata()?.is_dir() { Ok(dir) } else { Err(io::ErrorKind::NotADirectory.into()) }
    }

    fn check_place(&self, file: &File) -> io::Result<()> {
        if place_of(file)?.starts_with(&self.root) { Ok(()) } else { Err(outside(&self.root)) }
    }
}

fn outside(root: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, format!("it is not below {}", root.display()))
}

fn irregular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file")
}

/// Returns the true path of an open file, as the system spells it.
fn place_of(file: &File) -> io::Result<PathBuf> {
    let mut path = vec![0_u16; 32_768];
    let room = u32::try_from(path.len()).map_err(io::Error::other)?;
    // SAFETY: the path is ours, of the length that is given, and written by the call.
    let len = unsafe { GetFinalPathNameByHandleW(file.as_raw_handle(), path.as_mut_ptr(), room, 0) };
    match path.get(..len as usize) {
        Some([]) | None => Err(io::Error::last_os_error()),
        Some(path) => Ok(OsString::from_wide(path).into()),
    }
}

/// Replaces a file with a draft, keeping its access list and attributes.
fn replace(target: &Path, draft: &Path) -> io::Result<()> {
    let (target, draft) = (wide(target), wide(draft));
    // SAFETY: both names end in a zero; no backup is kept.
    check(unsafe {
        ReplaceFileW(
            target.as_ptr(),
            draft.as_ptr(),
            null(),
            REPLACEFILE_IGNORE_MERGE_ERRORS,
            null_mut(),
            null_mut(),
        )
    })
}
