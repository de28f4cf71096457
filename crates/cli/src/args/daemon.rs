//! The command line of `tenure daemon`.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(after_help = "\
The daemon starts itself on first use; TENURE_NO_AUTOSTART=1 turns that off.

Examples:
  tenure daemon start
  tenure daemon status
  tenure daemon stop
  tenure daemon stop --cancel-runs")]
pub(crate) struct DaemonArgs {
    #[command(subcommand)]
    pub(crate) verb: DaemonVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DaemonVerb {
    /// Start the daemon, if none is running.
    Start,
    /// Be the daemon, in sight: it logs to standard error until it is told to leave.
    Run(ServeArgs),
    /// Make the daemon leave; runs go on without it.
    Stop(StopArgs),
    /// Say whether a daemon is running; exits 1 if none is.
    Status(StatusArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Started by Tenure itself, which waits on standard input.
    #[arg(long, hide = true)]
    pub(crate) detached: bool,
    /// Start it again if it dies.
    #[arg(long, hide = true, requires = "detached")]
    pub(crate) restart: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StopArgs {
    /// End every run first.
    #[arg(long)]
    pub(crate) cancel_runs: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
