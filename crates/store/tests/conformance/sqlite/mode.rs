//! The permissions of the registry's files, where files have a mode.

use crate::sample::enrolled;
use crate::store::block_on;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;
use tenure_store::Registry;
use tenure_store::sqlite::Sqlite;

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn the_files_are_their_owners_alone_also_where_others_may_read_by_default() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("tenure.db");
    // Created before, with the widest mode: no umask can be laxer.
    std::fs::write(&path, "").unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o666)).unwrap();
    let registry: Arc<dyn Registry> = Arc::new(Sqlite::open(&path).unwrap());
    block_on(enrolled(&registry));
    for file in ["tenure.db", "tenure.db-wal", "tenure.db-shm"] {
        assert_eq!(mode(&directory.path().join(file)), 0o600, "{file}");
    }
    let copy = directory.path().join("copy.db");
    block_on(registry.backup(copy.clone())).unwrap();
    assert_eq!(mode(&copy), 0o600);
}
