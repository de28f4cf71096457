//! The flags that name the session that a request acts as.

use super::help::LAST;
use super::values::word;
use clap::Args;
use tenure_core::session::Visibility;

#[derive(Debug, Args)]
pub(crate) struct RequesterArgs {
    /// Act as this session.
    #[arg(long = "as", value_name = "KEY", global = true, display_order = LAST - 1)]
    pub(crate) acting_as: Option<String>,
    /// With --as: limit the sessions that it sees [default: the setting].
    ///
    /// `self` is the session itself; `tree` is also what it spawned; `agent` is all sessions of its agent; `all` is also other
    /// agents' sessions that it may reach. The setting is `sessions.visibility`.
    #[arg(long, value_name = "WHICH", global = true, display_order = LAST - 1, value_parser = word(Visibility::ALL, Visibility::word))]
    pub(crate) visibility: Option<Visibility>,
    /// With --as: treat the session as sandboxed.
    ///
    /// A sandboxed session sees only itself and the sessions that it spawned.
    #[arg(long, global = true, display_order = LAST - 1)]
    pub(crate) sandboxed: bool,
}
