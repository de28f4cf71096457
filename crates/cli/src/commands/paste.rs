//! `tenure paste`: paste text into a run's terminal.

use super::{find, keyboard, screen};
use crate::args::PasteArgs;
use crate::failure::Failure;
use crate::settings;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use tenure_core::keys;

pub(crate) fn run(args: &PasteArgs) -> Result<u8, Failure> {
    let state = settings::state_root()?;
    let dir = find(&state, &args.id)?;
    let mut text = Vec::new();
    match &args.text {
        Some(given) => text.extend_from_slice(given.as_bytes()),
        None => drop(std::io::stdin().lock().read_to_end(&mut text).map_err(Failure::refused)?),
    }
    let bytes = match screen::terminal(&dir)? {
        Some(_) if args.bracket || args.no_bracket => {
            keys::paste(&String::from_utf8_lossy(&text), args.bracket)
        }
        Some(size) => {
            let bracketed = screen::open(&dir, size)?.modes().bracketed_paste;
            keys::paste(&String::from_utf8_lossy(&text), bracketed)
        }
        // A pipe takes text as it is.
        None => text,
    };
    keyboard::type_to(&dir, &bytes)?;
    Ok(0)
}
