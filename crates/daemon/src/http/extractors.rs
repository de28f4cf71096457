//! Extractors of the handlers: body, query, path parameters, requester. Each of them answers errors as problem JSON.

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

/// JSON body of a request. An empty body counts as an empty object.
pub(super) struct Body<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<Arc<Daemon>> for Body<T> {
    type Rejection = Rejection;

    async fn from_request(request: Request, daemon: &Arc<Daemon>) -> Result<Self, Rejection> {
        let too_large = || {
            Refusal::too_large(format!(
                "the request body is too large: the limit is {} bytes",
                super::MAX_BODY
            ))
        };
        if request.body().size_hint().lower() > super::MAX_BODY as u64 {
            return Err(too_large().into());
        }
        let bytes =
            Bytes::from_request(request, daemon).await.map_err(|rejection| match rejection.status() {
                StatusCode::PAYLOAD_TOO_LARGE => too_large(),
                _ => Refusal::bad_request(rejection.body_text()),
            })?;
        let text: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
        // Serde would read a list as the fields in their order.
        if text.trim_ascii_start().first() == Some(&b'[') {
            return Err(Refusal::bad_request("invalid request body: expected an object at line 1").into());
        }
        let invalid = |why: &dyn Display| {
            Refusal::bad_request(format!("invalid request body: {}", in_json_words(&why.to_string())))
        };
        let mut json = serde_json::Deserializer::from_slice(text);
        // The error includes the path of the field.
        let body = serde_path_to_error::deserialize(&mut json).map_err(|error| invalid(&error))?;
        json.end().map_err(|error| invalid(&error))?;
        Ok(Self(body))
    }
}

/// Replaces the names of Rust's types in an error of serde with those of JSON.
fn in_json_words(why: &str) -> String {
    let words = [
        ("unknown variant", "unknown value"),
        ("a sequence", "a list"),
        ("a map", "an object"),
        (": sequence,", ": list,"),
        (": map,", ": object,"),
        (": unit value,", ": null,"),
    ];
    let numbers = ["u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64"];
    let mut text = words.iter().fold(why.to_owned(), |text, (rust, json)| text.replace(rust, json));
    for number in numbers {
        text = text.replace(&format!("expected {number} at"), "expected a whole number at");
    }
    if let Some((before, rest)) = text.split_once("expected struct ") {
        let rest = rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
        text = format!("{before}expected an object{rest}");
    }
    text
}

/// Extractors of path parameters, percent-decoded. A parameter that cannot be decoded names nothing that exists.
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
    /// Id in the path: of a run, an approval request or an allowlist entry.
    Id or no_such_run;
    /// Session key in the path.
    Key or no_such_session;
    /// Task lookup in the path.
    Lookup or no_such_task;
}

/// Query parameters. Unknown names are refused.
pub(super) struct QueryParams<T>(pub(super) T);

impl<T: DeserializeOwned + Send> FromRequestParts<Arc<Daemon>> for QueryParams<T> {
    type Rejection = Rejection;

    async fn from_request_parts(parts: &mut Parts, daemon: &Arc<Daemon>) -> Result<Self, Rejection> {
        match Query::<T>::from_request_parts(parts, daemon).await {
            Ok(Query(params)) => Ok(Self(params)),
            Err(rejection) => {
                let why = rejection.body_text();
                let why = why.strip_prefix("Failed to deserialize query string: ").unwrap_or(&why);
                Err(Refusal::bad_request(format!("invalid query: {}", in_json_words(why))).into())
            }
        }
    }
}

/// The client that sent the request.
pub(super) struct Identity(pub(super) Requester);

impl FromRequestParts<Arc<Daemon>> for Identity {
    type Rejection = Rejection;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<Daemon>) -> Result<Self, Rejection> {
        let who = parts.extensions.get::<Requester>().cloned();
        let who = who.ok_or_else(|| Refusal::internal("internal error: request has no peer information"))?;
        Ok(Self(who))
    }
}

/// Marks of our own command line, accepted on the local socket only: whether it is the caller, and the run id that it
/// chose.
pub(super) struct CliMarks {
    pub(super) is_cli: bool,
    pub(super) run: Option<RunId>,
}

impl FromRequestParts<Arc<Daemon>> for CliMarks {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<Daemon>) -> Result<Self, Infallible> {
        let is_local = parts.extensions.get::<Local>().is_some();
        let is_cli = is_local && parts.headers.contains_key(CLI_HEADER);
        let run =
            parts.headers.get(RUN_HEADER).filter(|_| is_cli).and_then(|id| id.to_str().ok()?.parse().ok());
        Ok(Self { is_cli, run })
    }
}

/// Extractor of everything that a call of the `sessions` or `tasks` tool needs beside its parameters.
pub(super) struct Caller {
    pub(super) daemon: Arc<Daemon>,
    pub(super) who: Requester,
    pub(super) outflow: Outflow,
}

impl FromRequestParts<Arc<Daemon>> for Caller {
    type Rejection = Rejection;

    async fn from_request_parts(parts: &mut Parts, daemon: &Arc<Daemon>) -> Result<Self, Rejection> {
        let Identity(who) = Identity::from_request_parts(parts, daemon).await?;
        let Extension(outflow) =
            Extension::from_request_parts(parts, daemon).await.map_err(Refusal::internal)?;
        Ok(Self { daemon: Arc::clone(daemon), who, outflow })
    }
}
