//! The flags that name the session as which a request is made.

use super::values::word;
use clap::Args;
use tenure_core::session::Visibility;

#[derive(Debug, Args)]
pub(crate) struct WhoArgs {
    /// Act as this session.
    #[arg(long = "as", value_name = "KEY", global = true)]
    pub(crate) requester: Option<String>,
    /// With --as: limit the sessions that it sees [default: the setting].
    ///
    /// The setting is `sessions.visibility`.
    #[arg(long, value_name = "WHICH", global = true, value_parser = word(Visibility::ALL, Visibility::word))]
    pub(crate) visibility: Option<Visibility>,
    /// With --as: treat the session as sandboxed.
    ///
    /// It then sees only itself and what it spawned.
    #[arg(long, global = true)]
    pub(crate) sandboxed: bool,
}
