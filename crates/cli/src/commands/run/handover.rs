//! Starts a foreground run through the daemon: the connection of the request becomes the connection to the keeper.

use super::stdin_copy::StdinMode;
use crate::args::RunArgs;
use crate::daemon_client;
use crate::failure::Failure;
use tenure_client::{CallError, Client};
use tenure_core::api::{Problem, RunRequest};
use tenure_core::defaults::{PROBE_AFTER, PROBE_EVERY};
use tenure_core::wire::KeeperMessage;
use tenure_keeper::frames::Frames;
use tenure_keeper::launch::LaunchedRun;
use tenure_keeper::state_root::StateRoot;
use tenure_os::poll::{self, Interest};
use tenure_os::signals::Signals;

/// Error if the daemon died before it reported the run as recorded.
const DAEMON_GONE: &str = "the daemon went away and has started nothing: try again";

/// Requests a run from the daemon, and waits until it has a keeper. A termination signal meanwhile ends the run with this
/// process.
pub(super) fn launch(
    client: &Client,
    state: &StateRoot,
    args: &RunArgs,
    request: &RunRequest,
    signals: &Signals,
) -> Result<(LaunchedRun, StdinMode), Failure> {
    let mut input = StdinMode::of(args);
    let attached = daemon_client::try_call(client.start_attached(request, input == StdinMode::Passed))?;
    let (conn, rest) = attached.map_err(|failed| match failed {
        CallError::Refused(problem) => refused(problem),
        CallError::Broken(_) => Failure::tenure_failed(DAEMON_GONE),
        failed => daemon_client::to_failure(&failed),
    })?;
    let mut keeper = Frames::resume(conn, rest);
    let run_id = match first_message(client, &mut keeper, signals)? {
        KeeperMessage::Welcome { run_id, takes_stdin: true, .. } => {
            input.pass(&mut keeper)?;
            run_id
        }
        // An older daemon does not accept the descriptor.
        KeeperMessage::Welcome { run_id, takes_stdin: false, .. } => {
            input.copy_instead();
            run_id
        }
        KeeperMessage::Refused { why } => return Err(Failure::tenure_failed(why)),
        other => return Err(super::super::unexpected(&other)),
    };
    // The keeper's first message comes after the run's directory was made.
    await_frame(client, &mut keeper, signals)?;
    let dir = state.run(&run_id).map_err(|error| match keeper.next_frame::<KeeperMessage>() {
        Ok(Some((KeeperMessage::Refused { why }, _))) => Failure::tenure_failed(why),
        _ => Failure::tenure_failed(format!("run {run_id}: {error}")),
    })?;
    let ticket = dir.ticket().map_err(Failure::tenure_failed)?;
    Ok((LaunchedRun { dir, ticket, keeper }, input))
}

/// Converts the daemon's refusal of a foreground run.
pub(crate) fn refused(problem: Problem) -> Failure {
    match problem.code.as_str() {
        "too-long" => Failure::not_startable(problem.detail),
        _ => Failure::tenure_failed(problem.detail),
    }
}

fn first_message(client: &Client, keeper: &mut Frames, signals: &Signals) -> Result<KeeperMessage, Failure> {
    await_frame(client, keeper, signals)?;
    let frame = keeper.next_frame::<KeeperMessage>().map_err(Failure::tenure_failed)?;
    frame.map(|(message, _)| message).ok_or_else(|| Failure::tenure_failed(DAEMON_GONE))
}

/// Waits for a whole frame, or until the connection is closed. There is no time limit while the daemon is alive, because the
/// run may be queued.
fn await_frame(client: &Client, keeper: &mut Frames, signals: &Signals) -> Result<(), Failure> {
    let mut pause = PROBE_AFTER;
    while !keeper.has_frame() && !keeper.ended() {
        let interests = [keeper.interest(), Interest::reading(signals)];
        let ready = poll::wait(&interests, Some(pause)).map_err(Failure::tenure_failed)?;
        if !ready.iter().any(|one| one.read || one.write) {
            daemon_client::call(client.probe())?;
            pause = (pause * 2).min(PROBE_EVERY);
        }
        if ready[1].read && signals.next().is_some_and(|signal| tenure_os::signals::LEAVE.contains(&signal)) {
            // Closing the connection ends the run.
            return Err(Failure::cancelled("interrupted by a signal before the command was started"));
        }
        keeper.fill();
    }
    Ok(())
}
