//! The command line of `tenure sessions import`.

use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = sections!(
    notes: "\
Reads the files *.json directly in DIR: records of acpx, or plain records (see docs/import.md). Importing the same \
records again changes nothing. No process is signalled: a live process that belongs to a session is named and left \
alone.",
    codes: "
  0  every record is imported
  1  a record was not imported, or the import failed
  2  wrong usage",
    examples: [
        "tenure sessions import ~/.acpx/sessions --dry-run",
        "tenure sessions import ./records --wrapper-root ~/.openclaw/acpx --json",
    ],
))]
pub(crate) struct SessionsImportArgs {
    /// Directory of the records.
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Print what would be imported, and import nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Directory of the generated wrappers that recorded commands name.
    #[arg(long, value_name = "DIR")]
    pub(crate) wrapper_root: Option<PathBuf>,
}
