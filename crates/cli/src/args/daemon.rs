//! The command line of `tenure daemon`.

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Args)]
#[command(after_help = "\
The daemon starts itself on first use; TENURE_NO_AUTOSTART=1 turns that off.

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
    /// Make the daemon leave; runs go on without it.
    Stop(StopArgs),
    /// Say whether a daemon is running; exits 1 if none is.
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
    /// Started by whoever starts it again if it dies.
    #[arg(long, hide = true, conflicts_with = "detached")]
    pub(crate) warded: bool,
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
