//! What every call on sessions and tasks takes beside its own, and what each answers.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use tenure_core::api::Problem;
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{IntoResponses, ToSchema};

/// What stands after the question mark, and who asks. An address is read flat, so the fields cannot be nested.
macro_rules! asks {
    ($(#[$doc:meta])* $vis:vis struct $name:ident { $($(#[$of:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Default, serde::Deserialize, utoipa::IntoParams)]
        #[serde(rename_all = "camelCase", deny_unknown_fields, default)]
        #[into_params(parameter_in = Query)]
        $vis struct $name {
            $($(#[$of])* pub(super) $field: $type,)*
            /// The session that asks. A caller that is bound to a session can name no other.
            #[serde(rename = "as")]
            pub(super) requester: Option<String>,
            /// Which sessions it may see; without it, as the settings say.
            pub(super) visibility: Option<tenure_core::session::Visibility>,
            /// Whether it is shut in.
            pub(super) sandboxed: Option<bool>,
        }
    };
}

pub(super) use asks;

asks! {
    /// Who asks.
    pub(super) struct WhoAsks {}
}

/// Nothing is to be said.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

/// The answers of a call, as the description of the API has them: its reply, or why not. Both are described where the
/// tool itself is.
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
