//! Query parameters and responses that the routes of sessions and tasks have in common.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use tenure_core::api::Problem;
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{IntoResponses, ToSchema};

/// Defines query parameters together with those of the requester. Query strings are flat, so a nested struct is impossible.
macro_rules! query_params {
    ($(#[$doc:meta])* $vis:vis struct $name:ident { $($(#[$of:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Default, serde::Deserialize, utoipa::IntoParams)]
        #[serde(rename_all = "camelCase", deny_unknown_fields, default)]
        #[into_params(parameter_in = Query)]
        $vis struct $name {
            $($(#[$of])* pub(super) $field: $type,)*
            /// The requesting session. A client that is bound to a session cannot name another.
            #[serde(rename = "as")]
            pub(super) requester: Option<String>,
            /// Sessions that it may see. The default is in the settings.
            pub(super) visibility: Option<tenure_core::session::Visibility>,
            /// Treat the requesting session as sandboxed.
            pub(super) sandboxed: Option<bool>,
        }
    };
}

pub(super) use query_params;

query_params! {
    /// Query parameters of the requester.
    pub(super) struct RequesterParams {}
}

/// Empty body.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

/// Responses of a route in the `OpenAPI` document: the tool's reply, or a problem.
pub(super) struct Replies<T>(PhantomData<T>);

impl<T: ToSchema> IntoResponses for Replies<T> {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let answer = |kind: &str, name: &str| {
            let content = ContentBuilder::new().schema(Some(Ref::from_schema_name(name))).build();
            RefOr::T(ResponseBuilder::new().content(kind, content).build())
        };
        let refused = answer("application/problem+json", &Problem::name());
        BTreeMap::from([
            ("200".to_owned(), answer("application/json", &T::name())),
            ("4XX".to_owned(), refused),
        ])
    }
}
