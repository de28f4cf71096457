//! The command lines that Tenure starts its own processes with.

use clap::Args;
use std::path::PathBuf;
use tenure_core::ids::NurseryId;

#[derive(Debug, Args)]
pub(crate) struct NurseryArgs {
    /// Id of the nursery.
    pub(crate) id: NurseryId,
    /// State root.
    pub(crate) state: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct KeeperArgs {
    /// Id of the nursery.
    pub(crate) nursery: NurseryId,
}

impl NurseryArgs {
    /// Reads this process's command line without the parser. Keepers inherit the nursery's heap, which the parser would
    /// fragment.
    pub(super) fn read_without_parser() -> Option<Self> {
        let mut words = std::env::args_os().skip(1);
        if words.next()? != "nursery" {
            return None;
        }
        let (id, state) = (words.next()?.to_str()?.parse().ok()?, words.next()?.into());
        words.next().is_none().then_some(Self { id, state })
    }
}
