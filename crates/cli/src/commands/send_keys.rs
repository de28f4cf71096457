//! `tenure send-keys`: type keys to a run, by name.

use super::{find, keyboard, screen};
use crate::args::{SendKeysArgs, Word};
use crate::failure::Failure;
use crate::settings;
use tenure_core::keys::{Modes, encode};

pub(crate) fn run(args: &SendKeysArgs) -> Result<u8, Failure> {
    let state = settings::state_root()?;
    let dir = find(&state, &args.id)?;
    let Some(size) = screen::terminal(&dir)? else {
        let id = dir.id();
        return Err(Failure::refused(format!(
            "run {id} has no terminal: `tenure write {id}` writes to its stdin"
        )));
    };
    // Only the codes of named keys depend on the terminal's modes. Reading the modes from a long output takes a moment.
    let depends = |word: &Word| matches!(word, Word::Key { .. });
    let mut modes = Modes::default();
    if args.words.iter().any(depends) {
        let requested = screen::open(&dir, size)?.modes();
        modes.application_cursor = requested.application_cursor;
        modes.application_keypad = requested.application_keypad;
    }
    let typed = |word: &Word| match word {
        Word::Key { key, .. } => encode(key, modes),
        Word::Literal(text) => text.clone().into_bytes(),
        Word::Hex { bytes, .. } => bytes.clone(),
    };
    let bytes: Vec<u8> = args.words.iter().flat_map(typed).collect();
    keyboard::type_to(&dir, &bytes)?;
    Ok(0)
}
