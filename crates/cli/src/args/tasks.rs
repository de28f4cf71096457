//! The command line of `tenure tasks`.

use super::RequesterArgs;
use super::help::LAST;
use super::values::{number, word};
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use tenure_core::task::{Kind, NotifyPolicy, Status};

#[derive(Debug, Args)]
#[command(after_help = sections!(
    notes: "\
A task is background work: a run with --bg, a command that exec left running, or a turn of a session. The agents' tool `tasks` \
does the same.\n\n\
LOOKUP is the task's id, its run's id, a unique beginning of either, or a session's key, which means the session's current \
task, else its newest. Showing a task does not count as notifying its owner.",
    codes: usual_codes!("task"),
    examples: [
        "tenure tasks",
        "tenure tasks --status running --watch",
        "tenure tasks show 3f2a",
        "tenure tasks show agent:main:1 --watch",
        "tenure tasks notify 3f2a state_changes",
        "tenure tasks cancel 3f2a",
        "tenure tasks audit || echo 'something is wrong'",
    ],
))]
pub(crate) struct TasksArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<TasksVerb>,
    #[command(flatten)]
    pub(crate) list: TasksListArgs,
    #[command(flatten)]
    pub(crate) requester: RequesterArgs,
    /// Print JSON; with --watch, an object per change.
    #[arg(long, global = true, display_order = LAST)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TasksVerb {
    /// List tasks, the newest first (same as `tenure tasks`).
    List(TasksListArgs),
    /// Show one task with its latest events.
    Show(TaskShowArgs),
    /// Set the events that a task's owner is notified of.
    Notify(TaskNotifyArgs),
    /// End a task's work with its whole process tree.
    #[command(after_help = sections!(
        notes: "\
This returns when the work was told to end; `tenure tasks show --watch` follows it. A task that has ended is refused.",
        codes: usual_codes!("task"),
        examples: ["tenure tasks cancel 3f2a", "tenure tasks cancel agent:main:1"],
    ))]
    Cancel(TaskArgs),
    /// Deliver a failed notice to a task's owner again.
    #[command(after_help = sections!(
        codes: usual_codes!("task"),
        examples: ["tenure tasks retry 3f2a"],
    ))]
    Retry(TaskArgs),
    /// Confirm that a task's owner was notified of its end.
    #[command(after_help = sections!(
        notes: "For programs that follow `tenure events` and notify the owner themselves.",
        codes: usual_codes!("task"),
        examples: ["tenure tasks acknowledge 3f2a"],
    ))]
    Acknowledge(TaskArgs),
    /// Find problems with tasks, and give advice.
    #[command(after_help = sections!(
        codes: "
  0  no problem
  1  problems, which stdout lists; or the audit failed, and stdout is empty
  2  wrong usage",
        examples: [
            "tenure tasks audit",
            "tenure tasks audit --json | jq '.findings[] | select(.severity == \"error\")'",
        ],
    ))]
    Audit,
    /// Show maintenance that is due; with --apply, do it.
    Maintenance(TaskMaintenanceArgs),
    /// Discard all tasks and their notices; runs continue.
    Reset(TaskResetArgs),
}

#[derive(Debug, Args)]
pub(crate) struct TaskArgs {
    /// Task id, run id, a unique beginning of either, or session key.
    #[arg(value_name = "LOOKUP", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) lookup: String,
}

#[derive(Debug, Args, Default, Clone, PartialEq, Eq)]
#[command(after_help = sections!(
    notes: "\
DELIVERY is the state of the notice of the end; `session_queued` waits for the owner's next turn. With --watch, a terminal shows the \
list anew on each change; elsewhere each change is a line, until you interrupt it.",
    codes: usual_codes!(),
    examples: [
        "tenure tasks list",
        "tenure tasks list --status queued --status running",
        "tenure tasks list --kind subagent --owner agent:main:1 --json",
        "tenure tasks list --watch | tee changes.txt",
    ],
))]
pub(crate) struct TasksListArgs {
    /// List only tasks with this status; may be repeated.
    #[arg(long = "status", value_name = "STATUS", value_delimiter = ',', value_parser = word(Status::ALL, Status::word))]
    pub(crate) statuses: Vec<Status>,
    /// List only tasks of this kind.
    #[arg(long, value_name = "KIND", value_parser = word(Kind::ALL, Kind::word))]
    pub(crate) kind: Option<Kind>,
    /// List only tasks that this session owns.
    #[arg(long, value_name = "KEY")]
    pub(crate) owner: Option<String>,
    /// List at most N tasks.
    #[arg(long, value_name = "N", value_parser = number::<u64>)]
    pub(crate) limit: Option<u64>,
    /// Continue after the previous page, with the value that it printed.
    #[arg(long, value_name = "CURSOR")]
    pub(crate) after: Option<String>,
    /// Show changes as they happen.
    #[arg(long)]
    pub(crate) watch: bool,
}

#[derive(Debug, Args)]
#[command(after_help = sections!(
    codes: usual_codes!("task"),
    examples: [
        "tenure tasks show 3f2a",
        "tenure tasks show agent:main:1 --json",
        "tenure tasks show 3f2a --watch",
    ],
))]
pub(crate) struct TaskShowArgs {
    #[command(flatten)]
    pub(crate) which: TaskArgs,
    /// Show changes as they happen, until the task has ended.
    #[arg(long)]
    pub(crate) watch: bool,
}

#[derive(Debug, Args)]
#[command(after_help = sections!(
    notes: "`done_only` is the end; `state_changes` is also the start and the progress; `silent` is nothing.",
    codes: usual_codes!("task"),
    examples: ["tenure tasks notify 3f2a state_changes", "tenure tasks notify agent:main:1 silent"],
))]
pub(crate) struct TaskNotifyArgs {
    #[command(flatten)]
    pub(crate) which: TaskArgs,
    /// Events to notify the owner of.
    #[arg(value_name = "POLICY", value_parser = word(NotifyPolicy::ALL, NotifyPolicy::word))]
    pub(crate) policy: NotifyPolicy,
}

#[derive(Debug, Args)]
#[command(after_help = sections!(
    notes: "\
Maintenance gives up tasks whose work is gone, and removes old ones. The daemon does this by itself from time to time.",
    codes: usual_codes!(),
    examples: ["tenure tasks maintenance", "tenure tasks maintenance --apply"],
))]
pub(crate) struct TaskMaintenanceArgs {
    /// Do the maintenance.
    #[arg(long)]
    pub(crate) apply: bool,
}

#[derive(Debug, Args)]
#[command(after_help = sections!(
    notes: "Runs, sessions and their records stay. The ends of live runs are still recorded, but nobody is notified of them.",
    codes: "
  0  success
  1  refused or failed; or --yes is missing, and stderr says what would be discarded
  2  wrong usage",
    examples: ["tenure tasks reset --yes"],
))]
pub(crate) struct TaskResetArgs {
    /// Discard them; without this flag, only print what there is.
    #[arg(long)]
    pub(crate) yes: bool,
}
