//! `tenure rm`: remove the records and output of runs that have ended.

use super::find;
use crate::args::RmArgs;
use crate::failure::Failure;
use crate::settings;

pub(crate) fn run(args: &RmArgs) -> Result<u8, Failure> {
    let state = settings::state_root()?;
    let runs = args.ids.iter().map(|id| find(&state, id)).collect::<Result<Vec<_>, _>>()?;
    for dir in runs {
        if dir.ending().map_err(Failure::refused)?.is_none() {
            return Err(Failure::refused(format!("run {} has not ended: cancel it first", dir.id())));
        }
        std::fs::remove_dir_all(dir.path())
            .map_err(|error| Failure::refused(format!("{}: {error}", dir.path().display())))?;
    }
    Ok(0)
}
