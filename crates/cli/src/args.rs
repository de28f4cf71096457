//! The command line.

#[macro_use]
mod help;

mod acp;
mod agents;
mod approvals;
mod daemon;
mod exec;
mod generate;
mod inspect;
mod internal;
mod maintain;
mod mcp;
mod page;
mod parse;
mod process;
mod requester;
mod runs;
mod sessions;
mod sessions_import;
mod tasks;
mod terminal;
mod values;

pub(crate) use acp::{AcpArgs, AcpCloseArgs, AcpHistoryArgs, AcpVerb, PromptArgs};
pub(crate) use agents::{AgentsArgs, AgentsVerb};
pub(crate) use approvals::{
    AllowArgs, AllowlistArgs, AllowlistVerb, ApprovalsArgs, ApprovalsVerb, ChooseArgs,
};
pub(crate) use daemon::{DaemonArgs, DaemonVerb, InstallArgs, ManagerArg, ServeArgs, StopArgs};
pub(crate) use exec::ExecArgs;
pub(crate) use generate::{CompletionsArgs, ManArgs};
pub(crate) use help::HelpSections;
pub(crate) use inspect::{EventsArgs, LogsArgs, PsArgs, ShowArgs, StateArg, StreamArg, TreeArgs, WhyArgs};
pub(crate) use internal::{KeeperArgs, NurseryArgs};
pub(crate) use maintain::{BackupArgs, DoctorArgs, MetricsArgs, ReapArgs};
pub(crate) use mcp::McpArgs;
pub(crate) use page::PageArgs;
#[cfg(test)]
pub(crate) use parse::words;
pub(crate) use parse::{ParseResult, parse};
pub(crate) use process::{PollArgs, ProcessAction, ProcessArgs};
pub(crate) use requester::RequesterArgs;
pub(crate) use runs::{CancelArgs, RmArgs, RunArgs, WaitArgs, WriteArgs};
pub(crate) use sessions::{
    CloseArgs, HistoryArgs, SendArgs, SessionsArgs, SessionsListArgs, SessionsVerb, SpawnArgs, TurnWaitArgs,
};
pub(crate) use sessions_import::SessionsImportArgs;
pub(crate) use tasks::{TaskArgs, TasksArgs, TasksListArgs, TasksVerb};
pub(crate) use terminal::{AttachArgs, PasteArgs, ResizeArgs, ScreenArgs, SendKeysArgs, SubmitArgs, Word};
pub(crate) use values::{Limit, StdinArg};

use clap::{CommandFactory, Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(
    name = "tenure",
    version,
    about = "Run commands and agents, and end their whole process trees",
    max_term_width = help::MAX_WIDTH,
    after_help = concat!(
        "Records and output are stored in TENURE_STATE [default: ~/.local/state/tenure, or XDG_STATE_HOME/tenure]. \
         `tenure VERB --help` shows flags, exit codes and examples.\n\n",
        examples!(
            "tenure run -- npm test",
            "tenure run --timeout 10m --no-output-timeout 2m -- make -j8",
            "id=$(tenure run --bg -- ./server); tenure logs $id; tenure cancel $id",
            "tenure acp prompt claude 'Why does the build fail?'",
        )
    )
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The verbs, in the order of [`help::GROUPS`].
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a command and end its whole process tree with it.
    Run(RunArgs),
    /// Run a command line; after 10 s it continues in the background.
    Exec(ExecArgs),
    /// Wait for runs to end, and exit with their exit code.
    Wait(WaitArgs),
    /// End runs with their whole process trees.
    Cancel(CancelArgs),
    /// Write to a run's stdin.
    Write(WriteArgs),
    /// Remove the records and output of runs.
    Rm(RmArgs),
    /// List runs.
    Ps(PsArgs),
    /// Show a run's record.
    Show(ShowArgs),
    /// Print a run's output.
    Logs(LogsArgs),
    /// Show the live processes of runs.
    Tree(TreeArgs),
    /// Explain a run: its request, each signal and its end.
    Why(WhyArgs),
    /// Print past and new events.
    Events(EventsArgs),
    /// Attach to a run's terminal (detach: Ctrl-P Ctrl-Q).
    Attach(AttachArgs),
    /// Show the screen of a run's terminal.
    Screen(ScreenArgs),
    /// Send keys to a run, by name.
    SendKeys(SendKeysArgs),
    /// Press Enter in a run's terminal.
    Submit(SubmitArgs),
    /// Paste text into a run's terminal.
    Paste(PasteArgs),
    /// Change the size of a run's terminal.
    Resize(ResizeArgs),
    /// Start, use and close conversations with agents.
    Sessions(SessionsArgs),
    /// Prompt ACP agents and watch their work.
    Acp(AcpArgs),
    /// List the agents that sessions can use.
    Agents(AgentsArgs),
    /// List and manage background tasks.
    Tasks(TasksArgs),
    /// Manage commands started by exec (poll, log, write, kill).
    Process(ProcessArgs),
    /// List and answer approval requests.
    Approvals(ApprovalsArgs),
    /// List and change the programs that exec runs without asking.
    Allowlist(AllowlistArgs),
    /// Serve the agents' tools over MCP, on stdin and stdout.
    Mcp(McpArgs),
    /// Start, stop, inspect and install the daemon.
    Daemon(DaemonArgs),
    /// Check this machine and the settings, and give advice.
    Doctor(DoctorArgs),
    /// Find and clean up orphaned runs.
    Reap(ReapArgs),
    /// Print the metrics in the format of Prometheus.
    Metrics(MetricsArgs),
    /// Copy the registry to a new file.
    Backup(BackupArgs),
    /// Print a completion script for a shell.
    Completions(CompletionsArgs),
    /// Write the manual pages into a directory.
    #[command(hide = true)]
    Man(ManArgs),
    /// Run a nursery (started by Tenure itself).
    #[command(hide = true)]
    Nursery(NurseryArgs),
    /// Run a keeper (started by Tenure itself).
    #[command(hide = true)]
    Keeper(KeeperArgs),
}

/// Returns the definition of the command line, for parsing, completions, manual pages and tests.
pub(crate) fn definition() -> clap::Command {
    help::with_groups(Cli::command())
}

#[cfg(test)]
mod tests;
