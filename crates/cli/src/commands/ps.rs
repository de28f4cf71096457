//! `tenure ps`: the runs.

use crate::args::PsArgs;
use crate::failure::Failure;
use crate::{print, settings};
use tenure_core::state::State;

pub(crate) fn run(args: &PsArgs) -> Result<u8, Failure> {
    let state = settings::state_root()?;
    let mut views = Vec::new();
    for id in state.runs().map_err(Failure::refused)? {
        // A directory whose ticket is not written yet, or that is being removed, is no run.
        let Ok(view) =
            state.run(&id).map_err(Failure::refused).and_then(|dir| dir.view().map_err(Failure::refused))
        else {
            continue;
        };
        if args.all || view.state != State::Exited {
            views.push(view);
        }
    }
    views.sort_by_key(|view| view.ticket.created_at_ms);
    if args.json {
        print::json(&views.iter().map(tenure_core::run_json::RunView::json).collect());
    } else {
        print::table(&views);
    }
    Ok(0)
}
