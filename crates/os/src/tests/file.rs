use crate::file::Dir;
use std::os::unix::fs::PermissionsExt;

#[test]
fn of_two_that_publish_the_first_wins_and_is_whole() {
    let base = tempfile::tempdir().unwrap();
    let dir = Dir::open(base.path()).unwrap();
    dir.write_new("a", b"first").unwrap();
    dir.write_new("b", b"second").unwrap();
    assert!(dir.publish("a", "ending").unwrap());
    assert!(!dir.publish("b", "ending").unwrap());
    dir.remove("a").unwrap();
    assert_eq!(dir.read("ending").unwrap().as_deref(), Some(&b"first"[..]));
}

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
fn reserved_space_is_cut_to_what_is_written() {
    let base = tempfile::tempdir().unwrap();
    let dir = Dir::open(base.path()).unwrap();
    let space = dir.reserve("draft", 4096).unwrap();
    assert_eq!(dir.read("draft").unwrap().unwrap().len(), 4096);
    assert_eq!(space.fill(b"short").unwrap(), "draft");
    assert_eq!(dir.read("draft").unwrap().unwrap(), b"short");
    let long = vec![1; 10_000];
    dir.reserve("long", 4096).unwrap().fill(&long).unwrap();
    assert_eq!(dir.read("long").unwrap().unwrap(), long);
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
