//! `tenure show`: one run's record.

use super::{find, view};
use crate::args::ShowArgs;
use crate::failure::Failure;
use crate::{print, reach, settings};

pub(crate) fn run(args: &ShowArgs) -> Result<u8, Failure> {
    let settings = settings::load_to_look()?;
    let run = reach::daemon_or_files(
        &settings,
        |client| reach::wait(client.run(&args.id)),
        || Ok(view(&find(&settings::open(&settings)?, &args.id)?).map_err(Failure::refused)?.json()),
    )?;
    if args.json {
        print::json(&run)?;
    } else {
        print::run(&run)?;
    }
    Ok(0)
}
