//! `tenure submit`: press Enter in a run's terminal.

use super::{find, keyboard, screen};
use crate::args::SubmitArgs;
use crate::failure::Failure;
use crate::settings;

pub(crate) fn run(args: &SubmitArgs) -> Result<u8, Failure> {
    let state = settings::state_root()?;
    let dir = find(&state, &args.id)?;
    let enter = if screen::terminal(&dir)?.is_some() { b"\r" } else { b"\n" };
    keyboard::type_to(&dir, enter)?;
    Ok(0)
}
