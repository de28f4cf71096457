//! `tenure ps`: list runs, from the daemon, or from the files if no daemon answers.

use super::runs::Runs;
use crate::args::{PsArgs, StateArg};
use crate::failure::Failure;
use crate::{print, settings};
use tenure_client::Filter;

pub(crate) fn run(args: &PsArgs) -> Result<u8, Failure> {
    let filter = Filter {
        all: args.all || args.state == Some(StateArg::Exited),
        session: args.session.clone(),
        scope: args.scope.clone(),
        ..Filter::default()
    };
    let mut runs = Runs::with(&settings::load_leniently()?, |runs| runs.list(filter.clone(), args.limit))?;
    // --state selects by the state that is printed.
    runs.retain(|run| args.state.is_none_or(|asked| asked.is(&print::state(run).0)));
    let surplus = args.limit.map_or(0, |limit| runs.len().saturating_sub(limit));
    runs.drain(..surplus);
    if args.json {
        print::json(&runs)?;
    } else {
        print::runs(&runs)?;
    }
    Ok(0)
}
