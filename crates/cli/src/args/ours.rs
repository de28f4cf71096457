//! The words that Tenure starts itself with.

use clap::Args;
use std::path::PathBuf;
use tenure_core::ids::NurseryId;

#[derive(Debug, Args)]
pub(crate) struct NurseryArgs {
    pub(crate) id: NurseryId,
    pub(crate) state: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct KeeperArgs {
    pub(crate) nursery: NurseryId,
}

impl NurseryArgs {
    /// A nursery's heap is every keeper's: the parser would leave it in pieces.
    pub(super) fn as_tenure_writes_them() -> Option<Self> {
        let mut words = std::env::args_os().skip(1);
        if words.next()? != "nursery" {
            return None;
        }
        let (id, state) = (words.next()?.to_str()?.parse().ok()?, words.next()?.into());
        words.next().is_none().then_some(Self { id, state })
    }
}
