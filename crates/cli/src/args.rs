//! The command line.

#[macro_use]
mod help;

mod acp;
mod agents;
mod approvals;
mod daemon;
mod exec;
mod operate;
mod ours;
mod page;
mod parse;
mod process;
mod sessions;
mod sessions_import;
mod tasks;
mod terminal;
mod values;
mod view;
mod who;

pub(crate) use acp::{AcpArgs, AcpCloseArgs, AcpHistoryArgs, AcpVerb, PromptArgs};
pub(crate) use agents::{AgentsArgs, AgentsVerb};
pub(crate) use approvals::{
    AllowArgs, AllowlistArgs, AllowlistVerb, ApprovalsArgs, ApprovalsVerb, ChooseArgs,
};
pub(crate) use daemon::{DaemonArgs, DaemonVerb, InstallArgs, ManagerArg, ServeArgs, StopArgs};
pub(crate) use exec::ExecArgs;
pub(crate) use operate::{
    BackupArgs, CompletionsArgs, EventsArgs, ManArgs, McpArgs, MetricsArgs, ReapArgs, WhyArgs,
};
pub(crate) use ours::{KeeperArgs, NurseryArgs};
pub(crate) use page::PageArgs;
#[cfg(test)]
pub(crate) use parse::words;
pub(crate) use parse::{Parsed, parse};
pub(crate) use process::{PollArgs, ProcessAction, ProcessArgs};
pub(crate) use sessions::{
    CloseArgs, HistoryArgs, SendArgs, SessionsArgs, SessionsListArgs, SessionsVerb, SpawnArgs, TurnWaitArgs,
};
pub(crate) use sessions_import::SessionsImportArgs;
pub(crate) use tasks::{TaskArgs, TasksArgs, TasksListArgs, TasksVerb};
pub(crate) use terminal::{AttachArgs, PasteArgs, ResizeArgs, ScreenArgs, SendKeysArgs, SubmitArgs, Word};
pub(crate) use values::{ActivityArg, Limit, OnEscapeArg, OrphanArg, StdinArg};
pub(crate) use view::{DoctorArgs, LogsArgs, PsArgs, ShowArgs, StateArg, StreamArg, TreeArgs};
pub(crate) use who::WhoArgs;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, CommandFactory, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;
use tenure_core::resources::Rlimit;
use tenure_core::task::NotifyPolicy;
use values::{cpus, limit, rlimit, word};

#[derive(Debug, Parser)]
#[command(
    name = "tenure",
    version,
    about = "Holds every process tree that an agent starts: watched, recorded, and ended whole.",
    after_help = "Examples:\n  tenure run -- npm test\n  tenure run --timeout 10m --no-output-timeout 2m -- make -j8\n  \
                  tenure run --pty -- python3\n  id=$(tenure run --bg -- ./server); tenure logs $id; tenure cancel $id\n\n\
                  Records and output are kept in TENURE_STATE (default: the XDG state home's tenure directory)."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a command and own its whole process tree until it is gone.
    Run(RunArgs),
    /// Run a command line as agents do: its output is waited for until it goes on in the background.
    Exec(ExecArgs),
    /// Do what agents do with commands that were started.
    Process(ProcessArgs),
    /// What people are asked before exec runs it, or an agent does it.
    Approvals(ApprovalsArgs),
    /// What exec runs without asking.
    Allowlist(AllowlistArgs),
    /// Conversations with agents: who owns which, what was said, what is under way.
    Sessions(SessionsArgs),
    /// Agents behind ACP adapters: prompt one and watch what it does.
    Acp(AcpArgs),
    /// What goes on in the background: how each of it is, and whether its owner was told.
    Tasks(TasksArgs),
    /// The agents that sessions can be held with.
    Agents(AgentsArgs),
    /// List runs.
    Ps(PsArgs),
    /// Show one run's record.
    #[command(after_help = "\
Any unique beginning of an id is enough.

Examples:
  tenure show 3f2
  tenure show 3f2 --json")]
    Show(ShowArgs),
    /// Show the live processes of a run, or of all.
    Tree(TreeArgs),
    /// Print a run's output.
    Logs(LogsArgs),
    /// Wait for runs to end; exits with the first one's code that is not zero.
    Wait(WaitArgs),
    /// End runs, their whole trees.
    Cancel(CancelArgs),
    /// Write to a run's input.
    Write(WriteArgs),
    /// Show what is on a run's terminal.
    Screen(ScreenArgs),
    /// Type keys to a run, by name.
    SendKeys(SendKeysArgs),
    /// Paste text into a run's terminal.
    Paste(PasteArgs),
    /// Press enter.
    Submit(SubmitArgs),
    /// Sit down at a run's terminal; the detach keys leave it running.
    Attach(AttachArgs),
    /// Give a run's terminal another size.
    Resize(ResizeArgs),
    /// Remove the records and output of runs; live ones are cancelled first.
    Rm(RmArgs),
    /// Look for what keeps Tenure from holding everything, and say what to do about it.
    Doctor(DoctorArgs),
    /// The daemon: let the system start it.
    Daemon(DaemonArgs),
    /// Print a script that lets a shell complete tenure's words.
    Completions(CompletionsArgs),
    /// Write the manual pages into a directory.
    #[command(hide = true)]
    Man(ManArgs),
    #[command(hide = true)]
    Nursery(NurseryArgs),
    #[command(hide = true)]
    Keeper(KeeperArgs),
    /// Tell a run's whole story: who asked, what was signalled and why, how it ended.
    Why(WhyArgs),
    /// Look at recorded runs that nobody holds, and do what their evidence asks for.
    Reap(ReapArgs),
    /// Print what happened, and what happens.
    Events(EventsArgs),
    /// Print the metrics, as Prometheus reads them.
    Metrics(MetricsArgs),
    /// Write a copy of the registry to a new file.
    Backup(BackupArgs),
    /// Serve the agent's tools to an MCP client, on standard input and output.
    Mcp(McpArgs),
}

/// The whole command line, for what is made from it.
pub(crate) fn definition() -> clap::Command {
    Cli::command()
}

#[derive(Debug, Args)]
#[command(after_help = "\
Durations: 500ms, 2s, 5m, 1h; 0 is off.

Exit codes:
  the command's own, or
  121    how it ended is unknown
  122    a process left the run's session and outlived the command
  123    it was cancelled, or its owner was lost
  124    a time limit ended it
  125    Tenure itself failed
  126    the command could not be started
  127    the command was not found
  128+N  signal N ended the command

Examples:
  tenure run -- npm test
  tenure run --timeout 5m --grace 10s -- make check
  tenure run --no-output-timeout 2m --activity cpu -- ./build.sh
  tenure run --pty -- vim notes.txt
  id=$(tenure run --bg --label web -- npm run dev)")]
#[expect(clippy::struct_excessive_bools, reason = "the flags of a command line are bools")]
pub(crate) struct RunArgs {
    /// Start it, print its id, and leave it running.
    #[arg(long)]
    pub(crate) bg: bool,
    /// Give it a terminal of its own.
    #[arg(long)]
    pub(crate) pty: bool,
    /// Start it in this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Set a variable in its environment; may be repeated.
    #[arg(long, value_name = "K=V")]
    pub(crate) env: Vec<OsString>,
    /// End it after this long.
    #[arg(long, value_name = "DUR", value_parser = limit, allow_hyphen_values = true)]
    pub(crate) timeout: Option<Limit>,
    /// End it after this long without output.
    #[arg(long, value_name = "DUR", value_parser = limit, allow_hyphen_values = true)]
    pub(crate) no_output_timeout: Option<Limit>,
    /// What counts against --no-output-timeout.
    #[arg(long, value_name = "KIND", value_enum, default_value_t)]
    pub(crate) activity: ActivityArg,
    /// How long it may take to leave before it is killed [default: 5s].
    #[arg(long, value_name = "DUR", value_parser = limit, allow_hyphen_values = true)]
    pub(crate) grace: Option<Limit>,
    /// The session it belongs to.
    #[arg(long, value_name = "KEY")]
    pub(crate) session: Option<String>,
    /// The scope of which it is to be the only live run.
    #[arg(long, value_name = "KEY")]
    pub(crate) scope: Option<String>,
    /// End the scope's current run first, and start when its whole tree is gone.
    #[arg(long, requires = "scope")]
    pub(crate) replace: bool,
    /// A name for people.
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
    /// With --bg: what the session hears of it [default: how it ended].
    #[arg(long, value_name = "WHAT", requires = "bg", value_parser = word(NotifyPolicy::ALL, NotifyPolicy::word))]
    pub(crate) notify: Option<NotifyPolicy>,
    /// What becomes of a process that leaves the session and outlives the command.
    #[arg(long, value_name = "WHAT", value_enum, default_value_t)]
    pub(crate) on_escape: OnEscapeArg,
    /// What becomes of it when its owner is lost.
    #[arg(long, value_name = "WHAT", value_enum, default_value_t)]
    pub(crate) orphan: OrphanArg,
    /// With --bg: end it this long after it has lost its owner [default: it has none and goes on].
    #[arg(long, value_name = "DUR", value_parser = limit, allow_hyphen_values = true)]
    pub(crate) orphan_grace: Option<Limit>,
    /// The most memory that its whole tree may use; needs a cgroup with the memory controller.
    #[arg(long, value_name = "BYTES", value_parser = tenure_settings::size)]
    pub(crate) memory: Option<u64>,
    /// The most CPUs that its whole tree may use; needs a cgroup with the cpu controller.
    #[arg(long, value_name = "N", value_parser = cpus)]
    pub(crate) cpus: Option<u32>,
    /// The most processes and threads of its whole tree; needs a cgroup with the pids controller.
    #[arg(long, value_name = "N")]
    pub(crate) processes: Option<u32>,
    /// A limit of the system for each of its processes: as, cpu, nproc, fsize, nofile, core, stack, memlock.
    #[arg(long, value_name = "NAME=N", value_parser = rlimit)]
    pub(crate) rlimit: Vec<(Rlimit, u64)>,
    /// Where its input comes from [default: inherit, with --bg closed].
    #[arg(long, value_name = "FROM", value_enum)]
    pub(crate) stdin: Option<StdinArg>,
    /// Say nothing of one's own.
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Print the run's record as JSON on a last line of standard output.
    #[arg(long)]
    pub(crate) json: bool,
    /// The program and its arguments.
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true)]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The exit codes are those of `tenure run`. No such run: 4.

Examples:
  tenure wait 3f2
  tenure wait --timeout 1m 3f2 a07; echo $?")]
pub(crate) struct WaitArgs {
    /// The runs; any unique beginnings of their ids.
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
    /// Give up after this long, with exit code 124; the runs go on.
    #[arg(long, value_name = "DUR", value_parser = limit, allow_hyphen_values = true)]
    pub(crate) timeout: Option<Limit>,
    /// Print the runs' records as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The whole tree is asked to leave; what is left after the grace is killed.
This returns when the run was told: `tenure wait` waits for its end.
A run that has ended is left as it is.

Examples:
  tenure cancel 3f2
  tenure cancel --now 3f2 a07")]
pub(crate) struct CancelArgs {
    /// The runs; any unique beginnings of their ids.
    #[arg(value_name = "ID", required_unless_present_any = ["scope", "session", "agent"])]
    pub(crate) ids: Vec<String>,
    /// Every live run of this scope.
    #[arg(long, value_name = "KEY", conflicts_with_all = ["ids", "session", "agent"], value_parser = NonEmptyStringValueParser::new())]
    pub(crate) scope: Option<String>,
    /// Every live run of this session.
    #[arg(long, value_name = "KEY", conflicts_with_all = ["ids", "agent"], value_parser = NonEmptyStringValueParser::new())]
    pub(crate) session: Option<String>,
    /// Every live run of this agent's sessions.
    #[arg(long, value_name = "NAME", conflicts_with = "ids", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) agent: Option<String>,
    /// Kill at once, without the grace.
    #[arg(long)]
    pub(crate) now: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The run needs an open input: a terminal (`--pty`) or `--stdin open`.

Examples:
  id=$(tenure run --bg --stdin open -- sort)
  printf 'b\\na\\n' | tenure write --eof $id
  tenure write 3f2 yes")]
pub(crate) struct WriteArgs {
    /// The run; any unique beginning of its id.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// What to write; standard input if it is left out.
    #[arg(value_name = "DATA")]
    pub(crate) data: Option<OsString>,
    /// End the run's input afterwards.
    #[arg(long)]
    pub(crate) eof: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
A run that has not ended is cancelled first, and removed when it is gone.

Example:
  tenure rm 3f2 a07")]
pub(crate) struct RmArgs {
    /// The runs; any unique beginnings of their ids.
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
}

#[cfg(test)]
mod tests;
