//! `sessions`: what is done with sessions, and what is answered.

use crate::api::{Approval, Exact};
use crate::ending::ProcessNote;
use crate::ids::{RunId, TurnId};
use crate::session::legacy::LegacyProcess;
use crate::session::{
    Backend, Interaction, Kind, LeftAlone, Mode, Origin, Permissions, SessionKey, SessionRow, SessionState,
    Stop, TurnState, Visibility,
};
use crate::task::Notice;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Make a session; with `task`, begin its first turn.
    Spawn,
    /// Which sessions there are.
    List,
    /// What was said in a session.
    History,
    /// What happened in a session of an ACP agent: messages, thoughts, tool calls, plans, permissions.
    Entries,
    /// Say something to a session: it begins a turn, or waits for one.
    Send,
    /// How a session is.
    Status,
    /// Wait for the end of a turn.
    Wait,
    /// End the turn that is under way; what waits goes on.
    Cancel,
    /// End a session and all that it owns, children first.
    Close,
    /// Have an ACP agent work in another of its modes.
    SetMode,
    /// Set one of an ACP agent's own options.
    SetOption,
    /// Answer what an ACP agent asks before it does something.
    Answer,
}

/// What a message to a busy session is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WhenBusy {
    /// Wait until it is idle.
    #[default]
    Queue,
    /// Reach it in the middle of its turn, where that can be; wait where it cannot.
    Steer,
    /// Be refused.
    Refuse,
}

/// What `sessions` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionsRequest {
    /// What to do.
    pub action: Action,
    /// Which session, for every action but `list`; for `spawn`, what it is to be called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    /// For `spawn`: whose session it is to be; for `list`: only this agent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// For `spawn`: what carries out its turns, `acp`, `cli` or `exec`; for `list`: only those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<Backend>,
    /// For `spawn`: what it is to its agent; for `list`: only those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// For `spawn`: how long it lasts, `persistent` or `oneshot`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// For `spawn`: the session right above it; without it, the one that asks. For `list`: only what is right below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// For `spawn`: a name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// For `spawn`: what it is to do first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// For `spawn`: where its turns are carried out; absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// For `spawn`: with which model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// For `spawn`: how long a turn may take; for `wait`: how long to wait, up to 30000 milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// For `spawn` with `acp`: how the agent is answered that asks before it does something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    /// For `spawn`: where it was asked for.
    #[serde(default, deserialize_with = "known_origin", skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// For `spawn`: with whom it speaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interaction: Option<Interaction>,
    /// For `spawn`: whether it is shut in, so that it sees only itself and what it spawns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<bool>,
    /// For `list`: only those in one of these states.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<SessionState>,
    /// For `list`: only those whose key begins with this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// For `list`, `history` and `entries`: the `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// For `list`, `history` and `entries`: at most so many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// For `history` and `entries`: at most about so many bytes of text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// For `history` and `entries`: whether the newest come first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newest_first: Option<bool>,
    /// For `send`: what is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// For `send`: what it is to do if the session is busy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when_busy: Option<WhenBusy>,
    /// For `wait`: which turn; without it, the one that is under way or was last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// For `wait`: whether the caller sent the message and waits for its answer. Once it has that, nobody else is told; if
    /// it goes away before, the work goes on in the background and is told as such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreground: Option<bool>,
    /// For `close`: why, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// For `close`: whether its record and what was said in it are forgotten, so that its key can be used anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discard: Option<bool>,
    /// For `set-mode`: the id of the mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_mode: Option<String>,
    /// For `answer`: which question, as `status` lists them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// For `set-option`: the id of the option; for `answer`: the id of one of the answers that the agent offers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    /// For `set-option`: what it is set to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The session that asks. A caller that is bound to a session can name no other.
    #[serde(rename = "as", default, skip_serializing_if = "Option::is_none")]
    pub requester: Option<String>,
    /// Which sessions it may see; without it, as the settings say. A caller that is bound to a session can only see
    /// less than that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Visibility>,
    /// Whether it is shut in; one that is recorded as shut in always is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandboxed: Option<bool>,
    /// The calling process. An agent that is started gets its PATH, and the variables that the agent's description passes
    /// on. For our own command line: refused from everybody else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub process: Option<Exact>,
}

impl SessionsRequest {
    /// A request that says what to do, and nothing more.
    pub fn new(action: Action) -> Self {
        Self {
            action,
            session_key: None,
            agent: None,
            backend: None,
            kind: None,
            mode: None,
            parent: None,
            label: None,
            task: None,
            cwd: None,
            model: None,
            timeout_ms: None,
            permissions: None,
            origin: None,
            interaction: None,
            sandbox: None,
            states: Vec::new(),
            prefix: None,
            after: None,
            limit: None,
            max_bytes: None,
            newest_first: None,
            text: None,
            when_busy: None,
            turn_id: None,
            foreground: None,
            reason: None,
            discard: None,
            agent_mode: None,
            question: None,
            option: None,
            value: None,
            requester: None,
            visibility: None,
            sandboxed: None,
            process: None,
        }
    }
}

/// An origin as it is asked for: what it has beside is refused, where a record of a later version is still read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AskedOrigin {
    channel: String,
    to: Option<String>,
    thread: Option<String>,
}

fn known_origin<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Origin>, D::Error> {
    let asked = Option::<AskedOrigin>::deserialize(from)?;
    Ok(asked.map(|AskedOrigin { channel, to, thread }| Origin { channel, to, thread }))
}

/// What `sessions` answers. What is not asked for is not there.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct SessionsReply {
    /// The session, as it is now: for `spawn`, `status`, `set-mode` and `set-option`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionJson>,
    /// For `list`: those there are, the newest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<Vec<SessionJson>>,
    /// For `history`: the turns. For `entries`: the turns that they are of, with the beginnings of their texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<Vec<TurnJson>>,
    /// For `entries`: what happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries: Option<Vec<EntryJson>>,
    /// For `history`: what waits to be told to the session. It counts as told if the session itself reads it here.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<Object>>))]
    pub notices: Option<Vec<Notice>>,
    /// For `list`, `history` and `entries`: what `after` is to be for the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// For `wait` and `cancel`: the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnJson>,
    /// For `send`, and `spawn` with a task: what became of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent: Option<Sent>,
    /// For `close`: what was ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed: Option<ClosedJson>,
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Delivery {
    /// It began a turn.
    Started,
    /// It waits for its turn.
    Queued,
    /// It reached the turn that is under way.
    Steered,
}

/// A message that was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Sent {
    /// What became of it.
    pub delivery: Delivery,
    /// The turn that it is or will be.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub turn_id: TurnId,
    /// How many messages come before it.
    pub ahead: u64,
    /// What is different from what was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct SessionJson {
    /// Whose it is and how it is.
    #[serde(flatten)]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub row: SessionRow,
    /// What people call it.
    pub label: Option<String>,
    /// What the agent itself calls the conversation.
    pub agent_session_id: Option<String>,
    /// How many turns it has had, the active one too.
    pub turns: u64,
    /// How many messages wait.
    pub queued: u64,
    /// For `status`: the turn that is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_turn: Option<TurnJson>,
    /// For `status`: its runs that have not ended, at most a hundred of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<String>>))]
    pub live_runs: Option<Vec<RunId>>,
    /// For `status` of an ACP agent's session: what it asks before it goes on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Approval>,
    /// For `status` of an ACP agent's session: the adapter that is there, if one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter: Option<AdapterJson>,
}

/// An ACP agent's process, which goes on from turn to turn, and what it says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AdapterJson {
    /// Its run.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub run_id: RunId,
    /// The agent's name and version, as it says.
    pub agent: Option<String>,
    /// What it calls the conversation.
    pub agent_session_id: Option<String>,
    /// Whether another process of it can go on with the conversation.
    pub resumes: bool,
    /// The mode in which it works.
    pub mode: Option<String>,
    /// Its modes: ids and names.
    pub modes: Vec<Named>,
    /// Its own options and what they are set to, as the protocol has them.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
    pub options: Vec<Value>,
}

/// Something with an id, and a name for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Named {
    /// Its id.
    pub id: String,
    /// What people call it.
    pub name: String,
}

/// Something that happened in a session. One that is under way may be told again under its number, when more has become
/// of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct EntryJson {
    /// Its place in the history; the first is 1.
    pub number: u64,
    /// In which turn.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub turn_id: Option<TurnId>,
    /// When it began.
    pub at_ms: u64,
    /// `user`, `agent`, `thought`, `tool`, `plan`, `permission`, `mode`, `usage` or `note`.
    pub kind: String,
    /// More of that, in the protocol's own form.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub body: Value,
}

/// A turn: what was said to a session and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct TurnJson {
    /// What it is called.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub turn_id: TurnId,
    /// Which of its session's turns it is; the first is 1.
    pub number: u64,
    /// How it is.
    pub state: TurnState,
    /// Why it stopped, if an ACP agent carried it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// Who asked.
    pub asked_by: String,
    /// What was said.
    pub message: String,
    /// How many bytes of that are left out after it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub message_cut_bytes: u64,
    /// What the agent said at last.
    pub text: Option<String>,
    /// How many bytes of that are left out after it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub text_cut_bytes: u64,
    /// What went wrong.
    pub error: Option<String>,
    /// The run that carries it out, whose whole output `tenure logs` shows.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub run_id: Option<RunId>,
    /// When it was said.
    pub sent_at_ms: u64,
    /// When the turn began.
    pub began_at_ms: u64,
    /// When it ended.
    pub ended_at_ms: Option<u64>,
}

/// What was ended with a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClosedJson {
    /// The sessions, in the order in which they were closed.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    pub closed: Vec<SessionKey>,
    /// The runs that were ended with them.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    pub runs: Vec<RunId>,
    /// The sessions' runs of which not every process is known to be gone, also if they ended before.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    pub unconfirmed: Vec<RunId>,
    /// What names one of them and was left alone.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
    pub left: Vec<LeftAlone>,
    /// The processes of imported sessions: each was ended because it was proven to be the recorded one, or left alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<ClosedProcess>,
}

/// The process of an imported session that was closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClosedProcess {
    /// The session.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub key: SessionKey,
    /// The recorded pid.
    pub pid: i32,
    /// What is known of it: `gone`, `pid-reused`, `verified` or `unverified`.
    pub process: LegacyProcess,
    /// How that is known, for people: the proof of one that was ended.
    pub why: String,
    /// Everybody of its tree that was told to end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
    pub ended: Vec<ProcessNote>,
    /// Those of them that are still alive.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
    pub survivors: Vec<ProcessNote>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks that way")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
