//! Opens a path below a directory, one name after the other: for systems without one call for it.

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;
use std::path::{Component, Path};

/// Opens a path below `dir`. No link is followed and no step leads up, so nothing outside is reached, whatever is
/// moved meanwhile.
pub(crate) fn open(dir: impl AsFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let below = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at = openat(&dir, ".", below, Mode::empty())?;
    let mut names = path.components().filter(|part| *part != Component::CurDir).peekable();
    while let Some(part) = names.next() {
        let Component::Normal(name) = part else { return Err(Errno::XDEV) };
        let last = names.peek().is_none();
        let flags = if last { flags | OFlags::NOFOLLOW | OFlags::CLOEXEC } else { below };
        at = openat(&at, name, flags, Mode::empty())?;
        if last {
            return Ok(at);
        }
    }
    openat(&at, ".", flags | OFlags::CLOEXEC, Mode::empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::io::Read;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_what_is_below_is_opened_and_no_link_is_followed() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().join("root");
        fs::create_dir_all(root.join("in")).unwrap();
        fs::write(root.join("in/file"), "text").unwrap();
        fs::write(base.path().join("outside"), "secret").unwrap();
        symlink(root.join("in"), root.join("link")).unwrap();
        symlink("in/file", root.join("name")).unwrap();
        let dir = File::open(&root).unwrap();
        let read = |path: &str| -> Result<String, Errno> {
            let mut text = String::new();
            let mut file = File::from(open(&dir, Path::new(path), OFlags::RDONLY)?);
            file.read_to_string(&mut text).map_err(|error| Errno::from_io_error(&error).unwrap())?;
            Ok(text)
        };
        assert_eq!(read("in/file").unwrap(), "text");
        assert_eq!(read("./in/./file").unwrap(), "text");
        for path in ["link/file", "name", "../outside", "in/../../outside", "none", "in/file/none"] {
            assert!(read(path).is_err(), "{path}");
        }
        for path in [".", "in"] {
            open(&dir, Path::new(path), OFlags::DIRECTORY | OFlags::RDONLY).unwrap();
        }
    }
}
