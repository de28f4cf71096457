//! `tenure cancel`: end runs with their whole process trees.

use super::runs::Runs;
use crate::args::CancelArgs;
use crate::failure::Failure;
use crate::{print, settings};
use tenure_core::api::Selector;
use tenure_os::stderr::complain;

pub(crate) fn run(args: &CancelArgs) -> Result<u8, Failure> {
    Runs::with(&settings::load_leniently()?, |runs| cancel(runs, args))
}

fn cancel(runs: &Runs, args: &CancelArgs) -> Result<u8, Failure> {
    let which = Selector {
        run: None,
        scope: args.scope.clone(),
        session: args.session.clone(),
        agent: args.agent.clone(),
    };
    if which != Selector::default() {
        let selected = described(&which);
        let cancelled = runs.cancel_many(which, args.now)?;
        if cancelled.is_empty() {
            complain(format_args!("{selected} has no live run: nothing was cancelled"));
        }
        cancelled.iter().try_for_each(|id| print::line(id))?;
        return Ok(0);
    }
    runs.find_to_end(&args.ids)?.iter().try_for_each(|run| run.cancel(args.now))?;
    Ok(0)
}

/// Names the scope, session and agent of a selector.
fn described(which: &Selector) -> String {
    let named = [("scope", &which.scope), ("session", &which.session), ("agent", &which.agent)];
    let words: Vec<String> =
        named.iter().filter_map(|(what, name)| Some(format!("{what} {:?}", name.as_ref()?))).collect();
    words.join(" of ")
}
