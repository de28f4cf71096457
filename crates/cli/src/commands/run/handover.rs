//! A foreground run through the daemon: the connection that asks for it becomes the connection to its keeper.

use super::typing::Input;
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::reach;
use tenure_client::{Client, Failed};
use tenure_core::api::{Problem, RunRequest};
use tenure_core::defaults::{PROBE_AFTER, PROBE_EVERY};
use tenure_core::wire::KeeperMessage;
use tenure_keeper::frames::Frames;
use tenure_keeper::launch::Launched;
use tenure_keeper::state_root::StateRoot;
use tenure_os::poll::{self, Interest};
use tenure_os::signals::Signals;

/// The error when the daemon died before it reported the run as recorded.
const DAEMON_GONE: &str = "the daemon is gone, and has started nothing";

/// Asks the daemon for a run and waits until it has a keeper. A signal to leave meanwhile ends it with us.
pub(super) fn launch(
    client: &Client,
    state: &StateRoot,
    args: &RunArgs,
    request: &RunRequest,
    signals: &Signals,
) -> Result<(Launched, Input), Failure> {
    let mut input = Input::of(args);
    let attached = reach::try_wait(client.start_attached(request, input == Input::Passed))?;
    let (conn, rest) = attached.map_err(|failed| match failed {
        Failed::Refused(problem) => refused(problem),
        Failed::Broken(_) => Failure::ours(DAEMON_GONE),
        failed => reach::failure(&failed),
    })?;
    let mut keeper = Frames::resume(conn, rest);
    let run_id = match first_word(client, &mut keeper, signals)? {
        KeeperMessage::Welcome { run_id, takes_stdin: true, .. } => {
            input.pass(&mut keeper)?;
            run_id
        }
        // A daemon from before the last upgrade does not take it.
        KeeperMessage::Welcome { run_id, takes_stdin: false, .. } => {
            input.copy_instead();
            run_id
        }
        KeeperMessage::Refused { why } => return Err(Failure::ours(why)),
        other => return Err(super::super::unexpected(&other)),
    };
    // The keeper's first word comes after the run's directory was made.
    await_frame(client, &mut keeper, signals)?;
    let dir = state.run(&run_id).map_err(|error| match keeper.next_frame::<KeeperMessage>() {
        Ok(Some((KeeperMessage::Refused { why }, _))) => Failure::ours(why),
        _ => Failure::ours(format!("run {run_id}: {error}")),
    })?;
    let ticket = dir.ticket().map_err(Failure::ours)?;
    Ok((Launched { dir, ticket, keeper }, input))
}

/// A refusal of a foreground run.
pub(crate) fn refused(problem: Problem) -> Failure {
    match problem.code.as_str() {
        "too-long" => Failure::not_startable(problem.detail),
        _ => Failure::ours(problem.detail),
    }
}

fn first_word(client: &Client, keeper: &mut Frames, signals: &Signals) -> Result<KeeperMessage, Failure> {
    await_frame(client, keeper, signals)?;
    let frame = keeper.next_frame::<KeeperMessage>().map_err(Failure::ours)?;
    frame.map(|(tell, _)| tell).ok_or_else(|| Failure::ours(DAEMON_GONE))
}

/// Waits for a whole frame, or until the other side is gone. While the daemon is alive there is no limit, because the
/// run may be queued.
fn await_frame(client: &Client, keeper: &mut Frames, signals: &Signals) -> Result<(), Failure> {
    let mut pause = PROBE_AFTER;
    while !keeper.has_frame() && !keeper.ended() {
        let interests = [keeper.interest(), Interest::reading(signals)];
        let ready = poll::wait(&interests, Some(pause)).map_err(Failure::ours)?;
        if !ready.iter().any(|one| one.read || one.write) {
            reach::wait(client.probe())?;
            pause = (pause * 2).min(PROBE_EVERY);
        }
        if ready[1].read && signals.next().is_some_and(|signal| tenure_os::signals::LEAVE.contains(&signal)) {
            // Our end of the connection goes with us, and the run with that.
            return Err(Failure::cancelled("asked to leave before the command was started"));
        }
        keeper.fill();
    }
    Ok(())
}
