//! Sessions over HTTP: the tool at one address, and an address for each session. Both are the same calls.

mod or_spawn;

use super::answer::{Asks, Body};
use crate::daemon::Daemon;
use crate::refusal::Refusal;
use crate::requester::Requester;
use axum::Json;
use axum::extract::{FromRequestParts, Path, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use or_spawn::OrSpawn;
use serde::Deserialize;
use std::sync::Arc;
use tenure_core::api::Problem;
use tenure_core::session::{Backend, Kind, SessionState, Visibility};
use tenure_core::tools::sessions::{Action, SessionsReply, SessionsRequest, WhenBusy};
use utoipa::{IntoParams, ToSchema};

/// The session that an address names, percent-encoded. What cannot be a key is the key of no session.
pub(super) struct Key(String);

impl FromRequestParts<Arc<Daemon>> for Key {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, daemon: &Arc<Daemon>) -> Result<Self, Refusal> {
        match Path::<String>::from_request_parts(parts, daemon).await {
            Ok(Path(key)) => Ok(Self(key)),
            Err(rejection) => Err(Refusal::no_such_session(rejection.body_text())),
        }
    }
}

/// Do something with sessions. Without `action`, spawn one.
#[utoipa::path(post, path = "/v1/sessions", operation_id = "sessions", request_body = SessionsRequest, responses(
    (status = 200, body = SessionsReply), (status = 201, body = SessionsReply, description = "a session was spawned"),
    (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn act(
    State(daemon): State<Arc<Daemon>>,
    who: Requester,
    Body(OrSpawn(request)): Body<OrSpawn>,
) -> Result<(StatusCode, Json<SessionsReply>), Refusal> {
    let status = if request.action == Action::Spawn { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(daemon.sessions(request, &who).await?)))
}

/// Which sessions, and who asks.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
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
    /// The session that asks. A caller that is bound to a session can name no other.
    #[serde(rename = "as")]
    requester: Option<String>,
    /// Which sessions it may see; without it, as the settings say.
    visibility: Option<Visibility>,
    /// Whether it is shut in.
    sandboxed: Option<bool>,
}

/// List sessions, the newest first.
#[utoipa::path(get, path = "/v1/sessions", operation_id = "sessions_list", params(ListAsks), responses(
    (status = 200, body = SessionsReply), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn list(
    State(daemon): State<Arc<Daemon>>,
    who: Requester,
    Asks(asks): Asks<ListAsks>,
) -> Result<Json<SessionsReply>, Refusal> {
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
    Ok(Json(daemon.sessions(request, &who).await?))
}

/// Who asks.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct WhoAsks {
    /// The session that asks. A caller that is bound to a session can name no other.
    #[serde(rename = "as")]
    requester: Option<String>,
    /// Which sessions it may see; without it, as the settings say.
    visibility: Option<Visibility>,
    /// Whether it is shut in.
    sandboxed: Option<bool>,
}

impl WhoAsks {
    /// That this is to be done with a session.
    fn with(self, action: Action, Key(key): Key) -> SessionsRequest {
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
    params(("key" = String, Path), WhoAsks), responses(
    (status = 200, body = SessionsReply), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn status(
    State(daemon): State<Arc<Daemon>>,
    who: Requester,
    key: Key,
    Asks(asks): Asks<WhoAsks>,
) -> Result<Json<SessionsReply>, Refusal> {
    Ok(Json(daemon.sessions(asks.with(Action::Status, key), &who).await?))
}

/// Which turns, and who asks.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct HistoryAsks {
    /// Where the page begins: the `next` of the page before.
    after: Option<String>,
    /// At most so many.
    limit: Option<u64>,
    /// At most about so many bytes of text.
    max_bytes: Option<u64>,
    /// Whether the newest turns come first.
    newest_first: Option<bool>,
    /// The session that asks. A caller that is bound to a session can name no other.
    #[serde(rename = "as")]
    requester: Option<String>,
    /// Which sessions it may see; without it, as the settings say.
    visibility: Option<Visibility>,
    /// Whether it is shut in.
    sandboxed: Option<bool>,
}

/// What was said in a session.
#[utoipa::path(get, path = "/v1/sessions/{key}/history", operation_id = "sessions_history",
    params(("key" = String, Path), HistoryAsks), responses(
    (status = 200, body = SessionsReply), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn history(
    State(daemon): State<Arc<Daemon>>,
    who: Requester,
    Key(key): Key,
    Asks(asks): Asks<HistoryAsks>,
) -> Result<Json<SessionsReply>, Refusal> {
    let request = SessionsRequest {
        session_key: Some(key),
        after: asks.after,
        limit: asks.limit,
        max_bytes: asks.max_bytes,
        newest_first: asks.newest_first,
        requester: asks.requester,
        visibility: asks.visibility,
        sandboxed: asks.sandboxed,
        ..SessionsRequest::new(Action::History)
    };
    Ok(Json(daemon.sessions(request, &who).await?))
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
    params(("key" = String, Path), WhoAsks), request_body = SendBody, responses(
    (status = 200, body = SessionsReply), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn send(
    State(daemon): State<Arc<Daemon>>,
    who: Requester,
    key: Key,
    Asks(asks): Asks<WhoAsks>,
    Body(SendBody { text, when_busy }): Body<SendBody>,
) -> Result<Json<SessionsReply>, Refusal> {
    let request = SessionsRequest { text: Some(text), when_busy, ..asks.with(Action::Send, key) };
    Ok(Json(daemon.sessions(request, &who).await?))
}

/// Which turn is waited for.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct WaitBody {
    /// Which turn; without it, the one that is under way or was last.
    turn_id: Option<String>,
    /// How long to wait, up to 30000 milliseconds.
    timeout_ms: Option<u64>,
}

/// Wait for the end of a turn. Answers with the turn as it is then, or as it is when the time is up.
#[utoipa::path(post, path = "/v1/sessions/{key}/wait", operation_id = "sessions_wait",
    params(("key" = String, Path), WhoAsks), request_body = WaitBody, responses(
    (status = 200, body = SessionsReply), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn wait(
    State(daemon): State<Arc<Daemon>>,
    who: Requester,
    key: Key,
    Asks(asks): Asks<WhoAsks>,
    Body(WaitBody { turn_id, timeout_ms }): Body<WaitBody>,
) -> Result<Json<SessionsReply>, Refusal> {
    let request = SessionsRequest { turn_id, timeout_ms, ..asks.with(Action::Wait, key) };
    Ok(Json(daemon.sessions(request, &who).await?))
}

/// Nothing is to be said.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CancelBody {}

/// End the turn that is under way; what waits goes on.
#[utoipa::path(post, path = "/v1/sessions/{key}/cancel", operation_id = "sessions_cancel",
    params(("key" = String, Path), WhoAsks), request_body = CancelBody, responses(
    (status = 200, body = SessionsReply), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn cancel(
    State(daemon): State<Arc<Daemon>>,
    who: Requester,
    key: Key,
    Asks(asks): Asks<WhoAsks>,
    Body(CancelBody {}): Body<CancelBody>,
) -> Result<Json<SessionsReply>, Refusal> {
    Ok(Json(daemon.sessions(asks.with(Action::Cancel, key), &who).await?))
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
    params(("key" = String, Path), WhoAsks), request_body = CloseBody, responses(
    (status = 200, body = SessionsReply), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn close(
    State(daemon): State<Arc<Daemon>>,
    who: Requester,
    key: Key,
    Asks(asks): Asks<WhoAsks>,
    Body(CloseBody { reason, discard }): Body<CloseBody>,
) -> Result<Json<SessionsReply>, Refusal> {
    let request = SessionsRequest { reason, discard, ..asks.with(Action::Close, key) };
    Ok(Json(daemon.sessions(request, &who).await?))
}
