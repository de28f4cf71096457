//! `tenure wait`: wait for runs to end.

use super::progress::Progress;
use super::runs::{FoundRun, Runs};
use crate::args::WaitArgs;
use crate::failure::Failure;
use crate::{daemon_client, print, settings};
use std::time::Duration;
use tenure_os::clock;
use tenure_settings::Settings;

pub(crate) fn run(args: &WaitArgs) -> Result<u8, Failure> {
    let settings = settings::load_leniently().map_err(Failure::with_run_code)?;
    let limit = args.timeout.and_then(|limit| limit.0);
    let deadline = limit.map(|limit| clock::awake() + limit);
    Runs::with(&settings, |runs| wait(&settings, runs, args, deadline)).map_err(Failure::with_run_code)
}

/// Waits for the runs. If the daemon goes away, continues with the next one, or with the keepers if there is none.
fn wait(
    settings: &Settings,
    runs: &Runs,
    args: &WaitArgs,
    deadline: Option<Duration>,
) -> Result<u8, Failure> {
    match wait_once(runs, args, deadline) {
        Err(failure) if failure.is_lost() => match daemon_client::connect_or_start(settings) {
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
