//! The command line of `tenure process`: an action a word. Actions that are verbs of their own have the same words.

use super::values::{Limit, limit};
use super::{PasteArgs, ResizeArgs, SendKeysArgs, WriteArgs};
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
The same as the agents' tool `process`. With --session it sees and does what that session may.

For programs: --json-in reads the request as JSON and prints the reply as JSON. The fields are those of the agents' tool.

Examples:
  tenure process list
  tenure process poll 3f2 --timeout 30s
  tenure process log 3f2 --offset 0 --limit 100
  echo '{\"action\":\"kill\",\"runId\":\"3f2\"}' | tenure process --json-in -"
)]
pub(crate) struct ProcessArgs {
    #[command(subcommand)]
    pub(crate) action: Option<ProcessAction>,
    /// Act as this session.
    #[arg(long, value_name = "KEY", global = true)]
    pub(crate) session: Option<String>,
    /// Print the reply as JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Read the request as JSON from this file, or - for standard input, and print the reply as JSON.
    #[arg(long, value_name = "FILE", conflicts_with = "session")]
    pub(crate) json_in: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProcessAction {
    /// List runs, the newest first.
    #[command(after_help = "\
waiting: for input; pending: for a person's approval.

Examples:
  tenure process list
  tenure process list --session agent:main --json")]
    List(ProcessListArgs),
    /// Wait for output or the end; what is unread is printed once.
    #[command(after_help = "Examples:\n  tenure process poll 3f2\n  tenure process poll 3f2 --timeout 2m")]
    Poll(PollArgs),
    /// Print lines of the output, from any line on.
    #[command(after_help = "\
Without --offset these are the last lines.

Examples:
  tenure process log 3f2
  tenure process log 3f2 --offset 0 --limit 100")]
    Log(LogArgs),
    /// Write to its input.
    #[command(
        after_help = "Examples:\n  tenure process write 3f2 'yes\n'\n  sort_me | tenure process write 3f2 --eof"
    )]
    Write(WriteArgs),
    /// Type keys, by name.
    #[command(after_help = "\
Examples:
  tenure process send-keys 3f2 C-c
  tenure process send-keys 3f2 Escape --literal ':wq' Enter")]
    SendKeys(SendKeysArgs),
    /// Press enter.
    #[command(after_help = "Example:\n  tenure process submit 3f2")]
    Submit(OneRunArgs),
    /// Paste text into its terminal.
    #[command(
        after_help = "Examples:\n  tenure process paste 3f2 'several words'\n  tenure process paste 3f2 < notes.txt"
    )]
    Paste(PasteArgs),
    /// Show what is on its terminal.
    #[command(after_help = "Example:\n  tenure process screen 3f2")]
    Screen(OneRunArgs),
    /// Give its terminal another size.
    #[command(after_help = "Example:\n  tenure process resize 3f2 200x50")]
    Resize(ResizeArgs),
    /// End it and its whole tree, and wait for that.
    #[command(after_help = "Example:\n  tenure process kill 3f2")]
    Kill(OneRunArgs),
    /// Forget a run that has ended.
    #[command(after_help = "Example:\n  tenure process clear 3f2")]
    Clear(OneRunArgs),
    /// End it if it runs, and forget it.
    #[command(after_help = "Example:\n  tenure process remove 3f2")]
    Remove(OneRunArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ProcessListArgs {
    /// Only the newest so many.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct PollArgs {
    /// The run; any unique beginning of its id.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Wait this long for output or the end; 0 only looks [default: 10s].
    #[arg(long, value_name = "DUR", value_parser = limit, allow_hyphen_values = true)]
    pub(crate) timeout: Option<Limit>,
}

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// The run; any unique beginning of its id.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// The first line, counted from 0.
    #[arg(long, value_name = "N")]
    pub(crate) offset: Option<u64>,
    /// The first byte, instead of a line: for the rest of a very long line
    #[arg(long, value_name = "BYTE", conflicts_with_all = ["offset", "limit"])]
    pub(crate) byte_offset: Option<u64>,
    /// At most so many lines.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct OneRunArgs {
    /// The run; any unique beginning of its id.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}
