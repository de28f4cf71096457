//! What was made of a run's output up to an offset, on disk, so that nobody has to replay it. Any process may write
//! it, and the last one stands: each is as good as another. One that cannot be used is as good as none.

use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use tenure_core::record;
use tenure_core::spec::Size;

/// No checkpoint of a screen within bounds is as long.
const MOST_BYTES: u64 = 64 << 20;

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Checkpoint {
    /// How far the output is in it.
    pub(crate) offset: u64,
    /// The terminal's size there.
    pub(crate) size: Size,
    /// What brings a new terminal of that size into its state.
    pub(crate) state: String,
}

impl Checkpoint {
    /// Reads it; `None` if there is none that is whole and of a version that is understood.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        if fs::metadata(path).ok()?.len() > MOST_BYTES {
            return None;
        }
        record::decode(&fs::read(path).ok()?).ok()
    }

    /// Writes it in one piece. Where that fails, there is one less, and the output is replayed.
    pub(crate) fn write(&self, path: &Path) {
        static DRAFTS: AtomicU64 = AtomicU64::new(0);
        let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
        let draft = path.with_extension(format!("{}-{number}", std::process::id()));
        let written = put(&draft, &record::encode(self)).and_then(|()| fs::rename(&draft, path));
        if written.is_err() {
            // The run may have been removed meanwhile.
            let _ = fs::remove_file(&draft);
        }
    }
}

fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::write(path, bytes)
}
