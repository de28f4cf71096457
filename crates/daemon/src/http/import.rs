//! Sessions that others recorded.

use super::answer::Body;
use super::answer::Rejection;
use super::answer::Who;
use crate::daemon::Daemon;
use axum::Json;
use axum::extract::State;
use std::sync::Arc;
use tenure_core::api::{ImportReport, ImportRequest, Problem};
use tenure_supervisor::Refusal;
use tenure_supervisor::Requester;

/// Take in the sessions whose records lie in a directory. No process is signalled.
#[utoipa::path(post, path = "/v1/sessions/import", operation_id = "import_sessions", request_body = ImportRequest,
    responses((status = 200, body = ImportReport),
        (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn import(
    State(daemon): State<Arc<Daemon>>,
    Who(who): Who,
    Body(request): Body<ImportRequest>,
) -> Result<Json<ImportReport>, Rejection> {
    operator(&who)?;
    // What was begun is finished, whether or not the client is still there to hear of it.
    let importing = tokio::spawn(async move { tenure_import::import(&daemon.agents, request).await });
    Ok(Json(importing.await.map_err(Refusal::internal)??))
}

/// Refuses sessions: an import creates sessions from files, with any key.
fn operator(who: &Requester) -> Result<(), Refusal> {
    match who {
        Requester::Operator { .. } | Requester::Member { session: None, .. } => Ok(()),
        Requester::Client { .. } | Requester::Member { session: Some(_), .. } => Err(Refusal::forbidden(
            format!("{who} cannot import sessions: an operator can, outside of all sessions"),
        )),
    }
}
