//! `tenure ps`: the runs, from the daemon, or from the files where none answers.

use super::listed;
use crate::args::{PsArgs, StateArg};
use crate::failure::Failure;
use crate::{print, reach, settings};
use tenure_client::{Client, Filter};
use tenure_core::run_json::{RunJson, RunView};
use tenure_core::state::State;
use tenure_settings::Settings;

/// How many runs are asked for at a time.
const PAGE: usize = 500;

pub(crate) fn run(args: &PsArgs) -> Result<u8, Failure> {
    let settings = settings::load_to_look()?;
    let mut runs = reach::daemon_or_files(
        &settings,
        |client| from_daemon(client, args),
        || from_files(&settings, args),
    )?;
    // What people see is what they ask for.
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

fn wants_ended(args: &PsArgs) -> bool {
    args.all || args.state == Some(StateArg::Exited)
}

/// The newest first, as many as are wanted; returned with the newest last.
fn from_daemon(client: &Client, args: &PsArgs) -> Result<Vec<RunJson>, Failure> {
    let mut filter = Filter {
        all: wants_ended(args),
        session: args.session.clone(),
        scope: args.scope.clone(),
        limit: Some(args.limit.unwrap_or(PAGE).clamp(1, PAGE)),
        ..Filter::default()
    };
    let mut runs = Vec::new();
    loop {
        let page = reach::wait(client.runs(&filter))?;
        runs.extend(page.runs);
        filter.after = page.next;
        if filter.after.is_none() || args.limit.is_some_and(|limit| runs.len() >= limit) {
            runs.reverse();
            return Ok(runs);
        }
    }
}

fn from_files(settings: &Settings, args: &PsArgs) -> Result<Vec<RunJson>, Failure> {
    let recorded = |view: &RunView| {
        let is = |asked: &Option<String>, its: &Option<String>| asked.is_none() || asked == its;
        (wants_ended(args) || view.state != State::Exited)
            && is(&args.session, &view.ticket.session_id)
            && is(&args.scope, &view.ticket.scope)
    };
    Ok(listed(&settings::open(settings)?, recorded)?.into_iter().map(|(_, view)| view.json()).collect())
}
