//! MCP: an upgraded connection on the Unix socket serves one client; `/mcp` serves clients over HTTP.

use super::extractors::Body;
use super::extractors::Identity;
use super::extractors::Rejection;
use super::listen::Local;
use crate::daemon::Daemon;
use crate::mcp::{Client, stateless_session};
use axum::Router;
use axum::extract::{FromRequest, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::api::Problem;
use tenure_core::defaults;
use tenure_core::tools::{CLI_HEADER, ClientRequest, MCP_PROTOCOL, MCP_SESSION_HEADER};
use tenure_supervisor::Phase;
use tenure_supervisor::Refusal;
use tenure_supervisor::sync::until;
use tokio_util::sync::CancellationToken;

/// Idle time after which an MCP session over HTTP ends.
const IDLE_TIMEOUT: Duration = Duration::from_secs(3600);

/// Connect as an MCP client.
///
/// On the Unix socket only: the connection becomes the client's stream, with one JSON message per line.
#[utoipa::path(post, path = "/v1/mcp", request_body = ClientRequest, responses(
    (status = 101, description = "with `Upgrade: tenure-mcp`: the client's stream"),
    (status = "4XX", body = Problem, content_type = "application/problem+json"), (status = "5XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn client(
    State(daemon): State<Arc<Daemon>>,
    Identity(who): Identity,
    mut request: Request,
) -> Result<Response, Rejection> {
    let upgrade = request.extensions_mut().remove::<OnUpgrade>();
    let local = request.extensions().get::<Local>().is_some();
    let asked = request.headers().get(header::UPGRADE);
    let asked = asked.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(MCP_PROTOCOL.as_bytes()));
    let from_cli = local && request.headers().contains_key(CLI_HEADER);
    let Body(asked_for) = Body::<ClientRequest>::from_request(request, &daemon).await?;
    let (Some(upgrade), true, true) = (upgrade, local, asked) else {
        return Err(Refusal::bad_request(
            "this route needs `Upgrade: tenure-mcp` on the Unix socket: over HTTP, use /mcp",
        )
        .into());
    };
    if daemon.supervisor.lifecycle.is_draining() {
        return Err(Refusal::draining("the daemon is shutting down: connect again in a moment").into());
    }
    let names_none = asked_for.session_key.is_none();
    let tools = Client::local(&daemon, asked_for, from_cli, &who)?;
    let created = names_none.then(|| tools.session().to_owned());
    tokio::spawn(async move {
        let Ok(upgraded) = upgrade.await else { return };
        let mut phase = daemon.supervisor.lifecycle.phase.subscribe();
        tokio::select! {
            () = tenure_mcp::serve_stream(tools, TokioIo::new(upgraded)) => {}
            // Not before the daemon has released its runs.
            () = until(&mut phase, |phase| *phase == Phase::Gone) => {}
        }
    });
    let mut switched = Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header(header::CONNECTION, "upgrade")
        .header(header::UPGRADE, MCP_PROTOCOL);
    if let Some(session) = created {
        // A client that loses the connection names the session to the next daemon.
        switched = switched.header(MCP_SESSION_HEADER, session);
    }
    switched.body(axum::body::Body::empty()).map_err(Refusal::internal).map_err(Rejection)
}

/// Adds the route `/mcp`. Its requests are already authenticated.
pub(super) fn add(router: Router<Arc<Daemon>>, daemon: &Arc<Daemon>) -> Router<Arc<Daemon>> {
    let shutdown = CancellationToken::new();
    let (mut phase, cancelled) = (daemon.supervisor.lifecycle.phase.subscribe(), shutdown.clone());
    tokio::spawn(async move {
        until(&mut phase, |phase| *phase == Phase::Gone).await;
        cancelled.cancel();
    });
    let (own, shared, state) = (Arc::clone(daemon), Arc::clone(daemon), Arc::clone(daemon));
    let service = tenure_mcp::service(
        move || Client::over_http(&own),
        move || Ok(Client::without_session(&shared)),
        (IDLE_TIMEOUT, defaults::MCP_HTTP_SESSIONS),
        shutdown,
    );
    tokio::spawn(resume_shared_session(Arc::clone(daemon), service.clone()));
    let route = Router::new().route_service("/mcp", service);
    router.merge(route.route_layer(from_fn_with_state(state, refuse_sessions)))
}

/// Starts the idle time of the shared session anew after a restart, because its clients do not notice the new daemon.
async fn resume_shared_session(daemon: Arc<Daemon>, service: tenure_mcp::Service<Client>) {
    let Ok(key) = stateless_session(&daemon.supervisor.instance).parse() else { return };
    let began = match daemon.supervisor.registry.session(key).await {
        Ok(Some(session)) if session.row.state.is_open() => {
            service.begin_shared().map_err(|why| why.to_string())
        }
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    };
    if let Err(error) = began {
        tracing::error!(error, "cannot resume the shared MCP session: its runs end soon");
    }
}

/// Refuses clients that are bound to a session: a client over HTTP gets a session without a parent.
async fn refuse_sessions(
    Identity(who): Identity,
    request: Request,
    next: Next,
) -> Result<Response, Rejection> {
    if who.only_session().is_some() {
        let why = format!(
            "{who} cannot connect as an MCP client over HTTP: use `tenure mcp`, which creates a child session"
        );
        return Err(Refusal::forbidden(why).into());
    }
    Ok(next.run(request).await)
}
