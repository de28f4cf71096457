//! The command lines of `tenure sessions`.

use super::SessionsImportArgs;
use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure sessions import ~/.acpx/sessions --dry-run")]
pub(crate) struct SessionsArgs {
    #[command(subcommand)]
    pub(crate) verb: SessionsVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsVerb {
    /// Take in sessions that acpx or others recorded.
    Import(SessionsImportArgs),
}
