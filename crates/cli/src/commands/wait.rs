//! `tenure wait`: wait for runs to end.

use super::progress::Progress;
use super::runs::{FoundRun, Runs};
use crate::args::WaitArgs;
use crate::failure::Failure;
use crate::{print, reach, settings};
use std::time::Duration;
use tenure_os::clock;
use tenure_settings::Settings;

pub(crate) fn run(args: &WaitArgs) -> Result<u8, Failure> {
    let settings = settings::load_to_look().map_err(Failure::of_run)?;
    let patience = args.timeout.and_then(|limit| limit.0);
    let deadline = patience.map(|patience| clock::awake() + patience);
    Runs::with(&settings, |runs| wait(&settings, runs, args, deadline)).map_err(Failure::of_run)
}

/// Waits, and goes on with the next daemon if this one goes away. Where there is none, the keepers know as well.
fn wait(
    settings: &Settings,
    runs: &Runs,
    args: &WaitArgs,
    deadline: Option<Duration>,
) -> Result<u8, Failure> {
    match wait_once(runs, args, deadline) {
        Err(failure) if failure.is_lost() => match reach::daemon(settings) {
            Ok(Some(next)) => wait(settings, &Runs::Daemon(next), args, deadline),
            Ok(None) | Err(_) => wait_once(&Runs::files(settings)?, args, deadline),
        },
        waited => waited,
    }
}

fn wait_once(runs: &Runs, args: &WaitArgs, deadline: Option<Duration>) -> Result<u8, Failure> {
    let mut runs = args.ids.iter().map(|id| runs.find(id)).collect::<Result<Vec<_>, _>>()?;
    let mut progress = Progress::new();
    let mut code = 0;
    for run in &mut runs {
        match run.wait(deadline, &mut progress)? {
            Some(termination) if code == 0 => code = termination.code(),
            Some(_) => {}
            None => return Ok(124),
        }
    }
    drop(progress);
    if args.json {
        print::json(&runs.into_iter().map(FoundRun::json).collect::<Result<Vec<_>, _>>()?)?;
    }
    Ok(code)
}
