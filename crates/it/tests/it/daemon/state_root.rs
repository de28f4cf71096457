//! Valid state roots.

use std::os::unix::fs::{PermissionsExt, symlink};
use tenure_keeper::state_root::StateRoot;

#[test]
fn a_state_root_writable_by_others_is_refused_by_name() {
    let base = tempfile::tempdir().expect("a directory");
    let shared = base.path().join("shared");
    std::fs::create_dir(&shared).expect("a directory");
    std::fs::set_permissions(&shared, PermissionsExt::from_mode(0o777)).expect("a mode");
    let error = StateRoot::open(&shared).expect_err("it is everybody's").to_string();
    assert!(error.contains(shared.to_str().expect("UTF-8")), "{error}");
    assert!(error.contains("others may write to it") && error.contains("TENURE_STATE"), "{error}");
    assert_eq!(std::fs::read_dir(&shared).expect("a list").count(), 0, "nothing was made in it");
}

#[test]
fn a_link_to_an_own_directory_works_as_state_root() {
    let base = tempfile::tempdir().expect("a directory");
    symlink(base.path(), base.path().join("link")).expect("a link");
    StateRoot::open(&base.path().join("link")).expect("a state root");
}
