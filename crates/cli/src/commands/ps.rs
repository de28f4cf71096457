//! `tenure ps`: the runs.

use super::listed;
use crate::args::{PsArgs, StateArg};
use crate::failure::Failure;
use crate::{print, settings};
use tenure_core::run_json::RunView;
use tenure_core::state::State;

pub(crate) fn run(args: &PsArgs) -> Result<u8, Failure> {
    let state = settings::state_root()?;
    let all = args.all || args.state == Some(StateArg::Exited);
    let recorded = |view: &RunView| {
        let is = |asked: &Option<String>, its: &Option<String>| asked.is_none() || asked == its;
        (all || view.state != State::Exited)
            && is(&args.session, &view.ticket.session_id)
            && is(&args.scope, &view.ticket.scope)
    };
    let mut views: Vec<RunView> = listed(&state, recorded)?.into_iter().map(|(_, view)| view).collect();
    // What people see is what they ask for.
    views.retain(|view| args.state.is_none_or(|asked| asked.is(&print::state(view).0)));
    let surplus = args.limit.map_or(0, |limit| views.len().saturating_sub(limit));
    views.drain(..surplus);
    if args.json {
        print::json(&views.iter().map(RunView::json).collect::<Vec<_>>())?;
    } else {
        print::runs(&views)?;
    }
    Ok(0)
}
