//! The command line of `tenure tasks`.

use super::WhoArgs;
use super::values::word;
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use tenure_core::task::{Kind, NotifyPolicy, Status};

#[derive(Debug, Args)]
#[command(after_help = "\
The same as the agents' tool `tasks`. A task is named by its id, by its run's id, by a unique beginning of either, or by a
session's key, which means the task under way in that session, else its newest. Looking changes nothing: its owner is told all the same.

Examples:
  tenure tasks
  tenure tasks --status running --watch
  tenure tasks show 3f2
  tenure tasks show agent:main:1 --watch
  tenure tasks notify 3f2 state_changes
  tenure tasks cancel 3f2
  tenure tasks audit || echo 'something is wrong'")]
pub(crate) struct TasksArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<TasksVerb>,
    #[command(flatten)]
    pub(crate) list: TasksListArgs,
    #[command(flatten)]
    pub(crate) who: WhoArgs,
    /// Print the reply as JSON; with --watch, a line for each change.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TasksVerb {
    /// List tasks, the newest first; what `tenure tasks` alone does.
    List(TasksListArgs),
    /// Show one task: how it goes or ended, and what happened to it last.
    Show(TaskShowArgs),
    /// Say what of a task its owner is told from now on.
    Notify(TaskNotifyArgs),
    /// End what a task tracks, its whole tree.
    #[command(after_help = "\
It returns when the task was told to end: `tenure tasks show --watch` follows it. One that has ended is refused.

Examples:
  tenure tasks cancel 3f2
  tenure tasks cancel agent:main:1")]
    Cancel(TaskArgs),
    /// Try again to tell a task's owner how it ended.
    #[command(after_help = "Example:\n  tenure tasks retry 3f2")]
    Retry(TaskArgs),
    /// Say that a task's owner has heard how it ended: for what listens to `tenure events`.
    #[command(after_help = "Example:\n  tenure tasks acknowledge 3f2")]
    Acknowledge(TaskArgs),
    /// Look for what is wrong with tasks, and say what to do about it.
    #[command(after_help = "\
Exit codes:
  0  nothing is wrong
  1  something is, or this failed: then standard output is empty

Examples:
  tenure tasks audit
  tenure tasks audit --json | jq '.findings[] | select(.severity == \"error\")'")]
    Audit,
    /// Close, tell and forget what is due; without --apply it is only said.
    Maintenance(TaskMaintenanceArgs),
    /// Discard all tasks and their notices; runs go on.
    Reset(TaskResetArgs),
}

#[derive(Debug, Args)]
pub(crate) struct TaskArgs {
    /// The task: its id, its run's, a unique beginning of either, or a session's key.
    #[arg(value_name = "LOOKUP", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) lookup: String,
}

#[derive(Debug, Args, Default, Clone, PartialEq, Eq)]
#[command(after_help = "\
DELIVERY says whether the owner was told how it ended; session_queued was left for its next turn.
With --watch the list is drawn anew on a terminal; elsewhere a line is printed for each change, until it is interrupted.

Examples:
  tenure tasks list
  tenure tasks list --status queued --status running
  tenure tasks list --kind subagent --owner agent:main:1 --json
  tenure tasks list --watch | tee changes.txt")]
pub(crate) struct TasksListArgs {
    /// Only those that are so; may be repeated.
    #[arg(long = "status", value_name = "STATUS", value_delimiter = ',', value_parser = word(Status::ALL, Status::word))]
    pub(crate) statuses: Vec<Status>,
    /// Only of this kind.
    #[arg(long, value_name = "KIND", value_parser = word(Kind::ALL, Kind::word))]
    pub(crate) kind: Option<Kind>,
    /// Only those that this session owns.
    #[arg(long, value_name = "KEY")]
    pub(crate) owner: Option<String>,
    /// At most so many.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Go on where the page before ended, as it said.
    #[arg(long, value_name = "CURSOR")]
    pub(crate) after: Option<String>,
    /// Go on showing them as they change.
    #[arg(long)]
    pub(crate) watch: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure tasks show 3f2
  tenure tasks show agent:main:1 --json
  tenure tasks show 3f2 --watch")]
pub(crate) struct TaskShowArgs {
    #[command(flatten)]
    pub(crate) which: TaskArgs,
    /// Go on showing it as it changes, until it has ended.
    #[arg(long)]
    pub(crate) watch: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
done_only tells how it ended; state_changes also that it began and how it goes; silent tells nothing.

Examples:
  tenure tasks notify 3f2 state_changes
  tenure tasks notify agent:main:1 silent")]
pub(crate) struct TaskNotifyArgs {
    #[command(flatten)]
    pub(crate) which: TaskArgs,
    /// What of it is told.
    #[arg(value_name = "POLICY", value_parser = word(NotifyPolicy::ALL, NotifyPolicy::word))]
    pub(crate) policy: NotifyPolicy,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The daemon does this by itself, now and then.

Examples:
  tenure tasks maintenance
  tenure tasks maintenance --apply")]
pub(crate) struct TaskMaintenanceArgs {
    /// Do it.
    #[arg(long)]
    pub(crate) apply: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Runs, sessions and their records are not touched, and ends are still recorded; nobody is told of them.

Example:
  tenure tasks reset --yes")]
pub(crate) struct TaskResetArgs {
    /// Do it; without this, say what would be discarded.
    #[arg(long)]
    pub(crate) yes: bool,
}
