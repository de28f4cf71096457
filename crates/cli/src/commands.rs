//! One file a verb.

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

use crate::failure::Failure;
use crate::reach;
use std::path::Path;
use std::time::Duration;
use tenure_client::Client;
use tenure_core::ids::find_by_prefix;
use tenure_core::run_json::RunView;
use tenure_core::state::State;
use tenure_core::wire::{KeeperMessage, KeeperRequest, Role};
use tenure_keeper::frames::{Broken, Frames};
use tenure_keeper::rundir::{RunDir, Unread};
use tenure_keeper::state_root::{self, StateRoot};
use tenure_os::complaint::complain;

/// How long a keeper may take to answer. It does nothing that takes long, so this is for a machine that swaps.
const PATIENCE: Duration = Duration::from_secs(10);
/// Long enough to be for ever, short enough to add to the time.
const FOR_EVER: Duration = Duration::from_hours(24 * 365);

/// The run that an id or a unique beginning of one means.
pub(crate) fn find(state: &StateRoot, text: &str) -> Result<RunDir, Failure> {
    let runs = state.runs().map_err(Failure::refused)?;
    match find_by_prefix(text, "runs", &runs, |id| id.as_str()).map_err(Failure::refused)? {
        Some(id) => state.run(id).map_err(Failure::refused),
        None if text.is_empty() => Err(Failure::no_such_run(text)),
        None => find_elsewhere(state, text),
    }
}

/// A run that the daemon knows of and another instance started, in its own state root.
fn find_elsewhere(state: &StateRoot, text: &str) -> Result<RunDir, Failure> {
    let client = Client::new(state.path());
    if client.connect().is_err() {
        return Err(Failure::no_such_run(text));
    }
    let run = reach::wait(client.run(text))?;
    if run.foreign {
        return Err(Failure::refused(format!("{}: its files are not here", foreign(&run.run_id))));
    }
    RunDir::open(Path::new(&run.directory)).map_err(Failure::refused)
}

/// The error for acting on a run of which only a copy is here.
fn foreign(run: &str) -> String {
    format!(
        "run {run} belongs to another installation: this state root or registry is a copy; act on the run where \
         it was started"
    )
}

/// Refuses a run whose directory is a copy: its lock, socket and pids mean nothing here.
pub(crate) fn refuse_foreign(dir: &RunDir) -> Result<(), Failure> {
    match state_root::is_at_home(dir) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure::refused(foreign(dir.id().as_str()))),
        Err(error) => Err(Failure::refused(error)),
    }
}

/// A connection to a run's keeper; `None` if it has none any more, or one that is leaving: the ending is there
/// before the keeper stops answering.
pub(crate) fn dial(dir: &RunDir) -> Result<Option<Frames>, Failure> {
    refuse_foreign(dir)?;
    let gone =
        || Ok(dir.ending().map_err(Failure::refused)?.is_some() || !dir.kept().map_err(Failure::refused)?);
    let mut frames = match dir.dial() {
        Ok(conn) => Frames::new(conn),
        Err(_) if gone()? => return Ok(None),
        Err(error) => {
            return Err(Failure::refused(format!("the keeper of run {} does not answer: {error}", dir.id())));
        }
    };
    match understood(frames.hello(Role::Viewer, PATIENCE)) {
        Ok(KeeperMessage::Welcome { .. }) => Ok(Some(frames)),
        Ok(KeeperMessage::Ended { .. }) => Ok(None),
        Ok(other) => Err(unexpected(&other)),
        Err(_) if gone()? => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// What is known of a run: its records, and what its keeper says while it lives.
pub(crate) fn view(dir: &RunDir) -> Result<RunView, Unread> {
    let mut view = dir.view()?;
    refresh(dir, &mut view);
    Ok(view)
}

/// Adds what a run's keeper says, while it lives, to what the records say.
pub(crate) fn refresh(dir: &RunDir, view: &mut RunView) {
    // A keeper that leaves or hangs while it is asked has said all it will in the records.
    if view.kept
        && view.ending.is_none()
        && let Ok(Some(mut keeper)) = dial(dir)
        && let Ok(KeeperMessage::Status { state, output, last_output_at_ms, cause, .. }) =
            ask(&mut keeper, &KeeperRequest::Status, &[])
    {
        view.output = output;
        view.last_output_at_ms = last_output_at_ms;
        // It has ended for others when the ending is written, which comes after.
        view.state = state.min(State::Exiting);
        view.cause = cause;
    }
}

/// The runs whose records are wanted, the oldest first. Only the keepers of those are asked.
pub(crate) fn listed(
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
            // A directory whose ticket is not written yet, or that is being removed, is no run.
            Ok(_) | Err(Unread::Missing { .. }) => {}
            Err(error) => complain(format_args!("{error}")),
        }
    }
    found.sort_by_key(|(_, view)| view.ticket.created_at_ms);
    Ok(found)
}

/// Asks a keeper one thing.
pub(crate) fn ask(frames: &mut Frames, ask: &KeeperRequest, body: &[u8]) -> Result<KeeperMessage, Failure> {
    frames.send(ask, body);
    understood(frames.receive::<KeeperMessage>(PATIENCE).map(|(tell, _)| tell))
}

/// What a keeper answered, unless it refuses.
fn understood(answer: Result<KeeperMessage, Broken>) -> Result<KeeperMessage, Failure> {
    match answer {
        Ok(KeeperMessage::Refused { why } | KeeperMessage::StdinRefused { why }) => {
            Err(Failure::refused(why))
        }
        Ok(tell) => Ok(tell),
        Err(error) => Err(Failure::refused(error)),
    }
}

pub(crate) fn unexpected(tell: &KeeperMessage) -> Failure {
    Failure::refused(format!("the keeper answered something else: {tell:?}"))
}

/// A run that has ended has no keeper to ask.
pub(crate) fn ended(dir: &RunDir) -> Failure {
    Failure::refused(format!("run {} has ended", dir.id()))
}
