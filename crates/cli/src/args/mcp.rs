//! The command line of `tenure mcp`.

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = sections!(
    notes: "\
For an agent's configuration: stdin and stdout carry JSON-RPC only. Commands start in this process's directory and with \
its environment. When the client disconnects, its live commands are ended; with `mcp.on-leave = \"keep\"` in config.toml they \
continue.",
    codes: usual_codes!(),
    examples: ["claude mcp add tenure -- tenure mcp", "tenure mcp --session agent:main:7"],
))]
pub(crate) struct McpArgs {
    /// Act as this session [default: a session of its own].
    #[arg(long, value_name = "KEY")]
    pub(crate) session: Option<String>,
}
