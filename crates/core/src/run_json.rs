//! The JSON of a run on every face, made of the run's records.

use crate::ending::{Cause, Termination};
use crate::identity::Identity;
use crate::lease::Hold;
use crate::limits::Limits;
use crate::output::Totals;
use crate::record::{self, Boundary, Ending, KeeperNote, Ticket};
use crate::spec::Size;
use crate::state::State;
use serde::{Deserialize, Serialize};

pub use crate::lease::LeaseState;

/// A run as it is known at one moment.
#[derive(Debug, Clone)]
pub struct RunView {
    /// Its ticket.
    pub ticket: Ticket,
    /// The keeper's note, once the root was forked.
    pub note: Option<KeeperNote>,
    /// Its ending, once it has one.
    pub ending: Option<Ending>,
    /// The phase of its life, as far as was recorded.
    pub state: State,
    /// The cause, if somebody other than the command itself ended it.
    pub cause: Option<Cause>,
    /// Its present owner and epoch.
    pub hold: Hold,
    /// The time when the owner's leases expire; `None` if nobody renews them.
    pub lease_expires_at_ms: Option<u64>,
    /// True if a keeper lives.
    pub has_keeper: bool,
    /// The present size of the terminal; `None` if it is that of the ticket.
    pub pty_size: Option<Size>,
    /// The size of the output.
    pub output: Totals,
    /// The time of the last output.
    pub last_output_at_ms: Option<u64>,
    /// The directory of its records and its output.
    pub directory: String,
    /// True if the record is a copy of another installation's.
    pub foreign: bool,
}

/// A run as JSON. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names are the contract's")]
pub struct RunJson {
    pub run_id: String,
    pub session_id: Option<String>,
    pub backend_id: String,
    pub scope: Option<String>,
    pub label: Option<String>,
    pub command: Vec<String>,
    pub cwd: String,
    pub pty: bool,
    pub pty_size: Option<Size>,
    pub env_names: Vec<String>,
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub limits: Limits,
    pub state: State,
    /// The cause while the run is `exiting`, if the command itself does not end it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub exiting_cause: Option<Cause>,
    pub pid: Option<i32>,
    pub process_group_id: Option<i32>,
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub identity: Option<Identity>,
    pub exe: Option<String>,
    pub command_hash: String,
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub boundary: Option<Boundary>,
    pub keeper_pid: Option<i32>,
    pub lease_id: String,
    pub lease_state: LeaseState,
    pub owner_instance_id: String,
    pub lease_epoch: u64,
    /// `null` if nobody renews the lease: such a lease does not expire.
    pub lease_expires_at_ms: Option<u64>,
    pub created_at_ms: u64,
    pub started_at_ms: Option<u64>,
    pub updated_at_ms: u64,
    pub last_output_at_ms: Option<u64>,
    pub ended_at_ms: Option<u64>,
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub output: Totals,
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub termination: Option<Termination>,
    /// The directory of the run's records and output, in the state root of the instance that started the run.
    #[serde(default)]
    pub directory: String,
    /// True if the record is a copy: the run belongs to the installation that it was copied from, and Tenure never
    /// touches it from here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub foreign: bool,
}

impl RunJson {
    /// Returns the command line as its author wrote it: for exec the line, without the shell that runs it.
    pub fn command_line(&self) -> String {
        record::command_line(&self.backend_id, &self.command)
    }
}

impl RunView {
    /// The view of a run of which only the ticket is known. Its keeper counts as alive until somebody finds otherwise.
    pub fn new(ticket: Ticket, directory: String) -> Self {
        Self {
            hold: Hold { instance: ticket.owner_instance_id.clone(), epoch: ticket.lease_epoch },
            ticket,
            note: None,
            ending: None,
            state: State::Starting,
            cause: None,
            lease_expires_at_ms: None,
            has_keeper: true,
            pty_size: None,
            output: Totals::default(),
            last_output_at_ms: None,
            directory,
            foreign: false,
        }
    }

    /// Returns the lease's state, derived from the records.
    pub fn lease_state(&self) -> LeaseState {
        match (self.state, &self.ending) {
            (State::Running | State::Exiting, None) if !self.has_keeper => LeaseState::Lost,
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

    /// Returns the run as JSON.
    pub fn json(&self) -> RunJson {
        let Self {
            ticket,
            note,
            ending,
            state,
            cause,
            hold,
            lease_expires_at_ms,
            has_keeper: _,
            pty_size,
            output,
            last_output_at_ms,
            directory,
            foreign,
        } = self;
        let options = &ticket.options;
        let root = note.as_ref().map(|note| &note.root);
        let started_at_ms = note.as_ref().map(|note| note.started_at_ms);
        let ended_at_ms = ending.as_ref().map(|ending| ending.ended_at_ms);
        let moments = [Some(ticket.created_at_ms), started_at_ms, *last_output_at_ms, ended_at_ms];
        RunJson {
            run_id: ticket.run_id.to_string(),
            session_id: options.session_id.clone(),
            backend_id: ticket.backend_id.clone(),
            scope: options.scope.clone(),
            label: options.label.clone(),
            command: ticket.command.clone(),
            cwd: ticket.cwd.clone(),
            pty: options.pty_size.is_some(),
            pty_size: pty_size.or(options.pty_size),
            env_names: options.env_names.clone(),
            limits: options.limits.clone(),
            state: *state,
            exiting_cause: cause.filter(|_| *state == State::Exiting),
            pid: root.map(|root| root.pid),
            process_group_id: note.as_ref().map(|note| note.process_group.unwrap_or(note.root.pid)),
            identity: root.cloned(),
            exe: note.as_ref().and_then(|note| note.exe.clone()),
            command_hash: ticket.command_hash.clone(),
            boundary: note.as_ref().map(|note| note.boundary.clone()),
            keeper_pid: note.as_ref().map(|note| note.keeper.pid),
            lease_id: ticket.lease_id.to_string(),
            lease_state: self.lease_state(),
            owner_instance_id: hold.instance.to_string(),
            lease_epoch: hold.epoch,
            lease_expires_at_ms: *lease_expires_at_ms,
            created_at_ms: ticket.created_at_ms,
            started_at_ms,
            updated_at_ms: moments.into_iter().flatten().max().unwrap_or(ticket.created_at_ms),
            last_output_at_ms: *last_output_at_ms,
            ended_at_ms,
            output: *output,
            termination: ending.as_ref().map(|ending| ending.termination.clone()),
            directory: directory.clone(),
            foreign: *foreign,
        }
    }
}
