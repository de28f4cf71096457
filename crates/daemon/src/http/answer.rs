//! Requests that are understood or refused by name, and answers in one shape.

use crate::daemon::Daemon;
use crate::refusal::Refusal;
use crate::requester::Requester;
use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;
use std::sync::Arc;

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self.problem()).unwrap_or_default();
        (status, [(header::CONTENT_TYPE, "application/problem+json")], body).into_response()
    }
}

/// A body of JSON. No body is an empty object.
pub(super) struct Body<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<Arc<Daemon>> for Body<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, daemon: &Arc<Daemon>) -> Result<Self, Refusal> {
        let bytes =
            Bytes::from_request(request, daemon).await.map_err(|rejection| match rejection.status() {
                StatusCode::PAYLOAD_TOO_LARGE => Refusal::too_large(rejection.body_text()),
                _ => Refusal::bad_request(rejection.body_text()),
            })?;
        let text: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
        serde_json::from_slice(text)
            .map(Self)
            .map_err(|error| Refusal::bad_request(format!("the body is not understood: {error}")))
    }
}

/// What stands after the question mark; an unknown name is refused.
pub(super) struct Asks<T>(pub(super) T);

impl<T: DeserializeOwned + Send> FromRequestParts<Arc<Daemon>> for Asks<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, daemon: &Arc<Daemon>) -> Result<Self, Refusal> {
        match Query::<T>::from_request_parts(parts, daemon).await {
            Ok(Query(asks)) => Ok(Self(asks)),
            Err(rejection) => Err(Refusal::bad_request(rejection.body_text())),
        }
    }
}

/// Who asks; the door has found that out.
impl FromRequestParts<Arc<Daemon>> for Requester {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<Daemon>) -> Result<Self, Refusal> {
        let who = parts.extensions.get::<Requester>().cloned();
        who.ok_or_else(|| Refusal::internal("a request that came through no door"))
    }
}
