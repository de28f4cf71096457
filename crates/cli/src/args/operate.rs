//! The command lines of what operators ask of the daemon and of the program itself.

use clap::Args;
use clap_complete::Shell;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  tenure why 3f2")]
pub(crate) struct WhyArgs {
    /// The run; any unique beginning of its id.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The daemon does this by itself at its start and whenever a lease expires. What cannot be proven is left alone.

Examples:
  tenure reap --dry-run
  tenure reap --session agent:main:7")]
pub(crate) struct ReapArgs {
    /// Only say what would be done.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Only this run.
    #[arg(long, value_name = "ID", group = "which")]
    pub(crate) run: Option<String>,
    /// Only this session's runs.
    #[arg(long, value_name = "KEY", group = "which")]
    pub(crate) session: Option<String>,
    /// Only this agent's runs.
    #[arg(long, value_name = "NAME", group = "which")]
    pub(crate) agent: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Each event has a number; --since takes the last one that was seen.

Examples:
  tenure events --since 0
  tenure events -f --json")]
pub(crate) struct EventsArgs {
    /// Go on as more happens.
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Begin after this event [default: the beginning, with -f the newest].
    #[arg(long, value_name = "SEQ")]
    pub(crate) since: Option<u64>,
    /// Print JSON, one event a line.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  tenure metrics | grep run_exit")]
pub(crate) struct MetricsArgs {}

#[derive(Debug, Args)]
#[command(after_help = "\
The copy is whole and consistent, and can be made at any time. To use it, stop the daemon and put it in the registry's place.

Example:
  tenure backup /backups/tenure-$(date +%F).db")]
pub(crate) struct BackupArgs {
    /// The new file.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = "\
This is for an agent's configuration: it speaks JSON-RPC and nothing else. Commands start in the directory and with
the environment that it was started with. What still runs when the client leaves is ended; `mcp.on-leave = \"keep\"`
in config.toml keeps it.

Examples:
  claude mcp add tenure -- tenure mcp
  tenure mcp --session agent:main:7")]
pub(crate) struct McpArgs {
    /// The session to act as [default: one of its own].
    #[arg(long, value_name = "KEY")]
    pub(crate) session: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  tenure completions bash > ~/.local/share/bash-completion/completions/tenure")]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_name = "SHELL", value_enum)]
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  tenure man target/man && man target/man/tenure-run.1")]
pub(crate) struct ManArgs {
    /// The directory; it is made if it is not there.
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}
