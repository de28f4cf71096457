//! The verbs, a file for each, and the functions that several of them share.

pub(crate) mod acp;
pub(crate) mod agents;
pub(crate) mod allowlist;
pub(crate) mod approvals;
pub(crate) mod attach;
pub(crate) mod backup;
pub(crate) mod cancel;
pub(crate) mod completions;
pub(crate) mod daemon;
pub(crate) mod doctor;
pub(crate) mod events;
pub(crate) mod exec;
mod json_in;
pub(crate) mod keeper;
mod keyboard;
pub(crate) mod logs;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod metrics;
pub(crate) mod nursery;
mod page;
pub(crate) mod paste;
mod printer;
pub(crate) mod process;
mod progress;
pub(crate) mod ps;
pub(crate) mod reap;
pub(crate) mod resize;
pub(crate) mod rm;
pub(crate) mod run;
mod runs;
pub(crate) mod screen;
pub(crate) mod send_keys;
pub(crate) mod sessions;
mod sessions_import;
pub(crate) mod show;
pub(crate) mod submit;
pub(crate) mod tasks;
pub(crate) mod tree;
pub(crate) mod wait;
pub(crate) mod why;
pub(crate) mod write;

use crate::daemon_client;
use crate::failure::Failure;
use std::path::Path;
use std::time::Duration;
use tenure_client::Client;
use tenure_core::ids::find_by_prefix;
use tenure_core::run_json::RunView;
use tenure_core::state::State;
use tenure_core::wire::{KeeperMessage, KeeperRequest, Role};
use tenure_keeper::frames::{ConnectionError, Frames};
use tenure_keeper::rundir::{RecordError, RunDir};
use tenure_keeper::state_root::{self, StateRoot};
use tenure_os::stderr::complain;

/// Time limit for a keeper's reply. A keeper does nothing that takes long, so this allows for a machine that swaps.
const KEEPER_REPLY_LIMIT: Duration = Duration::from_secs(10);
/// Time limit that never passes, but is short enough to add to the time.
const NO_LIMIT: Duration = Duration::from_hours(24 * 365);

/// Finds a run by its id or a unique prefix of it.
pub(crate) fn find(state: &StateRoot, text: &str) -> Result<RunDir, Failure> {
    let runs = state.runs().map_err(Failure::refused)?;
    match find_by_prefix(text, "runs", &runs, |id| id.as_str()).map_err(Failure::refused)? {
        Some(id) => state.run(id).map_err(Failure::refused),
        None if text.is_empty() => Err(Failure::no_such_run(text)),
        None => find_elsewhere(state, text),
    }
}

/// Finds a run that another instance started in its own state root, if the daemon knows it.
fn find_elsewhere(state: &StateRoot, text: &str) -> Result<RunDir, Failure> {
    let client = Client::new(state.path());
    if client.connect().is_err() {
        return Err(Failure::no_such_run(text));
    }
    let run = daemon_client::call(client.run(text))?;
    if run.foreign {
        return Err(Failure::refused(format!("{}: its files are not here", foreign(&run.run_id))));
    }
    RunDir::open(Path::new(&run.directory)).map_err(Failure::refused)
}

/// Error for acting on a run of which only a copy is here.
fn foreign(run: &str) -> String {
    format!(
        "run {run} belongs to another installation: this state root or registry is a copy; act on the run where \
         it was started"
    )
}

/// Refuses a run whose directory is a copy: its lock, socket and pids mean nothing here.
pub(crate) fn refuse_foreign(dir: &RunDir) -> Result<(), Failure> {
    match state_root::is_in_own_root(dir) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure::refused(foreign(dir.id().as_str()))),
        Err(error) => Err(Failure::refused(error)),
    }
}

/// Connects to a run's keeper; `None` if the keeper is gone or exiting: then the ending is written already.
pub(crate) fn dial(dir: &RunDir) -> Result<Option<Frames>, Failure> {
    refuse_foreign(dir)?;
    let gone = || {
        Ok(dir.ending().map_err(Failure::refused)?.is_some()
            || !dir.has_keeper().map_err(Failure::refused)?)
    };
    let mut frames = match dir.connect() {
        Ok(conn) => Frames::new(conn),
        Err(_) if gone()? => return Ok(None),
        Err(error) => {
            return Err(Failure::refused(format!("the keeper of run {} does not answer: {error}", dir.id())));
        }
    };
    match check_reply(frames.hello(Role::Viewer, KEEPER_REPLY_LIMIT)) {
        Ok(KeeperMessage::Welcome { .. }) => Ok(Some(frames)),
        Ok(KeeperMessage::Ended { .. }) => Ok(None),
        Ok(other) => Err(unexpected(&other)),
        Err(_) if gone()? => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// Returns a run's state: its records, updated by its keeper.
pub(crate) fn view(dir: &RunDir) -> Result<RunView, RecordError> {
    let mut view = dir.view()?;
    refresh(dir, &mut view);
    Ok(view)
}

/// Updates a run's state by its keeper, if that is alive.
pub(crate) fn refresh(dir: &RunDir, view: &mut RunView) {
    // If the keeper exits or hangs during the request, the records have to do.
    if view.has_keeper
        && view.ending.is_none()
        && let Ok(Some(mut keeper)) = dial(dir)
        && let Ok(KeeperMessage::Status { state, output, last_output_at_ms, cause, .. }) =
            ask(&mut keeper, &KeeperRequest::Status, &[])
    {
        view.output = output;
        view.last_output_at_ms = last_output_at_ms;
        // For clients, the run has ended only when its ending is written, which happens later.
        view.state = state.min(State::Exiting);
        view.cause = cause;
    }
}

/// Lists the runs that match, the oldest first. Only their keepers are asked.
pub(crate) fn list_runs(
    state: &StateRoot,
    wanted: impl Fn(&RunView) -> bool,
) -> Result<Vec<(RunDir, RunView)>, Failure> {
    let mut found = Vec::new();
    for id in state.runs().map_err(Failure::refused)? {
        let Ok(dir) = state.run(&id) else { continue };
        match dir.view() {
            Ok(mut view) if wanted(&view) => {
                refresh(&dir, &mut view);
                found.push((dir, view));
            }
            // The ticket is not written yet, or the directory is being removed.
            Ok(_) | Err(RecordError::Missing { .. }) => {}
            Err(error) => complain(format_args!("{error}")),
        }
    }
    found.sort_by_key(|(_, view)| view.ticket.created_at_ms);
    Ok(found)
}

/// Sends a request to a keeper, and returns the reply.
pub(crate) fn ask(frames: &mut Frames, ask: &KeeperRequest, body: &[u8]) -> Result<KeeperMessage, Failure> {
    frames.send(ask, body);
    check_reply(frames.receive::<KeeperMessage>(KEEPER_REPLY_LIMIT).map(|(message, _)| message))
}

/// Returns a keeper's reply; a refusal is an error.
fn check_reply(answer: Result<KeeperMessage, ConnectionError>) -> Result<KeeperMessage, Failure> {
    match answer {
        Ok(KeeperMessage::Refused { why } | KeeperMessage::StdinRefused { why }) => {
            Err(Failure::refused(why))
        }
        Ok(message) => Ok(message),
        Err(error) => Err(Failure::refused(error)),
    }
}

pub(crate) fn unexpected(message: &KeeperMessage) -> Failure {
    Failure::refused(format!("unexpected reply from the keeper: {message:?}"))
}

/// Error for a run that has ended: it has no keeper.
pub(crate) fn ended_error(dir: &RunDir) -> Failure {
    Failure::refused(format!("run {} has ended", dir.id()))
}
