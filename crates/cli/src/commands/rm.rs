//! `tenure rm`: remove the records and output of runs; live ones are cancelled first.

use super::cancel::cancel;
use super::wait::{ending_of, salvaged_soon};
use super::{check_prefixes, find_to_end, refuse_foreign};
use crate::args::RmArgs;
use crate::failure::Failure;
use crate::{reach, settings};

pub(crate) fn run(args: &RmArgs) -> Result<u8, Failure> {
    let settings = settings::load_to_look()?;
    if let Some(client) = reach::daemon(&settings)? {
        check_prefixes(&args.ids)?;
        let mut found = Vec::new();
        for id in &args.ids {
            found.push(reach::wait(client.run(id))?.run_id);
        }
        for id in found {
            reach::wait(client.remove(&id))?;
        }
        return Ok(0);
    }
    let state = settings::open(&settings)?;
    let runs = find_to_end(&state, &args.ids)?;
    for dir in runs {
        let view = dir.view().map_err(Failure::refused)?;
        // One that is about to get a keeper, or an ending, is waited for; a lost one is nobody's.
        if view.ending.is_none() {
            refuse_foreign(&dir)?;
        }
        if view.ending.is_none() && (view.kept || salvaged_soon(&state, &dir)?) {
            cancel(&state, &dir, false)?;
            ending_of(&state, &dir, None)?;
        }
        std::fs::remove_dir_all(dir.path())
            .map_err(|error| Failure::refused(format!("{}: {error}", dir.path().display())))?;
    }
    Ok(0)
}
