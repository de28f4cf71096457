use crate::beneath::Beneath;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

pub(crate) fn kind(base: &Path, path: &Path) -> ErrorKind {
    let found = Beneath::find(base, path);
    found.and_then(|file| file.read(10)).expect_err("it is not to be read").kind()
}

#[test]
fn what_is_below_is_read_and_written_whatever_dots_its_path_has() {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().join("base");
    fs::create_dir_all(base.join("in")).unwrap();
    fs::write(base.join("in/file"), "text").unwrap();
    for path in ["in/file", "in/../in/./file"] {
        assert_eq!(Beneath::find(&base, &base.join(path)).unwrap().read(10).unwrap(), b"text");
    }
    Beneath::find(&base, &base.join("in/file")).unwrap().write(b"other").unwrap();
    assert_eq!(fs::read(base.join("in/file")).unwrap(), b"other");
    Beneath::find(&base, &base.join("a/b/new")).unwrap().write(b"new").unwrap();
    assert_eq!(fs::read(base.join("a/b/new")).unwrap(), b"new");
    for place in ["in", "a/b"] {
        assert_eq!(fs::read_dir(base.join(place)).unwrap().count(), 1, "no draft is left in {place}");
    }
}

#[test]
fn what_is_elsewhere_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (base, outside) = (dir.path().join("base"), dir.path().join("outside"));
    fs::create_dir_all(&base).unwrap();
    fs::create_dir_all(&outside).unwrap();
    fs::write(outside.join("file"), "secret").unwrap();
    for path in ["../outside/file", "../base/../outside/file"] {
        assert_eq!(kind(&base, &base.join(path)), ErrorKind::PermissionDenied, "{path}");
    }
    assert_eq!(kind(&base, &outside.join("file")), ErrorKind::PermissionDenied);
    let written =
        Beneath::find(&base, &base.join("none/../../outside/new")).and_then(|file| file.write(b"x"));
    assert!(written.is_err());
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}

#[test]
fn only_regular_files_of_a_bearable_size_are_read_and_written() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("dir")).unwrap();
    fs::write(dir.path().join("long"), "12345678901").unwrap();
    assert_eq!(kind(dir.path(), &dir.path().join("dir")), ErrorKind::InvalidInput);
    assert_eq!(kind(dir.path(), dir.path()), ErrorKind::InvalidInput);
    assert_eq!(kind(dir.path(), &dir.path().join("long")), ErrorKind::FileTooLarge);
    assert_eq!(kind(dir.path(), &dir.path().join("none")), ErrorKind::NotFound);
    for path in ["dir", ""] {
        assert!(Beneath::find(dir.path(), &dir.path().join(path)).unwrap().write(b"x").is_err(), "{path}");
    }
}
