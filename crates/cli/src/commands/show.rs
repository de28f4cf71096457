//! `tenure show`: show a run's record.

use super::runs::Runs;
use crate::args::ShowArgs;
use crate::failure::Failure;
use crate::{print, settings};

pub(crate) fn run(args: &ShowArgs) -> Result<u8, Failure> {
    let run = Runs::with(&settings::load_leniently()?, |runs| runs.find(&args.id)?.json())?;
    if args.json {
        print::json(&run)?;
    } else {
        print::run(&run)?;
    }
    Ok(0)
}
