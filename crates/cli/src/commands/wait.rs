//! `tenure wait`: wait for runs to end.

use super::progress::Progress;
use super::{FOR_EVER, dial, find, refuse_foreign};
use crate::args::WaitArgs;
use crate::failure::Failure;
use crate::{print, reach, settings};
use std::time::Duration;
use tenure_client::Client;
use tenure_core::ending::Termination;
use tenure_core::record::Ending;
use tenure_core::wire::{Ask, Tell};
use tenure_keeper::frames::Broken;
use tenure_keeper::nursery;
use tenure_keeper::rundir::RunDir;
use tenure_keeper::state_root::StateRoot;
use tenure_os::clock;
use tenure_settings::Settings;

pub(crate) fn run(args: &WaitArgs) -> Result<u8, Failure> {
    let settings = settings::load_to_look().map_err(Failure::of_run)?;
    let patience = args.timeout.and_then(|limit| limit.0);
    let deadline = patience.map(|patience| clock::awake() + patience);
    let waited = reach::daemon_or_files(
        &settings,
        |client| by_daemon(&settings, client, args, deadline),
        || by_files(&settings, args, deadline),
    );
    waited.map_err(Failure::of_run)
}

/// Asks the daemon, and the next one if that goes away meanwhile.
fn by_daemon(
    settings: &Settings,
    client: &Client,
    args: &WaitArgs,
    deadline: Option<Duration>,
) -> Result<u8, Failure> {
    let mut runs = Vec::new();
    // Each is looked for before any is waited for.
    for id in &args.ids {
        match reach::try_wait(client.run(id))? {
            Ok(run) => runs.push(run),
            Err(failed) if failed.is_lost() => return once_more(settings, args, deadline),
            Err(failed) => return Err(reach::failure(&failed)),
        }
    }
    let mut progress = Progress::new();
    for run in &mut runs {
        while run.termination.is_none() {
            progress.show(run);
            let left = deadline.map(|deadline| deadline.saturating_sub(clock::awake()));
            let slice = progress.slice(left);
            let left_ms = slice.map(|left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX));
            match reach::try_wait(client.wait(&run.run_id, left_ms))? {
                Ok(now) => *run = now,
                Err(failed) if failed.is_lost() => return once_more(settings, args, deadline),
                Err(failed) => return Err(reach::failure(&failed)),
            }
            if run.termination.is_none() && left.is_some_and(|left| left.is_zero()) {
                return Ok(124);
            }
        }
    }
    drop(progress);
    if args.json {
        print::json(&runs)?;
    }
    let codes = runs.iter().filter_map(|run| run.termination.as_ref()).map(Termination::code);
    Ok(codes.into_iter().find(|&code| code != 0).unwrap_or(0))
}

/// Asks the next daemon; where there is none, the keepers know as well.
fn once_more(settings: &Settings, args: &WaitArgs, deadline: Option<Duration>) -> Result<u8, Failure> {
    match reach::daemon(settings) {
        Ok(Some(next)) => by_daemon(settings, &next, args, deadline),
        Ok(None) | Err(_) => by_files(settings, args, deadline),
    }
}

fn by_files(settings: &Settings, args: &WaitArgs, deadline: Option<Duration>) -> Result<u8, Failure> {
    let state = settings::open(settings).map_err(Failure::of_run)?;
    let runs =
        args.ids.iter().map(|id| find(&state, id)).collect::<Result<Vec<_>, _>>().map_err(Failure::of_run)?;
    let mut codes = Vec::new();
    for dir in &runs {
        match ending_of(&state, dir, deadline).map_err(Failure::of_run)? {
            Some(ending) => codes.push(ending.termination.code()),
            None => return Ok(124),
        }
    }
    if args.json {
        let views = runs.iter().map(|dir| dir.view().map(|view| view.json())).collect::<Result<Vec<_>, _>>();
        print::json(&views.map_err(Failure::ours)?).map_err(Failure::of_run)?;
    }
    Ok(codes.into_iter().find(|&code| code != 0).unwrap_or(0))
}

/// How long after it was asked for a run may have no keeper yet.
const START_MS: u64 = 10_000;
/// How long to go on after the connection to a keeper was lost, before looking again.
const PAUSE: Duration = Duration::from_millis(20);

/// Waits for a run's ending; `None` if the deadline came first.
pub(super) fn ending_of(
    state: &StateRoot,
    dir: &RunDir,
    deadline: Option<Duration>,
) -> Result<Option<Ending>, Failure> {
    if dir.ending().map_err(Failure::refused)?.is_none() {
        refuse_foreign(dir)?;
    }
    loop {
        let kept = dir.kept().map_err(Failure::refused)?;
        if let Some(ending) = dir.ending().map_err(Failure::refused)? {
            return Ok(Some(ending));
        }
        let left = deadline.map_or(FOR_EVER, |deadline| deadline.saturating_sub(clock::awake()));
        if left.is_zero() {
            return Ok(None);
        }
        // A keeper that does not answer is not dead (I6): its ending is looked for.
        if let Some(mut keeper) = if kept { dial(dir).ok().flatten() } else { None } {
            keeper.send(&Ask::Follow, &[]);
            loop {
                let left = deadline.map_or(FOR_EVER, |deadline| deadline.saturating_sub(clock::awake()));
                match keeper.receive::<Tell>(left) {
                    Ok((Tell::Ended { ending }, _)) => return Ok(Some(*ending)),
                    Ok(_) => {}
                    Err(Broken::TimedOut(_)) => return Ok(None),
                    Err(_) => break,
                }
            }
        } else {
            if !kept && !salvaged_soon(state, dir)? {
                return Err(Failure::unknown(format!(
                    "how run {} ended is unknown: its keeper and nursery are gone",
                    dir.id()
                )));
            }
            // The keeper is gone and the ending is not there yet: the nursery will write it.
            tenure_os::poll::wait(&[], Some(left.min(PAUSE))).map_err(Failure::refused)?;
        }
    }
}

/// Whether the nursery of a run without a keeper lives: it writes the ending. A run without a note has a keeper
/// on its way, or was never given one.
pub(super) fn salvaged_soon(state: &StateRoot, dir: &RunDir) -> Result<bool, Failure> {
    let Some(note) = dir.note().map_err(Failure::refused)? else {
        let asked_at = dir.ticket().map_err(Failure::refused)?.created_at_ms;
        return Ok(clock::unix_ms().saturating_sub(asked_at) < START_MS);
    };
    let lives = nursery::lives(state.path(), &note.nursery_id).map_err(Failure::refused)?;
    // The ending comes before the nursery goes.
    Ok(lives || dir.ending().map_err(Failure::refused)?.is_some())
}
