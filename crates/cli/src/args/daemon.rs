//! The command line of `tenure daemon`.

use clap::{Args, Subcommand, ValueEnum};
use tenure_core::identity::Identity;

#[derive(Debug, Args)]
#[command(after_help = sections!(
    notes: "\
The daemon starts on first use; TENURE_NO_AUTOSTART=1 turns that off. A second process, the warden, restarts a daemon that \
dies, and replaces one that shows no sign of life for 60 s (TENURE_DAEMON_REPLACE_AFTER). Runs continue meanwhile.",
    codes: usual_codes!(),
    examples: [
        "tenure daemon start",
        "tenure daemon status",
        "tenure daemon stop --cancel-runs",
        "tenure daemon install --now",
    ],
))]
pub(crate) struct DaemonArgs {
    #[command(subcommand)]
    pub(crate) verb: DaemonVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DaemonVerb {
    /// Start the daemon, if none is running.
    #[command(after_help = sections!(codes: usual_codes!(), examples: ["tenure daemon start"]))]
    Start,
    /// Run the daemon in the foreground.
    #[command(after_help = sections!(
        notes: "The daemon logs to stderr, and exits on SIGTERM and Ctrl-C. Runs continue without it.",
        codes: "
  0   the daemon was told to exit
  1   the daemon cannot serve
  2   wrong usage
  75  the registry was replaced: start the daemon again",
        examples: ["tenure daemon run"],
    ))]
    Run(ServeArgs),
    /// Stop the daemon, or kill one that hangs; runs continue.
    #[command(after_help = sections!(
        codes: usual_codes!(),
        examples: ["tenure daemon stop", "tenure daemon stop --cancel-runs"],
    ))]
    Stop(StopArgs),
    /// Check whether the daemon runs and answers.
    #[command(after_help = sections!(
        codes: "
  0  the daemon runs and answers
  1  no daemon runs, or it does not answer
  2  wrong usage",
        examples: ["tenure daemon status", "tenure daemon status --json"],
    ))]
    Status(StatusArgs),
    /// Install a unit, so that the system starts the daemon.
    Install(InstallArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Report readiness on stdin, to the process that starts the daemon.
    #[arg(long, hide = true)]
    pub(crate) detached: bool,
    /// Run the warden, which restarts a daemon that dies.
    #[arg(long, hide = true, requires = "detached")]
    pub(crate) restart: bool,
    /// Run the warden of this daemon, whose own warden is gone.
    #[arg(long, hide = true, requires = "detached", conflicts_with = "restart", value_parser = identity)]
    pub(crate) watch: Option<Identity>,
    /// Run as the child of a warden.
    #[arg(long, hide = true, conflicts_with = "detached")]
    pub(crate) warded: bool,
}

/// Parses the identity of a process.
fn identity(text: &str) -> Result<Identity, String> {
    serde_json::from_str(text)
        .map_err(|_| "not an identity of a process: leave out this flag, which is internal".to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct StopArgs {
    /// End every live run first.
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
#[command(after_help = sections!(
    notes: "\
The unit gives the daemon a cgroup to divide among runs, and leaves runs alone when the daemon stops. A user's daemon also \
needs lingering, or it ends with the user's last login session: this enables it, or prints the command for it.\n\n\
Change an installed unit with `systemctl edit`, not in its file, which the next install replaces.",
    codes: usual_codes!(),
    examples: [
        "tenure daemon install --now",
        "sudo tenure daemon install --system",
        "tenure daemon install --print",
        "tenure daemon install --print --manager launchd",
    ],
))]
pub(crate) struct InstallArgs {
    /// Install for this user [default, except for root].
    #[arg(long, conflicts_with = "system")]
    pub(crate) user: bool,
    /// Install for the whole system (needs root).
    #[arg(long)]
    pub(crate) system: bool,
    /// Print the unit, and change nothing.
    #[arg(long)]
    pub(crate) print: bool,
    /// Start the daemon now, too.
    #[arg(long, conflicts_with = "print")]
    pub(crate) now: bool,
    /// Service manager [default: this system's].
    #[arg(long, value_name = "NAME", value_enum)]
    pub(crate) manager: Option<ManagerArg>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ManagerArg {
    /// Systemd on Linux; elsewhere only with --print.
    Systemd,
    /// Launchd on macOS; elsewhere only with --print.
    Launchd,
    /// Task Scheduler on Windows; elsewhere only with --print.
    Scheduler,
}
