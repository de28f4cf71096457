//! MCP: one client's connection on the Unix socket becomes its stream; over HTTP there are many at `/mcp`.

use super::answer::Body;
use super::answer::Rejection;
use super::answer::Who;
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

/// How long a session over HTTP stays that nobody uses.
const IDLE: Duration = Duration::from_secs(3600);

/// Become an MCP client on the Unix socket: JSON, a message a line.
#[utoipa::path(post, path = "/v1/mcp", request_body = ClientRequest, responses(
    (status = 101, description = "with `Upgrade: tenure-mcp`: the client's stream"),
    (status = "4XX", body = Problem, content_type = "application/problem+json"), (status = "5XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn client(
    State(daemon): State<Arc<Daemon>>,
    Who(who): Who,
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
            "this is for clients on the Unix socket that ask for `Upgrade: tenure-mcp`; over HTTP MCP is at /mcp",
        ).into());
    };
    if daemon.supervisor.lifecycle.is_draining() {
        return Err(Refusal::draining("the daemon is leaving: connect again in a moment").into());
    }
    let names_none = asked_for.session_key.is_none();
    let tools = Client::local(&daemon, asked_for, from_cli, &who)?;
    let made = names_none.then(|| tools.session().to_owned());
    tokio::spawn(async move {
        let Ok(upgraded) = upgrade.await else { return };
        let mut phase = daemon.supervisor.lifecycle.phase.subscribe();
        tokio::select! {
            () = tenure_mcp::serve_stream(tools, TokioIo::new(upgraded)) => {}
            // Not before its runs were left to go on.
            () = until(&mut phase, |phase| *phase == Phase::Gone) => {}
        }
    });
    let mut switched = Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header(header::CONNECTION, "upgrade")
        .header(header::UPGRADE, MCP_PROTOCOL);
    if let Some(made) = made {
        // Whoever loses the connection names it to the next daemon.
        switched = switched.header(MCP_SESSION_HEADER, made);
    }
    switched.body(axum::body::Body::empty()).map_err(Refusal::internal).map_err(Rejection)
}

/// Adds `/mcp`. The daemon's guard has let its requests in.
pub(super) fn add(router: Router<Arc<Daemon>>, daemon: &Arc<Daemon>) -> Router<Arc<Daemon>> {
    let leaving = CancellationToken::new();
    let (mut phase, left) = (daemon.supervisor.lifecycle.phase.subscribe(), leaving.clone());
    tokio::spawn(async move {
        until(&mut phase, |phase| *phase == Phase::Gone).await;
        left.cancel();
    });
    let (own, shared, state) = (Arc::clone(daemon), Arc::clone(daemon), Arc::clone(daemon));
    let service = tenure_mcp::service(
        move || Client::over_http(&own),
        move || Ok(Client::without_session(&shared)),
        (IDLE, defaults::MCP_HTTP_SESSIONS),
        leaving,
    );
    tokio::spawn(go_on(Arc::clone(daemon), service.clone()));
    let route = Router::new().route_service("/mcp", service);
    router.merge(route.route_layer(from_fn_with_state(state, no_member)))
}

/// Clients without a session do not notice that there is another daemon: what they have gets the whole of its time again.
async fn go_on(daemon: Arc<Daemon>, service: tenure_mcp::Service<Client>) {
    let Ok(key) = stateless_session(&daemon.supervisor.instance).parse() else { return };
    let began = match daemon.supervisor.registry.session(key).await {
        Ok(Some(session)) if session.row.state.is_open() => {
            service.begin_shared().map_err(|why| why.to_string())
        }
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    };
    if let Err(error) = began {
        tracing::error!(error, "the runs of MCP clients without a session are ended soon");
    }
}

/// Refuses sessions: a client over HTTP gets a session that is below no other.
async fn no_member(Who(who): Who, request: Request, next: Next) -> Result<Response, Rejection> {
    if who.only_session().is_some() {
        let why =
            format!("{who} cannot become an MCP client over HTTP: use `tenure mcp`, which stays below it");
        return Err(Refusal::forbidden(why).into());
    }
    Ok(next.run(request).await)
}
