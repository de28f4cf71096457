//! A run as every face shows it in JSON, put together from its records.

use crate::identity::Identity;
use crate::output::Totals;
use crate::record::{Boundary, Ending, KeeperNote, Ticket};
use crate::state::State;
use serde::Serialize;

/// What is known of a run at one moment.
#[derive(Debug, Clone)]
pub struct RunView {
    /// What was asked.
    pub ticket: Ticket,
    /// Who was alive, once the root was forked.
    pub note: Option<KeeperNote>,
    /// How it ended, once it has.
    pub ending: Option<Ending>,
    /// Where it is in its life, as far as was recorded.
    pub state: State,
    /// Whether a keeper lives.
    pub kept: bool,
    /// Its output.
    pub output: Totals,
    /// When the last output came.
    pub last_output_at_ms: Option<u64>,
}

/// The state of the right to act on a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeaseState {
    /// The run may be acted on.
    Open,
    /// The run is being ended.
    Closing,
    /// The run has ended.
    Closed,
    /// The run's keeper, or its processes, were gone before its ending was seen.
    Lost,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Json<'a> {
    run_id: &'a str,
    session_id: Option<&'a str>,
    backend_id: &'a str,
    scope: Option<&'a str>,
    label: Option<&'a str>,
    command: &'a [String],
    cwd: &'a str,
    pty: bool,
    state: State,
    pid: Option<i32>,
    process_group_id: Option<i32>,
    identity: Option<&'a Identity>,
    exe: Option<&'a str>,
    command_hash: &'a str,
    boundary: Option<&'a Boundary>,
    keeper_pid: Option<i32>,
    lease_id: &'a str,
    lease_state: LeaseState,
    owner_instance_id: &'a str,
    lease_epoch: u64,
    /// A lease that nobody renews does not expire.
    lease_expires_at_ms: Option<u64>,
    created_at_ms: u64,
    started_at_ms: Option<u64>,
    updated_at_ms: u64,
    last_output_at_ms: Option<u64>,
    ended_at_ms: Option<u64>,
    output: Totals,
    termination: Option<&'a crate::ending::Termination>,
}

impl RunView {
    /// The lease's state, as the records tell it.
    pub fn lease_state(&self) -> LeaseState {
        match (self.state, &self.ending) {
            (State::Running | State::Exiting, None) if !self.kept => LeaseState::Lost,
            (State::Starting | State::Running, _) => LeaseState::Open,
            (State::Exiting, _) => LeaseState::Closing,
            (State::Exited, Some(ending))
                if ending.termination.reason == crate::ending::Reason::ReconciledStale =>
            {
                LeaseState::Lost
            }
            (State::Exited, _) => LeaseState::Closed,
        }
    }

    /// The run as JSON.
    pub fn json(&self) -> serde_json::Value {
        let Self { ticket, note, ending, state, output, last_output_at_ms, kept: _ } = self;
        let root = note.as_ref().map(|note| &note.root);
        let started_at_ms = note.as_ref().map(|note| note.started_at_ms);
        let ended_at_ms = ending.as_ref().map(|ending| ending.ended_at_ms);
        let moments = [Some(ticket.created_at_ms), started_at_ms, *last_output_at_ms, ended_at_ms];
        let json = Json {
            run_id: ticket.run_id.as_str(),
            session_id: ticket.session_id.as_deref(),
            backend_id: &ticket.backend_id,
            scope: ticket.scope.as_deref(),
            label: ticket.label.as_deref(),
            command: &ticket.command,
            cwd: &ticket.cwd,
            pty: ticket.pty_size.is_some(),
            state: *state,
            pid: root.map(|root| root.pid),
            process_group_id: note.as_ref().map(|note| note.process_group.unwrap_or(note.root.pid)),
            identity: root,
            exe: note.as_ref().and_then(|note| note.exe.as_deref()),
            command_hash: &ticket.command_hash,
            boundary: note.as_ref().map(|note| &note.boundary),
            keeper_pid: note.as_ref().map(|note| note.keeper.pid),
            lease_id: ticket.lease_id.as_str(),
            lease_state: self.lease_state(),
            owner_instance_id: ticket.owner_instance_id.as_str(),
            lease_epoch: ticket.lease_epoch,
            lease_expires_at_ms: None,
            created_at_ms: ticket.created_at_ms,
            started_at_ms,
            updated_at_ms: moments.into_iter().flatten().max().unwrap_or(ticket.created_at_ms),
            last_output_at_ms: *last_output_at_ms,
            ended_at_ms,
            output: *output,
            termination: ending.as_ref().map(|ending| &ending.termination),
        };
        serde_json::to_value(json).expect("a run has no map with keys that are not strings")
    }
}
