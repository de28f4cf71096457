//! Tests of a file's owner and kind on Unix, and of a connection's user.

use crate::file::{Dir, Regular};
use crate::socket::{Conn, Passing};
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_new_file_and_directory_are_their_owners_alone() {
    let base = tempfile::tempdir().unwrap();
    let dir = Dir::make(&base.path().join("run")).unwrap();
    dir.write_new("ticket", b"x").unwrap();
    let mode = |path: std::path::PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(dir.path().to_owned()), mode(dir.path().join("ticket"))), (0o700, 0o600));
    assert!(dir.write_new("ticket", b"y").is_err(), "it is written once");
    assert!(Dir::make(dir.path()).is_err());
}

#[test]
fn a_missing_file_is_no_error_to_read_or_remove_and_a_link_is_not_followed() {
    let base = tempfile::tempdir().unwrap();
    let dir = Dir::open(base.path()).unwrap();
    assert_eq!(dir.read("nothing").unwrap(), None);
    dir.remove("nothing").unwrap();
    std::os::unix::fs::symlink("/etc/hostname", base.path().join("link")).unwrap();
    assert!(dir.read("link").is_err());
    assert!(crate::lock::Lock::take(&dir, "link").is_err());
}

#[test]
fn a_directory_is_claimed_only_if_nobody_else_could_change_it() {
    let base = tempfile::tempdir().unwrap();
    let open = |mode: u32| {
        std::fs::set_permissions(base.path(), PermissionsExt::from_mode(mode)).unwrap();
        Dir::open(base.path()).unwrap()
    };
    let mode = || std::fs::metadata(base.path()).unwrap().permissions().mode() & 0o777;
    for shared in [0o777, 0o770, 0o702] {
        let error = open(shared).claim().unwrap_err();
        assert!(error.to_string().contains("others may write to it"), "{error}");
        assert_eq!(mode(), shared, "it is left as it is");
    }
    for readable in [0o755, 0o701, 0o700] {
        open(readable).claim().unwrap();
        assert_eq!(mode(), 0o700);
    }
}

#[test]
fn another_users_directory_is_not_claimed() {
    let base = tempfile::tempdir().unwrap();
    let stranger = if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(base.path(), Some(12345), None).unwrap();
        base.path()
    } else {
        std::path::Path::new("/")
    };
    let error = Dir::open(stranger).unwrap().claim().unwrap_err();
    assert!(error.to_string().contains("it belongs to the user"), "{error}");
}

#[test]
fn only_a_regular_file_of_a_size_is_read_and_nobody_is_waited_for() {
    let base = tempfile::tempdir().unwrap();
    let dir = Dir::open(base.path()).unwrap();
    dir.write_new("file", b"12345").unwrap();
    std::os::unix::fs::symlink("file", base.path().join("link")).unwrap();
    std::fs::create_dir(base.path().join("sub")).unwrap();
    super::shell::make_pipe(&base.path().join("pipe"));
    let _socket = std::os::unix::net::UnixListener::bind(base.path().join("socket")).unwrap();
    assert_eq!(dir.read_regular("file", 5).unwrap(), Regular::Bytes(b"12345".to_vec()));
    assert_eq!(dir.read_regular("file", 4).unwrap(), Regular::TooLarge);
    for name in ["link", "sub", "pipe", "socket"] {
        assert_eq!(dir.read_regular(name, 5).unwrap(), Regular::Other, "{name}");
    }
    assert!(dir.read_regular("none", 5).is_err());
    let names = ["file", "link", "pipe", "socket", "sub"].map(str::to_owned).to_vec();
    assert_eq!(dir.names(5).unwrap(), (names, 0));
    assert!(dir.names(4).is_err());
}

#[test]
fn a_connection_says_whose_it_is_and_is_inherited_by_nobody() {
    let (a, b) = Conn::pair().unwrap();
    let (_near, far) = Conn::pair().unwrap();
    assert_eq!(a.peer_uid().unwrap(), rustix::process::geteuid().as_raw());
    Passing::to(a, 0).send(b"x", Some(&far)).unwrap();
    let (_, passed) = Passing::from(b).receive(&mut [0; 8]).unwrap();
    let flags = rustix::io::fcntl_getfd(passed.expect("a connection")).unwrap();
    assert!(flags.contains(rustix::io::FdFlags::CLOEXEC), "it is for us alone");
}
