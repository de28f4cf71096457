//! The API: HTTP with JSON on a Unix socket in the state root and, if configured, on a loopback address.

mod admin;
mod approvals;
mod attach;
mod default_action;
mod events;
mod extractors;
mod foreground;
mod import;
mod input;
mod lingering_close;
mod listen;
mod loopback;
mod loopback_auth;
mod mcp;
mod output;
mod query_params;
mod receipt;
mod runs;
mod sessions;
mod tasks;
mod tools;
mod updates;

pub(crate) use listen::{Connections, open, serve};
#[cfg(test)]
#[cfg(unix)]
pub(crate) use listen::{Local, too_many_connections};
#[cfg(test)]
#[cfg(unix)]
pub(crate) use loopback_auth::Token;

use crate::daemon::Daemon;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use extractors::Rejection;
use std::sync::Arc;
use tenure_supervisor::Refusal;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Maximum size of a request body, in bytes: the largest environment and argument list of the system, as base64.
pub(crate) const MAX_BODY: usize = 24 << 20;

/// All routes, with their `OpenAPI` descriptions.
fn routes() -> OpenApiRouter<Arc<Daemon>> {
    OpenApiRouter::with_openapi(about())
        .routes(routes!(admin::health))
        .routes(routes!(runs::list, runs::start))
        .routes(routes!(runs::show, runs::remove))
        .routes(routes!(runs::cancel))
        .routes(routes!(runs::cancel_many))
        .routes(routes!(runs::wait))
        .routes(routes!(runs::tree))
        .routes(routes!(runs::why))
        .routes(routes!(input::stdin))
        .routes(routes!(input::keys))
        .routes(routes!(input::paste))
        .routes(routes!(input::submit))
        .routes(routes!(input::resize))
        .routes(routes!(input::screen))
        .routes(routes!(output::output))
        .routes(routes!(attach::attach))
        .routes(routes!(tools::exec))
        .routes(routes!(tools::process))
        .routes(routes!(sessions::list, sessions::act))
        .routes(routes!(sessions::status))
        .routes(routes!(sessions::history))
        .routes(routes!(sessions::entries))
        .routes(routes!(updates::updates))
        .routes(routes!(sessions::set_mode))
        .routes(routes!(sessions::set_option))
        .routes(routes!(sessions::send))
        .routes(routes!(sessions::wait))
        .routes(routes!(sessions::cancel))
        .routes(routes!(sessions::close))
        .routes(routes!(tasks::list, tasks::act))
        .routes(routes!(tasks::audit))
        .routes(routes!(tasks::maintenance))
        .routes(routes!(tasks::reset))
        .routes(routes!(tasks::show))
        .routes(routes!(tasks::notify))
        .routes(routes!(tasks::cancel))
        .routes(routes!(tasks::retry))
        .routes(routes!(tasks::acknowledge))
        .routes(routes!(approvals::list))
        .routes(routes!(approvals::allow_once))
        .routes(routes!(approvals::allow_always))
        .routes(routes!(approvals::deny))
        .routes(routes!(approvals::choose))
        .routes(routes!(approvals::allowlist, approvals::allow))
        .routes(routes!(approvals::disallow))
        .routes(routes!(import::import))
        .routes(routes!(events::events))
        .routes(routes!(mcp::client))
        .routes(routes!(admin::reap))
        .routes(routes!(admin::backup))
        .routes(routes!(admin::shutdown))
        .routes(routes!(admin::metrics))
        .routes(routes!(admin::openapi))
}

fn about() -> OpenApi {
    use utoipa::openapi::{InfoBuilder, OpenApiBuilder};
    let info = InfoBuilder::new()
        .title("Tenure")
        .version(tenure_supervisor::VERSION)
        .description(Some(
            "Runs process trees for agents: starts, watches, records and stops each tree as a whole.",
        ))
        .build();
    OpenApiBuilder::new().info(info).build()
}

/// Returns the `OpenAPI` document.
pub fn description() -> OpenApi {
    routes().into_openapi()
}

pub(crate) fn router(daemon: &Arc<Daemon>) -> Router {
    let (router, _) = routes().split_for_parts();
    mcp::add(router, daemon)
        .fallback(async || {
            Rejection(Refusal::no_such_route("no route has this path: GET /openapi.json lists all routes"))
        })
        .method_not_allowed_fallback(async || {
            Rejection(Refusal::method_not_allowed(
                "this route does not support the method: GET /openapi.json lists its methods",
            ))
        })
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(Arc::clone(daemon))
}
