//! The state of a run's terminal at an offset, on disk, so that the output need not be replayed. Any process may
//! write it, and the last one wins: all are equally good. An unusable one counts as missing.

use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use tenure_core::record;
use tenure_core::spec::Size;

/// Maximum length of a checkpoint's file; a screen within bounds needs less.
const MOST_BYTES: u64 = 64 << 20;

/// The checkpoint, see the module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Checkpoint {
    /// The offset of the output that it includes.
    pub(crate) offset: u64,
    /// The terminal's size there.
    pub(crate) size: Size,
    /// The bytes that bring a new terminal of that size into this state.
    pub(crate) state: String,
}

impl Checkpoint {
    /// Reads it; `None` if there is none that is complete and of a known version.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        if fs::metadata(path).ok()?.len() > MOST_BYTES {
            return None;
        }
        record::decode(&fs::read(path).ok()?).ok()
    }

    /// Writes it in one piece. If that fails, there is one less, and the output is replayed.
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
