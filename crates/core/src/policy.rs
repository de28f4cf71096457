//! What the exec tool may run without asking.

use serde::{Deserialize, Serialize};

/// When a person is asked before a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Ask {
    /// Never.
    #[default]
    Off,
    /// If the allowlist does not have it.
    OnMiss,
    /// Always.
    Always,
}
