//! `tenure paste`: paste text into a run's terminal.

use super::{find, keyboard, screen};
use crate::args::PasteArgs;
use crate::failure::Failure;
use crate::settings;
use std::io::Read;
use tenure_core::keys;
use tenure_os::text;

pub(crate) fn run(args: &PasteArgs) -> Result<u8, Failure> {
    let state = settings::state_root()?;
    let dir = find(&state, &args.id)?;
    let mut input = Vec::new();
    match &args.text {
        Some(text) => input = text::bytes(text),
        None => drop(std::io::stdin().lock().read_to_end(&mut input).map_err(Failure::refused)?),
    }
    let bytes = match screen::terminal(&dir)? {
        Some(_) if args.bracket || args.no_bracket => {
            keys::paste(&String::from_utf8_lossy(&input), args.bracket)
        }
        Some(size) => {
            let bracketed = screen::open(&dir, size)?.modes().bracketed_paste;
            keys::paste(&String::from_utf8_lossy(&input), bracketed)
        }
        // A pipe gets the text unchanged.
        None => input,
    };
    keyboard::type_to(&dir, &bytes)?;
    Ok(0)
}
