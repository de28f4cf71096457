//! The command line of `tenure agents`.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(after_help = "\
A table [agents.NAME] in config.toml describes the command of one more, [agents.NAME.acp] its ACP adapter; or they
change the built-in ones key by key.

Examples:
  tenure agents
  tenure agents list --json")]
pub(crate) struct AgentsArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<AgentsVerb>,
    /// Print JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentsVerb {
    /// List the agents; what `tenure agents` alone does.
    #[command(after_help = "\
BACKEND cli: its command is started for each turn; acp: its adapter goes on from turn to turn
FROM    built-in, overridden (built-in, and changed in config.toml), or own (from config.toml alone)
SILENCE how long a turn may give no output: in a new conversation, and in one that goes on
IDLE    how long an adapter is kept that has nothing to do
PROGRAM what its command is on this PATH

Examples:
  tenure agents list
  tenure agents list --json")]
    List,
}
