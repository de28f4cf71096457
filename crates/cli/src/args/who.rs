//! As whom something is asked.

use super::values::word;
use clap::Args;
use tenure_core::session::Visibility;

#[derive(Debug, Args)]
pub(crate) struct WhoArgs {
    /// Act as this session.
    #[arg(long = "as", value_name = "KEY", global = true)]
    pub(crate) requester: Option<String>,
    /// With --as: which sessions it may see [default: as the settings say].
    #[arg(long, value_name = "WHICH", global = true, value_parser = word(Visibility::ALL, Visibility::word))]
    pub(crate) visibility: Option<Visibility>,
    /// With --as: it is shut in, and sees only itself and what it spawned.
    #[arg(long, global = true)]
    pub(crate) sandboxed: bool,
}
