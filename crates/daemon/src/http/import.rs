//! Route for the import of sessions.

use super::extractors::Body;
use super::extractors::Identity;
use super::extractors::Rejection;
use crate::daemon::Daemon;
use axum::Json;
use axum::extract::State;
use std::sync::Arc;
use tenure_core::api::{ImportReport, ImportRequest, Problem};
use tenure_supervisor::Refusal;
use tenure_supervisor::Requester;

/// Import recorded sessions from a directory.
///
/// Signals no process. For operators only, outside of all sessions.
#[utoipa::path(post, path = "/v1/sessions/import", operation_id = "import_sessions", request_body = ImportRequest,
    responses((status = 200, body = ImportReport),
        (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn import(
    State(daemon): State<Arc<Daemon>>,
    Identity(who): Identity,
    Body(request): Body<ImportRequest>,
) -> Result<Json<ImportReport>, Rejection> {
    operator(&who)?;
    // A task of its own, so that the import is completed even if the client disconnects.
    let importing = tokio::spawn(async move { tenure_import::import(&daemon.agents, request).await });
    Ok(Json(importing.await.map_err(Refusal::internal)??))
}

/// Refuses sessions: an import creates sessions from files, with any key.
fn operator(who: &Requester) -> Result<(), Refusal> {
    match who {
        Requester::Operator { .. } | Requester::Member { session: None, .. } => Ok(()),
        Requester::Client { .. } | Requester::Member { session: Some(_), .. } => Err(Refusal::forbidden(
            format!("{who} cannot import sessions: only an operator can, outside of all sessions"),
        )),
    }
}
