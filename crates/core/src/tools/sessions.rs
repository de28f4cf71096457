//! `sessions`: manages sessions.

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

/// The action of `sessions`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Create a session; with `task`, begin its first turn.
    Spawn,
    /// List the sessions.
    List,
    /// Show the messages and answers of a session.
    History,
    /// Show the events of an ACP agent's session: messages, thoughts, tool calls, plans, permissions.
    Entries,
    /// Send a message to a session: it begins a turn, or is queued.
    Send,
    /// Show the status of a session.
    Status,
    /// Wait for the end of a turn.
    Wait,
    /// Cancel the running turn; queued messages stay.
    Cancel,
    /// Close a session and all that it owns, children first.
    Close,
    /// Switch the mode of an ACP agent.
    SetMode,
    /// Set an option of an ACP agent.
    SetOption,
    /// Answer a permission request of an ACP agent.
    Answer,
}

/// The treatment of a message to a busy session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WhenBusy {
    /// Queue it until the session is idle.
    #[default]
    Queue,
    /// Pass it to the running turn if the agent supports that, else queue it.
    Steer,
    /// Refuse it.
    Refuse,
}

/// The request of `sessions`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionsRequest {
    /// The action.
    pub action: Action,
    /// The session, for every action but `list`; for `spawn`, the key of the new session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    /// For `spawn`: the agent of the new session; for `list`: only sessions of this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// For `spawn`: the backend that runs its turns, `acp`, `cli` or `exec`; for `list`: only sessions with this
    /// backend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<Backend>,
    /// For `spawn`: the kind of session; for `list`: only sessions of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// For `spawn`: the lifetime, `persistent` or `oneshot`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// For `spawn`: the parent session. Default: the requesting session. For `list`: only its direct children.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// For `spawn`: a name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// For `spawn`: the first message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// For `spawn`: the working directory of its turns, absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// For `spawn`: the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// For `spawn`: the time limit of a turn; for `wait`: the longest wait, up to 30000 milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// For `spawn` with `acp`: the policy for the agent's permission requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    /// For `spawn`: the conversation in the gateway that the session comes from.
    #[serde(default, deserialize_with = "known_origin", skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// For `spawn`: the party that the session talks to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interaction: Option<Interaction>,
    /// For `spawn`: true to sandbox the session: it sees only itself and the sessions that it spawns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<bool>,
    /// For `list`: only sessions in one of these states.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<SessionState>,
    /// For `list`: only sessions whose key begins with this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// For `list`, `history` and `entries`: the `next` value of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// For `list`, `history` and `entries`: the maximum number of items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// For `history` and `entries`: the approximate maximum size of the texts, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// For `history` and `entries`: true for the newest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newest_first: Option<bool>,
    /// For `send`: the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// For `send`: the treatment of the message if the session is busy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when_busy: Option<WhenBusy>,
    /// For `wait`: the turn. Default: the running one, else the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// For `wait`: true if the caller sent the message and waits for its answer. Once it has the answer, nobody
    /// else is told; if it disconnects before, the turn goes on in the background and its end is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreground: Option<bool>,
    /// For `close`: the reason, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// For `close`: true to remove its record and history as well, so that its key can be used again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discard: Option<bool>,
    /// For `set-mode`: the id of the mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_mode: Option<String>,
    /// For `answer`: the id of the permission request, as `status` lists it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// For `set-option`: the id of the option; for `answer`: the id of one of the offered answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    /// For `set-option`: the new value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The requesting session. A caller that is bound to a session can name no other.
    #[serde(rename = "as", default, skip_serializing_if = "Option::is_none")]
    pub requester: Option<String>,
    /// The sessions that the requester may see. Default: as the settings say. A caller that is bound to a session
    /// can only reduce it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Visibility>,
    /// True to treat the requester as sandboxed; a session that is recorded as sandboxed always is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandboxed: Option<bool>,
    /// The calling process. A started agent gets its PATH, and the variables that the agent's description passes
    /// on. Only for our own command line: refused from all other clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub process: Option<Exact>,
}

impl SessionsRequest {
    /// Makes a request with an action and nothing else.
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

/// The origin in a request: unknown fields are refused here, but not in records, which a later version may have
/// written.
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

/// The reply of `sessions`. Fields that do not belong to the action are left out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct SessionsReply {
    /// For `spawn`, `status`, `set-mode` and `set-option`: the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionJson>,
    /// For `list`: the sessions, the newest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<Vec<SessionJson>>,
    /// For `history`: the turns. For `entries`: the turns of the entries, with the beginnings of their texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<Vec<TurnJson>>,
    /// For `entries`: the entries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries: Option<Vec<EntryJson>>,
    /// For `history`: the session's waiting notices. They count as delivered if the session itself reads them here.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<Object>>))]
    pub notices: Option<Vec<Notice>>,
    /// For `list`, `history` and `entries`: the value of `after` for the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// For `wait` and `cancel`: the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnJson>,
    /// For `send`, and `spawn` with a task: the delivery of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent: Option<Sent>,
    /// For `close`: the sessions and runs that were ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed: Option<ClosedJson>,
}

/// The delivery of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Delivery {
    /// The message began a turn.
    Started,
    /// The message is queued.
    Queued,
    /// The message was passed to the running turn.
    Steered,
}

/// An accepted message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Sent {
    /// The delivery.
    pub delivery: Delivery,
    /// The turn of the message, now or later.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub turn_id: TurnId,
    /// The number of messages before it in the queue.
    pub ahead: u64,
    /// The difference between the request and its execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct SessionJson {
    /// The session's row: ownership and state.
    #[serde(flatten)]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub row: SessionRow,
    /// The label.
    pub label: Option<String>,
    /// The agent's own id of the conversation.
    pub agent_session_id: Option<String>,
    /// The number of turns, including a running one.
    pub turns: u64,
    /// The number of queued messages.
    pub queued: u64,
    /// For `status`: the running turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_turn: Option<TurnJson>,
    /// For `status`: the live runs, at most a hundred.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<String>>))]
    pub live_runs: Option<Vec<RunId>>,
    /// For `status` of an ACP agent's session: the open permission requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Approval>,
    /// For `status` of an ACP agent's session: the live adapter, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter: Option<AdapterJson>,
}

/// An ACP agent's adapter process, which lives from turn to turn, and its own information.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AdapterJson {
    /// The run's id.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub run_id: RunId,
    /// The agent's name and version, as the agent reports them.
    pub agent: Option<String>,
    /// The agent's own id of the conversation.
    pub agent_session_id: Option<String>,
    /// True if a new adapter process can resume the conversation.
    pub resumes: bool,
    /// The present mode.
    pub mode: Option<String>,
    /// The available modes: ids and names.
    pub modes: Vec<Named>,
    /// The agent's options and their values, in the protocol's own form.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
    pub options: Vec<Value>,
}

/// An id with a name for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Named {
    /// The id.
    pub id: String,
    /// The name.
    pub name: String,
}

/// An entry of a session's history. An entry in progress may be sent again under its number with new content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct EntryJson {
    /// The entry's number in the history; the first is 1.
    pub number: u64,
    /// The turn.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub turn_id: Option<TurnId>,
    /// The time when it began.
    pub at_ms: u64,
    /// `user`, `agent`, `thought`, `tool`, `plan`, `permission`, `mode`, `usage` or `note`.
    pub kind: String,
    /// The content, in the protocol's own form.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub body: Value,
}

/// A turn: a message to a session, and the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct TurnJson {
    /// The turn's id.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub turn_id: TurnId,
    /// The turn's number in its session; the first is 1.
    pub number: u64,
    /// The state.
    pub state: TurnState,
    /// The reason why an ACP agent stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// The sender of the message.
    pub asked_by: String,
    /// The message.
    pub message: String,
    /// The number of bytes that are cut off the message.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub message_cut_bytes: u64,
    /// The agent's final text.
    pub text: Option<String>,
    /// The number of bytes that are cut off the text.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub text_cut_bytes: u64,
    /// The error.
    pub error: Option<String>,
    /// The run of the turn; `tenure logs` shows its whole output.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub run_id: Option<RunId>,
    /// The time when the message was sent.
    pub sent_at_ms: u64,
    /// The time when the turn began.
    pub began_at_ms: u64,
    /// The time when the turn ended.
    pub ended_at_ms: Option<u64>,
}

/// The sessions, runs and processes that were ended with a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClosedJson {
    /// The sessions, in the order in which they were closed.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    pub closed: Vec<SessionKey>,
    /// The runs that were ended.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    pub runs: Vec<RunId>,
    /// The runs of these sessions of which some process may still be alive, including runs that ended before.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    pub unconfirmed: Vec<RunId>,
    /// The sessions that claim to belong to a closed one, and were left alone.
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
    /// The evidence about it: `gone`, `pid-reused`, `verified` or `unverified`.
    pub process: LegacyProcess,
    /// The reason for that, for people; for an ended process, the proof.
    pub why: String,
    /// The processes of its tree that were signalled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
    pub ended: Vec<ProcessNote>,
    /// The signalled processes that are still alive.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
    pub survivors: Vec<ProcessNote>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks that way")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
