//! `tenure ps`: the runs.

use super::view;
use crate::args::PsArgs;
use crate::failure::Failure;
use crate::{print, settings};
use tenure_core::run_json::RunView;
use tenure_core::state::State;
use tenure_keeper::rundir::Unread;
use tenure_os::complaint::complain;

pub(crate) fn run(args: &PsArgs) -> Result<u8, Failure> {
    let state = settings::state_root()?;
    let mut views = Vec::new();
    for id in state.runs().map_err(Failure::refused)? {
        let Ok(dir) = state.run(&id) else { continue };
        match view(&dir) {
            Ok(view) if args.all || view.state != State::Exited => views.push(view),
            // A directory whose ticket is not written yet, or that is being removed, is no run.
            Ok(_) | Err(Unread::Missing { .. }) => {}
            Err(error) => complain(format_args!("{error}")),
        }
    }
    views.sort_by_key(|view| view.ticket.created_at_ms);
    if args.json {
        print::json(&views.iter().map(RunView::json).collect::<Vec<_>>())?;
    } else {
        print::table(&views)?;
    }
    Ok(0)
}
