//! `tenure rm`: remove the records and output of runs; live ones are cancelled first.

use super::runs::{FoundRun, Runs};
use crate::args::RmArgs;
use crate::failure::Failure;
use crate::settings;

pub(crate) fn run(args: &RmArgs) -> Result<u8, Failure> {
    let runs = Runs::connect(&settings::load_leniently()?)?;
    runs.find_to_end(&args.ids)?.iter().try_for_each(FoundRun::remove)?;
    Ok(0)
}
