//! `tenure screen`: show the screen of a run's terminal.

use super::find;
use crate::args::ScreenArgs;
use crate::failure::Failure;
use crate::{print, settings};
use tenure_core::spec::Size;
use tenure_keeper::rundir::RunDir;
use tenure_output::screen::Screen;

pub(crate) fn run(args: &ScreenArgs) -> Result<u8, Failure> {
    let state = settings::state_root()?;
    let dir = find(&state, &args.id)?;
    let size = terminal(&dir)?.ok_or_else(|| {
        let id = dir.id();
        Failure::refused(format!(
            "run {id} has no terminal: start it with --pty, or read its output with `tenure logs {id}`"
        ))
    })?;
    let view = open(&dir, size)?.view();
    if args.json {
        print::json(&serde_json::to_value(&view).map_err(Failure::refused)?)?;
        return Ok(0);
    }
    print::screen(&view.lines)?;
    Ok(0)
}

/// Returns the first size of a run's terminal; `None` if it has none.
pub(super) fn terminal(dir: &RunDir) -> Result<Option<Size>, Failure> {
    Ok(dir.ticket().map_err(Failure::refused)?.options.pty_size)
}

/// Reads a run's present screen.
pub(super) fn open(dir: &RunDir, size: Size) -> Result<Screen, Failure> {
    let mut screen = Screen::open(&dir.output(), size, &dir.screen()).map_err(Failure::refused)?;
    screen.advance().map_err(Failure::refused)?;
    Ok(screen)
}
