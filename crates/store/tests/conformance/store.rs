//! The stores that the conformance tests run against. Another registry is added as an entry in `every`.

use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;
use tenure_store::Registry;
use tenure_store::sqlite::Sqlite;

/// An empty registry, which can be opened several times, as by several daemons.
pub(crate) struct Store {
    open: Box<dyn Fn() -> Arc<dyn Registry>>,
    directory: TempDir,
}

impl Store {
    /// Opens a handle of its own, as another daemon would have.
    pub(crate) fn open(&self) -> Arc<dyn Registry> {
        (self.open)()
    }

    fn sqlite() -> Self {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("tenure.db");
        Self { open: Box::new(move || Arc::new(Sqlite::open(&path).unwrap())), directory }
    }

    /// Returns a path in the store's directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

fn every() -> Vec<Store> {
    vec![Store::sqlite()]
}

/// Runs a test on each store, empty.
#[expect(clippy::needless_pass_by_value, reason = "a test is written where it is called")]
pub(crate) fn on_every_store(test: impl AsyncFn(&Store)) {
    for store in every() {
        block_on(test(&store));
    }
}

/// Runs a future on this thread.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}
