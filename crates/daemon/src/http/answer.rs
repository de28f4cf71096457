//! Requests that are understood or refused by name, and answers in one shape.

use super::listen::Local;
use crate::daemon::Daemon;
use axum::Extension;
use axum::body::{Bytes, HttpBody};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;
use std::convert::Infallible;
use std::fmt::Display;
use std::sync::Arc;
use tenure_core::ids::RunId;
use tenure_core::tools::{CLI_HEADER, RUN_HEADER};
use tenure_mcp::Outflow;
use tenure_supervisor::Refusal;
use tenure_supervisor::Requester;

/// A refusal as the response of a handler.
pub(crate) struct Rejection(pub(crate) Refusal);

impl<T: Into<Refusal>> From<T> for Rejection {
    fn from(refusal: T) -> Self {
        Self(refusal.into())
    }
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self.0.problem()).unwrap_or_default();
        let mut response =
            (status, [(header::CONTENT_TYPE, "application/problem+json")], body).into_response();
        if status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// A body of JSON. No body is an empty object.
pub(super) struct Body<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<Arc<Daemon>> for Body<T> {
    type Rejection = Rejection;

    async fn from_request(request: Request, daemon: &Arc<Daemon>) -> Result<Self, Rejection> {
        let too_large = || Refusal::too_large(format!("a body has at most {} bytes", super::MAX_BODY));
        if request.body().size_hint().lower() > super::MAX_BODY as u64 {
            return Err(too_large().into());
        }
        let bytes =
            Bytes::from_request(request, daemon).await.map_err(|rejection| match rejection.status() {
                StatusCode::PAYLOAD_TOO_LARGE => too_large(),
                _ => Refusal::bad_request(rejection.body_text()),
            })?;
        let text: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
        // A list would be taken for the fields in their order.
        if text.trim_ascii_start().first() == Some(&b'[') {
            return Err(
                Refusal::bad_request("the body is not understood: it is to be an object, at line 1").into()
            );
        }
        let not_understood =
            |why: &dyn Display| Refusal::bad_request(format!("the body is not understood: {why}"));
        let mut json = serde_json::Deserializer::from_slice(text);
        // The error names the field that it is about.
        let understood =
            serde_path_to_error::deserialize(&mut json).map_err(|error| not_understood(&error))?;
        json.end().map_err(|error| not_understood(&error))?;
        Ok(Self(understood))
    }
}

/// What an address names, percent-encoded. What cannot be read is the name of nothing.
macro_rules! named {
    ($($(#[$doc:meta])* $name:ident or $refusal:ident;)*) => {$(
        $(#[$doc])*
        pub(super) struct $name(pub(super) String);

        impl FromRequestParts<Arc<Daemon>> for $name {
            type Rejection = Rejection;

            async fn from_request_parts(parts: &mut Parts, daemon: &Arc<Daemon>) -> Result<Self, Rejection> {
                match Path::<String>::from_request_parts(parts, daemon).await {
                    Ok(Path(name)) => Ok(Self(name)),
                    Err(rejection) => Err(Refusal::$refusal(rejection.body_text()).into()),
                }
            }
        }
    )*};
}

named! {
    /// The run that an address names.
    Id or no_such_run;
    /// The session that an address names.
    Key or no_such_session;
    /// The task that an address names.
    Lookup or no_such_task;
}

/// What stands after the question mark; an unknown name is refused.
pub(super) struct Asks<T>(pub(super) T);

impl<T: DeserializeOwned + Send> FromRequestParts<Arc<Daemon>> for Asks<T> {
    type Rejection = Rejection;

    async fn from_request_parts(parts: &mut Parts, daemon: &Arc<Daemon>) -> Result<Self, Rejection> {
        match Query::<T>::from_request_parts(parts, daemon).await {
            Ok(Query(asks)) => Ok(Self(asks)),
            Err(rejection) => Err(Refusal::bad_request(rejection.body_text()).into()),
        }
    }
}

/// The client that sent the request.
pub(super) struct Who(pub(super) Requester);

impl FromRequestParts<Arc<Daemon>> for Who {
    type Rejection = Rejection;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<Daemon>) -> Result<Self, Rejection> {
        let who = parts.extensions.get::<Requester>().cloned();
        let who = who.ok_or_else(|| Refusal::internal("a request that came through no door"))?;
        Ok(Self(who))
    }
}

/// Whether the caller is our own command line, on the local socket, and which run it names.
pub(super) struct FromCli {
    pub(super) is_cli: bool,
    pub(super) run: Option<RunId>,
}

impl FromRequestParts<Arc<Daemon>> for FromCli {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<Daemon>) -> Result<Self, Infallible> {
        let is_local = parts.extensions.get::<Local>().is_some();
        let is_cli = is_local && parts.headers.contains_key(CLI_HEADER);
        let run =
            parts.headers.get(RUN_HEADER).filter(|_| is_cli).and_then(|id| id.to_str().ok()?.parse().ok());
        Ok(Self { is_cli, run })
    }
}

/// Who calls, and whom.
pub(super) struct Caller {
    pub(super) daemon: Arc<Daemon>,
    pub(super) who: Requester,
    pub(super) outflow: Outflow,
}

impl FromRequestParts<Arc<Daemon>> for Caller {
    type Rejection = Rejection;

    async fn from_request_parts(parts: &mut Parts, daemon: &Arc<Daemon>) -> Result<Self, Rejection> {
        let Who(who) = Who::from_request_parts(parts, daemon).await?;
        let Extension(outflow) =
            Extension::from_request_parts(parts, daemon).await.map_err(Refusal::internal)?;
        Ok(Self { daemon: Arc::clone(daemon), who, outflow })
    }
}
