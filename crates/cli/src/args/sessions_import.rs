//! The command line of `tenure sessions import`.

use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "\
Reads the files *.json right in DIR: acpx's records, or plain ones, see docs/import.md. No process is signalled: one that
is alive and proven to be a session's is left to whoever has it, and named. Importing again changes nothing.

Exit codes: 0; 1 if something was not taken in.

Examples:
  tenure sessions import ~/.acpx/sessions --dry-run
  tenure sessions import ./records --wrapper-root ~/.openclaw/acpx --json")]
pub(crate) struct SessionsImportArgs {
    /// Where the records are.
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Only say what would be done.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Below which directory the generated wrappers of this installation lie, as their commands name it.
    #[arg(long, value_name = "DIR")]
    pub(crate) wrapper_root: Option<PathBuf>,
}
