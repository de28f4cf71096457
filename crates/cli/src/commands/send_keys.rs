//! `tenure send-keys`: type keys to a run, by name.

use super::{find, keyboard, screen};
use crate::args::{SendKeysArgs, Word};
use crate::failure::Failure;
use crate::settings;
use tenure_core::keys::{Key, Modes, What, encode};

pub(crate) fn run(args: &SendKeysArgs) -> Result<u8, Failure> {
    let state = settings::state_root()?;
    let dir = find(&state, &args.id)?;
    let Some(size) = screen::terminal(&dir)? else {
        let id = dir.id();
        return Err(Failure::refused(format!(
            "run {id} has no terminal: `tenure write {id}` writes to its input"
        )));
    };
    // Only these depend on what the program asked for, and a long output takes a moment to read.
    let depends = |word: &Word| matches!(word, Word::Key(Key { what: What::Cursor(_), .. }));
    let mut modes = Modes::default();
    if args.words.iter().any(depends) {
        modes.application_cursor = screen::open(&dir, size)?.modes().application_cursor;
    }
    let typed = |word: &Word| match word {
        Word::Key(key) => encode(key, modes),
        Word::Bytes(bytes) => bytes.clone(),
    };
    let bytes: Vec<u8> = args.words.iter().flat_map(typed).collect();
    keyboard::type_to(&dir, &bytes)?;
    Ok(0)
}
