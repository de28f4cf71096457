//! `tenure show`: one run's record.

use super::{find, view};
use crate::args::ShowArgs;
use crate::failure::Failure;
use crate::{print, settings};

pub(crate) fn run(args: &ShowArgs) -> Result<u8, Failure> {
    let state = settings::state_root()?;
    let view = view(&find(&state, &args.id)?).map_err(Failure::refused)?;
    if args.json {
        print::json(&view.json())?;
    } else {
        print::run(&view)?;
    }
    Ok(0)
}
