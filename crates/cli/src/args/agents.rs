//! The command line of `tenure agents`.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(after_help = sections!(
    notes: "\
In config.toml, [agents.NAME] describes an agent's command, and [agents.NAME.acp] its ACP adapter. Such a table adds an \
agent, or changes keys of a built-in one.",
    codes: usual_codes!(),
    examples: ["tenure agents", "tenure agents list --json"],
))]
pub(crate) struct AgentsArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<AgentsVerb>,
    /// Print JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentsVerb {
    /// List agents (same as `tenure agents`).
    #[command(after_help = sections!(
        notes: concat!(heading!("Columns"), "
  BACKEND  cli: a command for each turn; acp: one adapter for all turns
  FROM     built-in, overridden (changed in config.toml), or own (only there)
  SILENCE  the no-output limit of a turn, in a new and in a resumed conversation
  IDLE     the time after which an idle adapter is ended
  PROGRAM  the command's program, as found in PATH"),
        codes: usual_codes!(),
        examples: ["tenure agents list", "tenure agents list --json"],
    ))]
    List,
}
