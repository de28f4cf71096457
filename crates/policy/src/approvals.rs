//! Approval requests: their records, their visibility and their expiry. Request and answer are recorded. The values of a
//! command's variables and the limits of its caller are not: they stay in memory, and a request that has some cannot be
//! approved after a restart.

mod answer;
mod permission;
mod request;
mod start;

pub use permission::{Choice, Permission};
pub use request::unfinished;

use crate::approval_text::is_visible;
use crate::authorize::{CommandLine, Question};
use crate::exec_spec::ExecSpec;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use start::ApprovedStart;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::Mutex;
use tenure_core::api::Approval;
use tenure_core::ids::{RunId, find_by_prefix};
use tenure_core::redact;
use tenure_core::tools::ExecRequest;
use tenure_os::clock;
use tenure_store::{ApprovalRow, ApprovalState, NewEvent, kind};
use tenure_supervisor::Refusal;
use tenure_supervisor::Requester;
use tenure_supervisor::Supervisor;
use tenure_supervisor::sync::lock;

/// Maximum number of requests that are searched.
const MAX_SEARCHED: usize = 1_000;
/// Version of the record.
const VERSION: u32 = 1;

/// Record of an approval request for a command.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ApprovalRecord {
    #[serde(default)]
    version: u32,
    /// Without the values of variables and without the caller's process.
    request: ExecRequest,
    cwd: String,
    env_names: Vec<String>,
    /// True if the command was to run with its caller's umask and limits. Assumed for records without the field.
    #[serde(default = "assumed")]
    from_process: bool,
    question: Question,
}

fn assumed() -> bool {
    true
}

impl ApprovalRecord {
    fn read(row: &ApprovalRow) -> Result<Self, Refusal> {
        let (id, asked) = (&row.approval.id, &row.approval.asked);
        if asked["version"].as_u64().is_some_and(|version| version > u64::from(VERSION)) {
            return Err(Refusal::wrong_state(format!(
                "a newer version of Tenure recorded the request {id}: answer it there, or deny it"
            )));
        }
        Self::deserialize(asked).map_err(|error| {
            Refusal::wrong_state(format!(
                "the request {id} cannot be read ({error}): deny it, and have the command requested again"
            ))
        })
    }

    /// Returns true if the record is enough to run the command.
    fn is_complete(&self) -> bool {
        self.env_names.is_empty() && !self.from_process
    }

    /// Describes the data that is only in memory.
    fn missing(&self) -> String {
        let values =
            (!self.env_names.is_empty()).then(|| format!("the values of {}", self.env_names.join(", ")));
        let caller = self.from_process.then(|| "the umask and the limits of its caller".to_owned());
        [values, caller].into_iter().flatten().collect::<Vec<_>>().join(" and ")
    }
}

/// Returns the record of an answered request: what a person may read later, without secrets.
fn redacted(asked: &Value) -> Value {
    if let Some(permission) = Permission::of(asked) {
        return permission.redacted();
    }
    let mut record = asked.clone();
    if let Some(command) = record.pointer_mut("/request/command") {
        *command = shown(command.as_str().unwrap_or_default()).into();
    }
    if let Some(line) = record.pointer_mut("/question/line") {
        *line = json!(CommandLine { words: Vec::new(), bound: Vec::new(), understood: false });
    }
    record
}

/// Commands in memory that wait for approval or for their start.
#[derive(Debug, Default)]
pub struct PendingCommands {
    /// Specs of commands that wait for approval, with the data that is not recorded.
    specs: Mutex<HashMap<RunId, ExecSpec>>,
    /// Approved commands, until they run or have failed to start.
    approved: Mutex<HashMap<RunId, ApprovedStart>>,
    /// Serializes new requests.
    request_lock: tokio::sync::Mutex<()>,
}

/// Approval requests: commands that need a person's approval, and permission requests of agents.
pub struct Approvals {
    /// The supervisor, which starts approved commands.
    pub supervisor: Arc<Supervisor>,
    pending: PendingCommands,
}

impl Approvals {
    /// Creates it without commands in memory.
    pub fn new(supervisor: Arc<Supervisor>) -> Self {
        Self { supervisor, pending: PendingCommands::default() }
    }

    /// Records an event about an approval request.
    pub async fn tell_of(&self, id: &RunId, session: Option<String>, kind: &str, detail: Value) {
        self.supervisor
            .tell(NewEvent {
                at_ms: clock::unix_ms(),
                kind: kind.to_owned(),
                instance: self.supervisor.instance.clone(),
                run_id: Some(id.clone()),
                session,
                detail,
            })
            .await;
    }

    /// Lists the requests that this requester may see. Unreadable ones are skipped.
    pub async fn approvals(&self, all: bool, who: &Requester) -> Result<Vec<Approval>, Refusal> {
        self.expire().await?;
        let rows = self.supervisor.registry.approvals(!all, MAX_SEARCHED).await?;
        let read = |row: &ApprovalRow| match self.json_of(row) {
            Ok(approval) => Some(approval),
            Err(refusal) => {
                tracing::warn!(request = %row.approval.id, why = refusal.detail, "skipping an unreadable approval request");
                None
            }
        };
        Ok(rows.iter().filter(|row| is_visible(row, who)).filter_map(read).collect())
    }

    /// Finds a request by its id or a unique prefix, if the requester may see it.
    pub(crate) async fn find_approval(
        &self,
        text: &str,
        who: &Requester,
    ) -> Result<Option<ApprovalRow>, Refusal> {
        self.expire().await?;
        if let Ok(id) = text.parse() {
            // A whole id is not limited by the maximum of searched requests.
            return Ok(self.supervisor.registry.approval(id).await?.filter(|row| is_visible(row, who)));
        }
        let rows = self.supervisor.registry.approvals(false, MAX_SEARCHED).await?;
        let visible = rows.into_iter().filter(|row| is_visible(row, who));
        let found = find_by_prefix(text, "approval requests", visible, |row| row.approval.id.as_str());
        found.map_err(Refusal::ambiguous)
    }

    /// Returns the open requests of this instance.
    pub(crate) async fn own_questions(&self) -> Result<Vec<ApprovalRow>, Refusal> {
        let rows = self.supervisor.registry.approvals(true, MAX_SEARCHED).await?;
        Ok(rows.into_iter().filter(|row| row.approval.instance == self.supervisor.instance).collect())
    }

    /// Returns the sessions with open requests.
    pub async fn sessions_with_requests(&self) -> Result<Vec<String>, Refusal> {
        Ok(self.own_questions().await?.into_iter().filter_map(|row| row.approval.session).collect())
    }

    /// Closes the requests that nobody answered in time.
    pub async fn expire(&self) -> Result<(), Refusal> {
        for id in self.supervisor.registry.expire_approvals(clock::unix_ms()).await? {
            lock(&self.pending.specs).remove(&id);
            let session =
                self.supervisor.registry.approval(id.clone()).await?.and_then(|row| row.approval.session);
            self.tell_of(&id, session, kind::APPROVAL_EXPIRED, json!({})).await;
        }
        Ok(())
    }
}

/// Returns a command with its secrets redacted.
fn shown(command: &str) -> String {
    redact::command(&[command.to_owned()]).concat()
}

fn word(state: ApprovalState) -> String {
    serde_json::to_value(state).ok().and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
}

impl Approvals {
    fn json_of(&self, row: &ApprovalRow) -> Result<Approval, Refusal> {
        if let Some(permission) = Permission::read(row) {
            return Ok(permission.shown(without_question(row)));
        }
        let asked = ApprovalRecord::read(row)?;
        // The person who decides sees the whole command. Afterwards nobody needs its secrets.
        let (command, env) = if row.state == ApprovalState::Pending {
            let specs = lock(&self.pending.specs);
            let env = specs.get(&row.approval.id).map(|spec| spec.env.clone()).unwrap_or_default();
            (asked.request.command, env)
        } else {
            (shown(&asked.request.command), BTreeMap::new())
        };
        Ok(Approval {
            command,
            cwd: asked.cwd,
            env_names: asked.env_names,
            env,
            why: asked.question.why,
            programs: asked.question.programs.iter().map(|path| path.display().to_string()).collect(),
            once_only: asked.question.always.err(),
            ..without_question(row)
        })
    }
}

/// Returns a request without its subject, as if that could not be read.
pub fn without_question(row: &ApprovalRow) -> Approval {
    Approval {
        id: row.approval.id.clone(),
        state: word(row.state),
        command: String::new(),
        cwd: String::new(),
        session_key: row.approval.session.clone(),
        env_names: Vec::new(),
        env: BTreeMap::new(),
        why: String::new(),
        programs: Vec::new(),
        once_only: None,
        details: None,
        options: Vec::new(),
        option: None,
        created_at_ms: row.approval.created_at_ms,
        expires_at_ms: row.approval.expires_at_ms,
        answered_at_ms: row.answered_at_ms,
        answered_by: row.answered_by.clone(),
    }
}
