//! `tenure man`: the manual pages, made from the command line's own texts.

use crate::args::{self, ManArgs};
use crate::failure::Failure;

pub(crate) fn run(args: &ManArgs) -> Result<u8, Failure> {
    let failed = |error| Failure::refused(format!("{}: {error}", args.dir.display()));
    std::fs::create_dir_all(&args.dir).map_err(failed)?;
    clap_mangen::generate_to(args::definition(), &args.dir).map_err(failed)?;
    Ok(0)
}
