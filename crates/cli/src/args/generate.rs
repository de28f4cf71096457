//! The command lines of `tenure completions` and `tenure man`, whose output is generated from the command line.

use clap::Args;
use clap_complete::Shell;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = sections!(
    codes: usual_codes!(),
    examples: ["tenure completions bash > ~/.local/share/bash-completion/completions/tenure"],
))]
pub(crate) struct CompletionsArgs {
    /// Shell.
    #[arg(value_name = "SHELL", value_enum)]
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
#[command(after_help = sections!(
    codes: usual_codes!(),
    examples: ["tenure man target/man && man target/man/tenure-run.1"],
))]
pub(crate) struct ManArgs {
    /// Directory; it is created if it does not exist.
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}
