//! The API: HTTP with JSON on a Unix socket in the state root and, if switched on, on a loopback address.

mod answer;
mod approvals;
mod asking;
mod attach;
mod door;
mod events;
mod foreground;
mod guard;
mod import;
mod input;
mod linger;
mod loopback;
mod mcp;
mod operate;
mod output;
mod receipt;
mod runs;
mod sessions;
mod tasks;
mod tools;
mod unsaid;
mod updates;

pub(crate) use door::{Connections, open, serve};
#[cfg(test)]
#[cfg(unix)]
pub(crate) use door::{Local, too_many_connections};
#[cfg(test)]
#[cfg(unix)]
pub(crate) use guard::Token;

use crate::daemon::Daemon;
use crate::refusal::Refusal;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use std::sync::Arc;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The longest body: an environment and an argument list as large as the system takes, as base64.
pub(crate) const MAX_BODY: usize = 24 << 20;

/// Every route, and the description that is made of them.
fn routes() -> OpenApiRouter<Arc<Daemon>> {
    OpenApiRouter::with_openapi(about())
        .routes(routes!(operate::health))
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
        .routes(routes!(operate::reap))
        .routes(routes!(operate::backup))
        .routes(routes!(operate::shutdown))
        .routes(routes!(operate::metrics))
        .routes(routes!(operate::openapi))
}

fn about() -> OpenApi {
    use utoipa::openapi::{InfoBuilder, OpenApiBuilder};
    let info = InfoBuilder::new()
        .title("Tenure")
        .version(crate::VERSION)
        .description(Some(
            "Holds every process tree that an agent starts: watched, recorded, and ended whole.",
        ))
        .build();
    OpenApiBuilder::new().info(info).build()
}

/// The description of the API.
pub fn description() -> OpenApi {
    routes().into_openapi()
}

pub(crate) fn router(daemon: &Arc<Daemon>) -> Router {
    let (router, _) = routes().split_for_parts();
    mcp::add(router, daemon)
        .fallback(async || {
            Refusal::no_such_route("there is nothing here: GET /openapi.json lists what there is")
        })
        .method_not_allowed_fallback(async || {
            Refusal::method_not_allowed("this address is not used that way: GET /openapi.json lists how")
        })
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(Arc::clone(daemon))
}
