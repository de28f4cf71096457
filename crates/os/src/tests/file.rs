use crate::file::{Dir, Regular};

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
fn what_is_not_there_is_no_error_to_read_or_remove_and_is_written_once() {
    let base = tempfile::tempdir().unwrap();
    let dir = Dir::make(&base.path().join("run")).unwrap();
    assert!(Dir::make(dir.path()).is_err(), "it is there");
    assert_eq!(dir.read("ticket").unwrap(), None);
    dir.remove("ticket").unwrap();
    dir.write_new("ticket", b"x").unwrap();
    assert!(dir.write_new("ticket", b"y").is_err(), "it is written once");
    assert_eq!(dir.read("ticket").unwrap().as_deref(), Some(&b"x"[..]));
    assert!(Dir::open(&base.path().join("none")).is_err());
    assert!(Dir::open(&dir.path().join("ticket")).is_err(), "a file is no directory");
}

#[test]
fn a_directory_of_ours_can_be_made_at_any_depth_claimed_and_used() {
    let base = tempfile::tempdir().unwrap();
    let path = base.path().join("a/b/c");
    let dir = Dir::ensure(&path).unwrap();
    Dir::ensure(&path).unwrap().claim().unwrap();
    dir.write_new("file", b"12345").unwrap();
    Dir::make(&path.join("sub")).unwrap();
    assert_eq!(dir.names(2).unwrap(), (vec!["file".to_owned(), "sub".to_owned()], 0));
    assert!(dir.names(1).is_err());
    assert_eq!(dir.read_regular("file", 5).unwrap(), Regular::Bytes(b"12345".to_vec()));
    assert_eq!(dir.read_regular("file", 4).unwrap(), Regular::TooLarge);
    assert_eq!(dir.read_regular("sub", 4).unwrap(), Regular::Other);
    assert!(dir.read_regular("none", 5).is_err());
}

#[test]
fn what_is_added_to_a_file_begins_a_line() {
    let base = tempfile::tempdir().unwrap();
    let dir = Dir::open(base.path()).unwrap();
    for piece in [&b"one\n"[..], b"cut", b"two\n"] {
        dir.append("log", piece).unwrap();
    }
    assert_eq!(dir.read("log").unwrap().unwrap(), b"one\ncut\ntwo\n");
}

#[test]
fn a_directory_of_the_tests_lies_on_no_network() {
    let base = tempfile::tempdir().unwrap();
    assert_eq!(crate::filesystem::remote(base.path()).unwrap(), None);
    assert!(crate::filesystem::remote(&base.path().join("none")).is_err());
}

#[test]
fn a_deleted_directory_is_told_from_one_that_is_there() {
    let parent = tempfile::tempdir().expect("a directory");
    let path = parent.path().join("it");
    let dir = Dir::make(&path).expect("made");
    assert!(!dir.is_deleted().expect("readable"));
    // Other systems do not move a directory with open files.
    #[cfg(unix)]
    {
        let moved = parent.path().join("moved");
        std::fs::rename(&path, &moved).expect("moved");
        assert!(!dir.is_deleted().expect("readable"), "moved is not deleted");
        std::fs::rename(&moved, &path).expect("moved back");
    }
    std::fs::remove_dir(&path).expect("removed");
    assert!(dir.is_deleted().expect("readable"));
    // Another directory at the same path is not the same.
    #[cfg(unix)]
    {
        std::fs::create_dir(&path).expect("made");
        assert!(dir.is_deleted().expect("readable"));
    }
}
