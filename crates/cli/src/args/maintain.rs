//! The command lines of `tenure doctor`, `reap`, `metrics` and `backup`.

use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = sections!(
    notes: "Nothing is changed: the cgroup that the check creates is removed again.",
    codes: "
  0  no problem; there may be notes and warnings
  1  a problem, or the check failed
  2  wrong usage",
    examples: ["tenure doctor", "tenure doctor --json"],
))]
pub(crate) struct DoctorArgs {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = sections!(
    notes: "\
The daemon does this when it starts and whenever a lease expires. Processes that cannot be proven to belong to a run are \
left alone.",
    codes: usual_codes!("run"),
    examples: ["tenure reap --dry-run", "tenure reap --session agent:main:7"],
))]
pub(crate) struct ReapArgs {
    /// Print what would be done, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Check only this run.
    #[arg(long, value_name = "ID", group = "which")]
    pub(crate) run: Option<String>,
    /// Check only this session's runs.
    #[arg(long, value_name = "KEY", group = "which")]
    pub(crate) session: Option<String>,
    /// Check only this agent's runs.
    #[arg(long, value_name = "NAME", group = "which")]
    pub(crate) agent: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = sections!(
    codes: usual_codes!(),
    examples: ["tenure metrics | grep run_exit"],
))]
pub(crate) struct MetricsArgs {}

#[derive(Debug, Args)]
#[command(after_help = sections!(
    notes: "\
The copy is complete and consistent, and can be made at any time. To restore it, stop the daemon and replace the registry \
file with it.",
    codes: usual_codes!(),
    examples: ["tenure backup /backups/tenure-$(date +%F).db"],
))]
pub(crate) struct BackupArgs {
    /// New file; it must not exist.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}
