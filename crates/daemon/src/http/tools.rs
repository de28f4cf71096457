//! Routes for the agent's tools. A caller of `exec` that disconnects ends its command.

use super::extractors::Identity;
use super::extractors::Rejection;
use super::extractors::{Body, CliMarks};
use super::receipt::respond;
use crate::daemon::Daemon;
use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use std::sync::Arc;
use tenure_core::api::Problem;
use tenure_core::tools::{ExecReply, ExecRequest, ProcessReply, ProcessRequest};
use tenure_mcp::Outflow;
use tenure_supervisor::start_request::CallerProcess;

/// Run a command line.
///
/// Answers when the command has ended or continues in the background.
#[utoipa::path(post, path = "/v1/exec", request_body = ExecRequest, responses(
    (status = 200, body = ExecReply), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn exec(
    State(daemon): State<Arc<Daemon>>,
    Identity(who): Identity,
    cli: CliMarks,
    Extension(outflow): Extension<Outflow>,
    Body(mut request): Body<ExecRequest>,
) -> Result<Response, Rejection> {
    let process = request.process.take();
    let caller = process.map(|process| CallerProcess::of(&process, cli.is_cli, &who)).transpose()?;
    respond(daemon.exec_as(cli.run, request, (caller, &who), |_| {}).await?, outflow).map_err(Rejection)
}

/// Manage commands started by exec (poll, log, write, kill).
#[utoipa::path(post, path = "/v1/process", request_body = ProcessRequest, responses(
    (status = 200, body = ProcessReply), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn process(
    State(daemon): State<Arc<Daemon>>,
    Identity(who): Identity,
    Extension(outflow): Extension<Outflow>,
    Body(request): Body<ProcessRequest>,
) -> Result<Response, Rejection> {
    respond(daemon.process(request, &who).await?, outflow).map_err(Rejection)
}
