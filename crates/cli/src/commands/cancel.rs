//! `tenure cancel`: end runs, their whole trees.

use super::wait::salvaged_soon;
use super::{ask, check_prefixes, dial, find_to_end, unexpected};
use crate::args::CancelArgs;
use crate::failure::Failure;
use crate::{print, reach, settings};
use tenure_client::Client;
use tenure_core::api::Selector;
use tenure_core::wire::{Ask, Tell};
use tenure_keeper::rundir::RunDir;
use tenure_keeper::state_root::StateRoot;
use tenure_os::complaint::complain;
use tenure_settings::Settings;

pub(crate) fn run(args: &CancelArgs) -> Result<u8, Failure> {
    let settings = settings::load_to_look()?;
    reach::daemon_or_files(&settings, |client| by_daemon(client, args), || by_files(&settings, args))
}

fn by_files(settings: &Settings, args: &CancelArgs) -> Result<u8, Failure> {
    if args.ids.is_empty() {
        return Err(Failure::refused("no daemon answers: without one, runs are ended by their ids"));
    }
    let state = settings::open(settings)?;
    let runs = find_to_end(&state, &args.ids)?;
    for dir in runs {
        cancel(&state, &dir, args.now)?;
    }
    Ok(0)
}

fn by_daemon(client: &Client, args: &CancelArgs) -> Result<u8, Failure> {
    let which = Selector {
        run: None,
        scope: args.scope.clone(),
        session: args.session.clone(),
        agent: args.agent.clone(),
    };
    if which != Selector::default() {
        let which_words = described(&which);
        let cancelled = reach::wait(client.cancel_many(which, args.now))?;
        if cancelled.is_empty() {
            complain(format_args!("{which_words} has no live run: nothing was cancelled"));
        }
        cancelled.iter().try_for_each(|id| print::line(id))?;
        return Ok(0);
    }
    check_prefixes(&args.ids)?;
    // Each is looked for before any is ended.
    let mut found = Vec::new();
    for id in &args.ids {
        found.push(reach::wait(client.run(id))?.run_id);
    }
    for id in found {
        reach::wait(client.cancel(&id, args.now))?;
    }
    Ok(0)
}

/// Whose runs are meant.
fn described(which: &Selector) -> String {
    let named = [("scope", &which.scope), ("session", &which.session), ("agent", &which.agent)];
    let words: Vec<String> =
        named.iter().filter_map(|(what, name)| Some(format!("{what} {:?}", name.as_ref()?))).collect();
    words.join(" of ")
}

/// Asks a run's keeper to end it. One that has ended by itself is as cancelled as it can be.
pub(super) fn cancel(state: &StateRoot, dir: &RunDir, now: bool) -> Result<(), Failure> {
    let Some(mut keeper) = dial(dir)? else {
        let ended = dir.ending().map_err(Failure::refused)?.is_some() || salvaged_soon(state, dir)?;
        let lost = || Failure::refused(format!("run {} is lost: its keeper and nursery are gone", dir.id()));
        return if ended { Ok(()) } else { Err(lost()) };
    };
    match ask(&mut keeper, &Ask::Cancel { now }, &[])? {
        // It may end before it answers.
        Tell::Done | Tell::Ended { .. } => Ok(()),
        other => Err(unexpected(&other)),
    }
}
