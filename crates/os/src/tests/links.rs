//! Tests of paths with links. Windows lets few users create links.

use super::beneath::kind;
use crate::beneath::Beneath;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, symlink};

#[test]
fn what_is_below_is_read_and_written_also_through_links_that_stay_there() {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().join("base");
    fs::create_dir_all(base.join("in")).unwrap();
    fs::write(base.join("in/file"), "text").unwrap();
    symlink(base.join("in"), base.join("link")).unwrap();
    for path in ["in/file", "link/file", "in/../in/./file"] {
        assert_eq!(Beneath::find(&base, &base.join(path)).unwrap().read(10).unwrap(), b"text");
    }
    fs::set_permissions(base.join("in/file"), fs::Permissions::from_mode(0o640)).unwrap();
    Beneath::find(&base, &base.join("link/file")).unwrap().write(b"other").unwrap();
    assert_eq!(fs::read(base.join("in/file")).unwrap(), b"other");
    assert_eq!(fs::metadata(base.join("in/file")).unwrap().permissions().mode() & 0o777, 0o640);
    Beneath::find(&base, &base.join("a/b/new")).unwrap().write(b"new").unwrap();
    assert_eq!(fs::read(base.join("a/b/new")).unwrap(), b"new");
    let names: Vec<_> = fs::read_dir(base.join("a/b")).unwrap().collect();
    assert_eq!(names.len(), 1, "no draft is left");
}

#[test]
fn what_leads_out_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (base, outside) = (dir.path().join("base"), dir.path().join("outside"));
    fs::create_dir_all(&base).unwrap();
    fs::create_dir_all(&outside).unwrap();
    fs::write(outside.join("file"), "secret").unwrap();
    symlink(&outside, base.join("out")).unwrap();
    symlink(outside.join("file"), base.join("file")).unwrap();
    symlink(outside.join("none"), base.join("dangling")).unwrap();
    for path in ["out/file", "file", "../outside/file", "../base/../outside/file"] {
        assert_eq!(kind(&base, &base.join(path)), ErrorKind::PermissionDenied, "{path}");
    }
    assert_eq!(kind(&base, &outside.join("file")), ErrorKind::PermissionDenied);
    for path in ["out/new", "dangling", "none/../../outside/new"] {
        let written = Beneath::find(&base, &base.join(path)).and_then(|file| file.write(b"x"));
        assert!(written.is_err(), "{path}");
    }
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}

#[test]
fn a_pipe_is_neither_read_nor_written() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    super::shell::make_pipe(&pipe);
    assert_eq!(kind(dir.path(), &pipe), ErrorKind::InvalidInput);
    assert!(Beneath::find(dir.path(), &pipe).unwrap().write(b"x").is_err());
}
