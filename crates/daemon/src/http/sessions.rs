//! Sessions over HTTP: the tool at one address, and an address for each session. Both are the same calls.

use super::answer::Rejection;
use super::answer::{Asks, Body, Caller, FromCli, Key};
use super::default_action::OrUnsaid;
use super::query_params::{Nothing, Replies, WhoAsks, asks};
use super::receipt::receipted;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use tenure_core::api::Problem;
use tenure_core::session::{Backend, Kind, SessionState};
use tenure_core::tools::sessions::{Action, SessionsReply, SessionsRequest, WhenBusy};
use tenure_supervisor::Refusal;
use tenure_supervisor::start_request::CallerProcess;
use utoipa::ToSchema;

impl Caller {
    async fn sessions(self, request: SessionsRequest) -> Result<Response, Refusal> {
        receipted(self.daemon.agents.sessions(request, (None, &self.who)).await?, self.outflow)
    }
}

/// Do something with sessions. Without `action`, spawn one.
#[utoipa::path(post, path = "/v1/sessions", operation_id = "sessions", request_body = SessionsRequest, responses(
    (status = 200, body = SessionsReply), (status = 201, body = SessionsReply, description = "a session was spawned"),
    (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn act(
    Caller { daemon, who, outflow }: Caller,
    cli: FromCli,
    Body(OrUnsaid(mut request)): Body<OrUnsaid<SessionsRequest>>,
) -> Result<(StatusCode, Response), Rejection> {
    let process = request.process.take();
    let process = process.map(|process| CallerProcess::of(&process, cli.is_cli, &who)).transpose()?;
    let status = if request.action == Action::Spawn { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, receipted(daemon.agents.sessions(request, (process, &who)).await?, outflow)?))
}

asks! {
    /// Which sessions, and who asks.
    pub(super) struct ListAsks {
        /// Only this agent's.
        agent: Option<String>,
        /// Only those that are this to their agent.
        kind: Option<Kind>,
        /// Only those whose turns this carries out.
        backend: Option<Backend>,
        /// Only those in these states, separated by commas.
        state: Option<String>,
        /// Only those right below this session.
        parent: Option<String>,
        /// Only those whose key begins with this.
        prefix: Option<String>,
        /// Where the page begins: the `next` of the page before.
        after: Option<String>,
        /// At most so many.
        limit: Option<u64>,
    }
}

/// List sessions, the newest first.
#[utoipa::path(get, path = "/v1/sessions", operation_id = "sessions_list", params(ListAsks), responses(Replies<SessionsReply>))]
pub(super) async fn list(caller: Caller, Asks(asks): Asks<ListAsks>) -> Result<Response, Rejection> {
    let states = asks.state.iter().flat_map(|text| text.split(',')).map(str::parse::<SessionState>);
    let request = SessionsRequest {
        agent: asks.agent,
        kind: asks.kind,
        backend: asks.backend,
        states: states.collect::<Result<_, _>>().map_err(Refusal::bad_request)?,
        parent: asks.parent,
        prefix: asks.prefix,
        after: asks.after,
        limit: asks.limit,
        requester: asks.requester,
        visibility: asks.visibility,
        sandboxed: asks.sandboxed,
        ..SessionsRequest::new(Action::List)
    };
    caller.sessions(request).await.map_err(Rejection)
}

impl WhoAsks {
    /// That this is to be done with a session.
    fn of_session(self, action: Action, Key(key): Key) -> SessionsRequest {
        SessionsRequest {
            session_key: Some(key),
            requester: self.requester,
            visibility: self.visibility,
            sandboxed: self.sandboxed,
            ..SessionsRequest::new(action)
        }
    }
}

/// Show how a session is.
#[utoipa::path(get, path = "/v1/sessions/{key}", operation_id = "sessions_status",
    params(("key" = String, Path), WhoAsks), responses(Replies<SessionsReply>))]
pub(super) async fn status(
    caller: Caller,
    key: Key,
    Asks(asks): Asks<WhoAsks>,
) -> Result<Response, Rejection> {
    caller.sessions(asks.of_session(Action::Status, key)).await.map_err(Rejection)
}

asks! {
    /// Which part of a history, and who asks.
    pub(super) struct HistoryAsks {
        /// Where the page begins: the `next` of the page before.
        after: Option<String>,
        /// At most so many.
        limit: Option<u64>,
        /// At most about so many bytes of text.
        max_bytes: Option<u64>,
        /// Whether the newest come first.
        newest_first: Option<bool>,
    }
}

impl HistoryAsks {
    fn of(self, action: Action, Key(key): Key) -> SessionsRequest {
        SessionsRequest {
            session_key: Some(key),
            after: self.after,
            limit: self.limit,
            max_bytes: self.max_bytes,
            newest_first: self.newest_first,
            requester: self.requester,
            visibility: self.visibility,
            sandboxed: self.sandboxed,
            ..SessionsRequest::new(action)
        }
    }
}

/// What was said in a session.
#[utoipa::path(get, path = "/v1/sessions/{key}/history", operation_id = "sessions_history",
    params(("key" = String, Path), HistoryAsks), responses(Replies<SessionsReply>))]
pub(super) async fn history(
    caller: Caller,
    key: Key,
    Asks(asks): Asks<HistoryAsks>,
) -> Result<Response, Rejection> {
    caller.sessions(asks.of(Action::History, key)).await.map_err(Rejection)
}

/// What happened in a session of an ACP agent: messages, thoughts, tool calls, plans, permissions.
#[utoipa::path(get, path = "/v1/sessions/{key}/entries", operation_id = "sessions_entries",
    params(("key" = String, Path), HistoryAsks), responses(Replies<SessionsReply>))]
pub(super) async fn entries(
    caller: Caller,
    key: Key,
    Asks(asks): Asks<HistoryAsks>,
) -> Result<Response, Rejection> {
    caller.sessions(asks.of(Action::Entries, key)).await.map_err(Rejection)
}

/// In which mode.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ModeBody {
    /// The mode's id.
    mode: String,
}

/// Have an ACP agent work in another of its modes.
#[utoipa::path(post, path = "/v1/sessions/{key}/mode", operation_id = "sessions_set_mode",
    params(("key" = String, Path), WhoAsks), request_body = ModeBody, responses(Replies<SessionsReply>))]
pub(super) async fn set_mode(
    caller: Caller,
    key: Key,
    Asks(asks): Asks<WhoAsks>,
    Body(ModeBody { mode }): Body<ModeBody>,
) -> Result<Response, Rejection> {
    let request = SessionsRequest { agent_mode: Some(mode), ..asks.of_session(Action::SetMode, key) };
    caller.sessions(request).await.map_err(Rejection)
}

/// Which option, and what it is set to.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct OptionBody {
    /// The option's id.
    option: String,
    /// What it is set to.
    value: String,
}

/// Set one of an ACP agent's own options.
#[utoipa::path(post, path = "/v1/sessions/{key}/option", operation_id = "sessions_set_option",
    params(("key" = String, Path), WhoAsks), request_body = OptionBody, responses(Replies<SessionsReply>))]
pub(super) async fn set_option(
    caller: Caller,
    key: Key,
    Asks(asks): Asks<WhoAsks>,
    Body(OptionBody { option, value }): Body<OptionBody>,
) -> Result<Response, Rejection> {
    let (option, value) = (Some(option), Some(value));
    let request = SessionsRequest { option, value, ..asks.of_session(Action::SetOption, key) };
    caller.sessions(request).await.map_err(Rejection)
}

/// What is said.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SendBody {
    /// What is said.
    text: String,
    /// What it is to do if the session is busy.
    when_busy: Option<WhenBusy>,
}

/// Say something to a session: it begins a turn, or waits for one.
#[utoipa::path(post, path = "/v1/sessions/{key}/send", operation_id = "sessions_send",
    params(("key" = String, Path), WhoAsks), request_body = SendBody, responses(Replies<SessionsReply>))]
pub(super) async fn send(
    caller: Caller,
    key: Key,
    Asks(asks): Asks<WhoAsks>,
    Body(SendBody { text, when_busy }): Body<SendBody>,
) -> Result<Response, Rejection> {
    let request = SessionsRequest { text: Some(text), when_busy, ..asks.of_session(Action::Send, key) };
    caller.sessions(request).await.map_err(Rejection)
}

/// Which turn is waited for.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct WaitBody {
    /// Which turn; without it, the one that is under way or was last.
    turn_id: Option<String>,
    /// How long to wait, up to 30000 milliseconds.
    timeout_ms: Option<u64>,
    /// Whether the caller sent the message and waits for its answer: once it has that, nobody else is told.
    foreground: Option<bool>,
}

/// Wait for the end of a turn. Answers with the turn as it is then, or as it is when the time is up.
#[utoipa::path(post, path = "/v1/sessions/{key}/wait", operation_id = "sessions_wait",
    params(("key" = String, Path), WhoAsks), request_body = WaitBody, responses(Replies<SessionsReply>))]
pub(super) async fn wait(
    caller: Caller,
    key: Key,
    Asks(asks): Asks<WhoAsks>,
    Body(WaitBody { turn_id, timeout_ms, foreground }): Body<WaitBody>,
) -> Result<Response, Rejection> {
    let request = SessionsRequest { turn_id, timeout_ms, foreground, ..asks.of_session(Action::Wait, key) };
    caller.sessions(request).await.map_err(Rejection)
}

/// End the turn that is under way; what waits goes on.
#[utoipa::path(post, path = "/v1/sessions/{key}/cancel", operation_id = "sessions_cancel",
    params(("key" = String, Path), WhoAsks), request_body = Nothing, responses(Replies<SessionsReply>))]
pub(super) async fn cancel(
    caller: Caller,
    key: Key,
    Asks(asks): Asks<WhoAsks>,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Response, Rejection> {
    caller.sessions(asks.of_session(Action::Cancel, key)).await.map_err(Rejection)
}

/// How a session is closed.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct CloseBody {
    /// Why, for people.
    reason: Option<String>,
    /// Whether its record and what was said in it are forgotten, so that its key can be used anew.
    discard: Option<bool>,
}

/// End a session and all that it owns, children first.
#[utoipa::path(post, path = "/v1/sessions/{key}/close", operation_id = "sessions_close",
    params(("key" = String, Path), WhoAsks), request_body = CloseBody, responses(Replies<SessionsReply>))]
pub(super) async fn close(
    caller: Caller,
    key: Key,
    Asks(asks): Asks<WhoAsks>,
    Body(CloseBody { reason, discard }): Body<CloseBody>,
) -> Result<Response, Rejection> {
    let request = SessionsRequest { reason, discard, ..asks.of_session(Action::Close, key) };
    caller.sessions(request).await.map_err(Rejection)
}
