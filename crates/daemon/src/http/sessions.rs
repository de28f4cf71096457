//! Routes for sessions: one for the `sessions` tool, and one for each action. Both make the same calls.

use super::default_action::WithDefaultAction;
use super::extractors::Rejection;
use super::extractors::{Body, Caller, CliMarks, Key, QueryParams};
use super::query_params::{Nothing, Replies, RequesterParams, query_params};
use super::receipt::respond;
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
        respond(self.daemon.agents.sessions(request, (None, &self.who)).await?, self.outflow)
    }
}

/// Call the `sessions` tool.
///
/// Without `action`, spawns a session.
#[utoipa::path(post, path = "/v1/sessions", operation_id = "sessions", request_body = SessionsRequest, responses(
    (status = 200, body = SessionsReply), (status = 201, body = SessionsReply, description = "a session was spawned"),
    (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn act(
    Caller { daemon, who, outflow }: Caller,
    cli: CliMarks,
    Body(WithDefaultAction(mut request)): Body<WithDefaultAction<SessionsRequest>>,
) -> Result<(StatusCode, Response), Rejection> {
    let process = request.process.take();
    let process = process.map(|process| CallerProcess::of(&process, cli.is_cli, &who)).transpose()?;
    let status = if request.action == Action::Spawn { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, respond(daemon.agents.sessions(request, (process, &who)).await?, outflow)?))
}

query_params! {
    /// Query parameters of `GET /v1/sessions`.
    pub(super) struct SessionListParams {
        /// Only sessions of this agent.
        agent: Option<String>,
        /// Only sessions of this kind.
        kind: Option<Kind>,
        /// Only sessions with this backend.
        backend: Option<Backend>,
        /// Only sessions in these states, separated by commas.
        state: Option<String>,
        /// Only direct children of this session.
        parent: Option<String>,
        /// Only sessions whose key begins with this.
        prefix: Option<String>,
        /// The `next` value of the previous page.
        after: Option<String>,
        /// Maximum number of items.
        limit: Option<u64>,
    }
}

/// List sessions, the newest first.
#[utoipa::path(get, path = "/v1/sessions", operation_id = "sessions_list", params(SessionListParams), responses(Replies<SessionsReply>))]
pub(super) async fn list(
    caller: Caller,
    QueryParams(params): QueryParams<SessionListParams>,
) -> Result<Response, Rejection> {
    let states = params.state.iter().flat_map(|text| text.split(',')).map(str::parse::<SessionState>);
    let request = SessionsRequest {
        agent: params.agent,
        kind: params.kind,
        backend: params.backend,
        states: states.collect::<Result<_, _>>().map_err(Refusal::bad_request)?,
        parent: params.parent,
        prefix: params.prefix,
        after: params.after,
        limit: params.limit,
        requester: params.requester,
        visibility: params.visibility,
        sandboxed: params.sandboxed,
        ..SessionsRequest::new(Action::List)
    };
    caller.sessions(request).await.map_err(Rejection)
}

impl RequesterParams {
    /// Returns the request for an action on a session.
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

/// Show a session.
#[utoipa::path(get, path = "/v1/sessions/{key}", operation_id = "sessions_status",
    params(("key" = String, Path), RequesterParams), responses(Replies<SessionsReply>))]
pub(super) async fn status(
    caller: Caller,
    key: Key,
    QueryParams(params): QueryParams<RequesterParams>,
) -> Result<Response, Rejection> {
    caller.sessions(params.of_session(Action::Status, key)).await.map_err(Rejection)
}

query_params! {
    /// Query parameters of a session's history and entries.
    pub(super) struct HistoryParams {
        /// The `next` value of the previous page.
        after: Option<String>,
        /// Maximum number of items.
        limit: Option<u64>,
        /// Approximate maximum number of bytes of text.
        max_bytes: Option<u64>,
        /// Newest first.
        newest_first: Option<bool>,
    }
}

impl HistoryParams {
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

/// Get a session's history of messages and answers.
#[utoipa::path(get, path = "/v1/sessions/{key}/history", operation_id = "sessions_history",
    params(("key" = String, Path), HistoryParams), responses(Replies<SessionsReply>))]
pub(super) async fn history(
    caller: Caller,
    key: Key,
    QueryParams(params): QueryParams<HistoryParams>,
) -> Result<Response, Rejection> {
    caller.sessions(params.of(Action::History, key)).await.map_err(Rejection)
}

/// Get the entries of an ACP session: messages, thoughts, tool calls, plans, permissions.
#[utoipa::path(get, path = "/v1/sessions/{key}/entries", operation_id = "sessions_entries",
    params(("key" = String, Path), HistoryParams), responses(Replies<SessionsReply>))]
pub(super) async fn entries(
    caller: Caller,
    key: Key,
    QueryParams(params): QueryParams<HistoryParams>,
) -> Result<Response, Rejection> {
    caller.sessions(params.of(Action::Entries, key)).await.map_err(Rejection)
}

/// Body of the `mode` route.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ModeBody {
    /// The mode's id.
    mode: String,
}

/// Set the mode of an ACP agent.
#[utoipa::path(post, path = "/v1/sessions/{key}/mode", operation_id = "sessions_set_mode",
    params(("key" = String, Path), RequesterParams), request_body = ModeBody, responses(Replies<SessionsReply>))]
pub(super) async fn set_mode(
    caller: Caller,
    key: Key,
    QueryParams(params): QueryParams<RequesterParams>,
    Body(ModeBody { mode }): Body<ModeBody>,
) -> Result<Response, Rejection> {
    let request = SessionsRequest { agent_mode: Some(mode), ..params.of_session(Action::SetMode, key) };
    caller.sessions(request).await.map_err(Rejection)
}

/// Body of the `option` route.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct OptionBody {
    /// The option's id.
    option: String,
    /// The option's new value.
    value: String,
}

/// Set an option of an ACP agent.
#[utoipa::path(post, path = "/v1/sessions/{key}/option", operation_id = "sessions_set_option",
    params(("key" = String, Path), RequesterParams), request_body = OptionBody, responses(Replies<SessionsReply>))]
pub(super) async fn set_option(
    caller: Caller,
    key: Key,
    QueryParams(params): QueryParams<RequesterParams>,
    Body(OptionBody { option, value }): Body<OptionBody>,
) -> Result<Response, Rejection> {
    let (option, value) = (Some(option), Some(value));
    let request = SessionsRequest { option, value, ..params.of_session(Action::SetOption, key) };
    caller.sessions(request).await.map_err(Rejection)
}

/// Body of the `send` route.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SendBody {
    /// The message.
    text: String,
    /// The action if the session is busy.
    when_busy: Option<WhenBusy>,
}

/// Send a message to a session.
///
/// The message begins a turn, or is queued if the session is busy.
#[utoipa::path(post, path = "/v1/sessions/{key}/send", operation_id = "sessions_send",
    params(("key" = String, Path), RequesterParams), request_body = SendBody, responses(Replies<SessionsReply>))]
pub(super) async fn send(
    caller: Caller,
    key: Key,
    QueryParams(params): QueryParams<RequesterParams>,
    Body(SendBody { text, when_busy }): Body<SendBody>,
) -> Result<Response, Rejection> {
    let request = SessionsRequest { text: Some(text), when_busy, ..params.of_session(Action::Send, key) };
    caller.sessions(request).await.map_err(Rejection)
}

/// Body of the `wait` route.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct WaitBody {
    /// The turn. The default is the current or last turn.
    turn_id: Option<String>,
    /// Maximum wait, up to 30000 milliseconds.
    timeout_ms: Option<u64>,
    /// True if the caller sent the message and waits for the answer. If it gets the answer, no notice is sent.
    foreground: Option<bool>,
}

/// Wait for the end of a turn.
///
/// Answers with the turn when it has ended or the time is up.
#[utoipa::path(post, path = "/v1/sessions/{key}/wait", operation_id = "sessions_wait",
    params(("key" = String, Path), RequesterParams), request_body = WaitBody, responses(Replies<SessionsReply>))]
pub(super) async fn wait(
    caller: Caller,
    key: Key,
    QueryParams(params): QueryParams<RequesterParams>,
    Body(WaitBody { turn_id, timeout_ms, foreground }): Body<WaitBody>,
) -> Result<Response, Rejection> {
    let request = SessionsRequest { turn_id, timeout_ms, foreground, ..params.of_session(Action::Wait, key) };
    caller.sessions(request).await.map_err(Rejection)
}

/// Cancel the current turn.
///
/// Queued messages stay queued.
#[utoipa::path(post, path = "/v1/sessions/{key}/cancel", operation_id = "sessions_cancel",
    params(("key" = String, Path), RequesterParams), request_body = Nothing, responses(Replies<SessionsReply>))]
pub(super) async fn cancel(
    caller: Caller,
    key: Key,
    QueryParams(params): QueryParams<RequesterParams>,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Response, Rejection> {
    caller.sessions(params.of_session(Action::Cancel, key)).await.map_err(Rejection)
}

/// Body of the `close` route.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct CloseBody {
    /// The reason, for people.
    reason: Option<String>,
    /// Delete the session's record and history, so that its key can be used again.
    discard: Option<bool>,
}

/// Close a session.
///
/// Ends everything that it owns, children first.
#[utoipa::path(post, path = "/v1/sessions/{key}/close", operation_id = "sessions_close",
    params(("key" = String, Path), RequesterParams), request_body = CloseBody, responses(Replies<SessionsReply>))]
pub(super) async fn close(
    caller: Caller,
    key: Key,
    QueryParams(params): QueryParams<RequesterParams>,
    Body(CloseBody { reason, discard }): Body<CloseBody>,
) -> Result<Response, Rejection> {
    let request = SessionsRequest { reason, discard, ..params.of_session(Action::Close, key) };
    caller.sessions(request).await.map_err(Rejection)
}
