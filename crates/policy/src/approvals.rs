//! Commands that a person is asked about: what is recorded of them, who sees it, and how long it waits. The question and
//! its answer are records; the values of variables that a command is given, and the limits of its caller, are not,
//! and wait in memory: a question with some cannot be allowed after a restart.

mod answering;
mod asking;
mod permission;
mod starting;

pub use asking::unfinished;
pub use permission::{Choice, Permission};

use crate::approval_text::is_visible;
use crate::authorize::{Line, Question};
use crate::exec_spec::Wanted;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use starting::Allowed;
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

/// How many questions are looked through for one.
const LOOKED_THROUGH: usize = 1_000;
/// The version of a recorded question.
const VERSION: u32 = 1;

/// What is asked, as it is recorded.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Recorded {
    #[serde(default)]
    version: u32,
    /// Without the values of variables and without the caller's process.
    request: ExecRequest,
    cwd: String,
    env_names: Vec<String>,
    /// True if the command was to run with its caller's umask and limits. Assumed of records that do not say.
    #[serde(default = "not_known")]
    from_process: bool,
    question: Question,
}

fn not_known() -> bool {
    true
}

impl Recorded {
    fn read(row: &ApprovalRow) -> Result<Self, Refusal> {
        let (id, asked) = (&row.approval.id, &row.approval.asked);
        if asked["version"].as_u64().is_some_and(|version| version > u64::from(VERSION)) {
            return Err(Refusal::wrong_state(format!(
                "a newer Tenure asked about {id}: answer it there, or deny it"
            )));
        }
        Self::deserialize(asked).map_err(|error| {
            Refusal::wrong_state(format!(
                "the question about {id} cannot be read ({error}): deny it, and have it asked again"
            ))
        })
    }

    /// Whether the record has all that it takes to run it.
    fn is_whole(&self) -> bool {
        self.env_names.is_empty() && !self.from_process
    }

    /// What it lacks, in words.
    fn lack(&self) -> String {
        let values =
            (!self.env_names.is_empty()).then(|| format!("the values of {}", self.env_names.join(", ")));
        let caller = self.from_process.then(|| "the umask and the limits of its caller".to_owned());
        [values, caller].into_iter().flatten().collect::<Vec<_>>().join(" and ")
    }
}

/// What stays of a question that is answered: what a person may read later.
fn kept(asked: &Value) -> Value {
    if let Some(permission) = Permission::of(asked) {
        return permission.kept();
    }
    let mut kept = asked.clone();
    if let Some(command) = kept.pointer_mut("/request/command") {
        *command = shown(command.as_str().unwrap_or_default()).into();
    }
    if let Some(line) = kept.pointer_mut("/question/line") {
        *line = json!(Line { words: Vec::new(), bound: Vec::new(), understood: false });
    }
    kept
}

/// The commands that wait, with what is not recorded of them.
#[derive(Debug, Default)]
pub struct Waiting {
    wanted: Mutex<HashMap<RunId, Wanted>>,
    /// Those that were allowed, until they run or are known not to.
    allowed: Mutex<HashMap<RunId, Allowed>>,
    /// Held by whoever asks.
    turn: tokio::sync::Mutex<()>,
}

/// Approval requests: commands that a person is asked about, and what agents ask before they act.
pub struct Approvals {
    /// The supervisor, which starts what is allowed.
    pub supervisor: Arc<Supervisor>,
    waiting: Waiting,
}

impl Approvals {
    /// No request waits in memory yet.
    pub fn new(supervisor: Arc<Supervisor>) -> Self {
        Self { supervisor, waiting: Waiting::default() }
    }

    /// Tells an event about an approval request.
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

    /// The questions that this requester may see. One that cannot be read hides no other.
    pub async fn approvals(&self, all: bool, who: &Requester) -> Result<Vec<Approval>, Refusal> {
        self.expire().await?;
        let rows = self.supervisor.registry.approvals(!all, LOOKED_THROUGH).await?;
        let read = |row: &ApprovalRow| match self.json_of(row) {
            Ok(approval) => Some(approval),
            Err(refusal) => {
                tracing::warn!(question = %row.approval.id, why = refusal.detail, "a question is not shown");
                None
            }
        };
        Ok(rows.iter().filter(|row| is_visible(row, who)).filter_map(read).collect())
    }

    /// The question that an id, or a unique beginning of one, means to this requester.
    pub(crate) async fn find_approval(
        &self,
        text: &str,
        who: &Requester,
    ) -> Result<Option<ApprovalRow>, Refusal> {
        self.expire().await?;
        if let Ok(id) = text.parse() {
            // A whole id is the only question that it can mean, however many there are.
            return Ok(self.supervisor.registry.approval(id).await?.filter(|row| is_visible(row, who)));
        }
        let rows = self.supervisor.registry.approvals(false, LOOKED_THROUGH).await?;
        let visible = rows.into_iter().filter(|row| is_visible(row, who));
        let found = find_by_prefix(text, "questions", visible, |row| row.approval.id.as_str());
        found.map_err(Refusal::ambiguous)
    }

    /// The questions of this instance that wait.
    pub(crate) async fn own_questions(&self) -> Result<Vec<ApprovalRow>, Refusal> {
        let rows = self.supervisor.registry.approvals(true, LOOKED_THROUGH).await?;
        Ok(rows.into_iter().filter(|row| row.approval.instance == self.supervisor.instance).collect())
    }

    /// The sessions whose questions wait.
    pub async fn sessions_that_ask(&self) -> Result<Vec<String>, Refusal> {
        Ok(self.own_questions().await?.into_iter().filter_map(|row| row.approval.session).collect())
    }

    /// Closes the questions that nobody answered in time.
    pub async fn expire(&self) -> Result<(), Refusal> {
        for id in self.supervisor.registry.expire_approvals(clock::unix_ms()).await? {
            lock(&self.waiting.wanted).remove(&id);
            let session =
                self.supervisor.registry.approval(id.clone()).await?.and_then(|row| row.approval.session);
            self.tell_of(&id, session, kind::APPROVAL_EXPIRED, json!({})).await;
        }
        Ok(())
    }
}

/// A command without what looks like a secret.
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
        let asked = Recorded::read(row)?;
        // The person who decides reads all of it. Afterwards nobody needs its secrets.
        let (command, env) = if row.state == ApprovalState::Pending {
            let wanted = lock(&self.waiting.wanted);
            let env = wanted.get(&row.approval.id).map(|wanted| wanted.env.clone()).unwrap_or_default();
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

/// What is known of a question that cannot be read.
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
