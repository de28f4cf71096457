//! The command line of `tenure daemon`.

use clap::{Args, Subcommand, ValueEnum};
use tenure_core::identity::Identity;

#[derive(Debug, Args)]
#[command(after_help = "\
The daemon starts itself on first use; TENURE_NO_AUTOSTART=1 turns that off. A second process, its warden, starts it
again if it dies, and replaces it if it shows no sign of life for 60 s (TENURE_DAEMON_REPLACE_AFTER). Runs go on meanwhile.

Examples:
  tenure daemon start
  tenure daemon status
  tenure daemon stop
  tenure daemon stop --cancel-runs
  tenure daemon install --now")]
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
    /// Make the daemon leave, or end one that hangs; runs go on without it.
    Stop(StopArgs),
    /// Say whether a daemon runs and answers; exits 1 if not.
    Status(StatusArgs),
    /// Let the system start the daemon: write a unit for its service manager.
    Install(InstallArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Started by Tenure itself, which waits on standard input.
    #[arg(long, hide = true)]
    pub(crate) detached: bool,
    /// Start it again if it dies.
    #[arg(long, hide = true, requires = "detached")]
    pub(crate) restart: bool,
    /// Watch this daemon, whose warden is gone, and start the next one.
    #[arg(long, hide = true, requires = "detached", conflicts_with = "restart", value_parser = identity)]
    pub(crate) watch: Option<Identity>,
    /// Started by whoever starts it again if it dies.
    #[arg(long, hide = true, conflicts_with = "detached")]
    pub(crate) warded: bool,
}

/// A process that another process of ours names.
fn identity(text: &str) -> Result<Identity, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
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

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "the flags of a command line are bools")]
#[command(after_help = "\
The unit delegates its cgroup, so that each run gets one of its own, and leaves runs alone when the daemon stops.
A user's daemon also needs lingering, or it ends with the user's last session: this enables it, or says how.
Change an installed unit with `systemctl edit`, not in its file, which the next install replaces.

Examples:
  tenure daemon install --now
  sudo tenure daemon install --system
  tenure daemon install --print
  tenure daemon install --print --manager launchd")]
pub(crate) struct InstallArgs {
    /// For this user [default, unless the user is root].
    #[arg(long, conflicts_with = "system")]
    pub(crate) user: bool,
    /// For the whole system, as root.
    #[arg(long)]
    pub(crate) system: bool,
    /// Print the unit and change nothing.
    #[arg(long)]
    pub(crate) print: bool,
    /// Also start it now.
    #[arg(long, conflicts_with = "print")]
    pub(crate) now: bool,
    /// For which service manager [default: the one of this system].
    #[arg(long, value_name = "NAME", value_enum)]
    pub(crate) manager: Option<ManagerArg>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ManagerArg {
    /// Linux; on other systems only with --print.
    Systemd,
    /// macOS; on other systems only with --print.
    Launchd,
    /// The task scheduler of Windows; on other systems only with --print.
    Scheduler,
}
