//! The command line of `tenure process`, with a verb per action of the agents' tool. Actions that are verbs of `tenure` as
//! well take the same arguments.

use super::help::LAST;
use super::values::{Limit, limit, number};
use super::{PasteArgs, ResizeArgs, SendKeysArgs, WriteArgs};
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = sections!(
        notes: "\
The agents' tool `process` does the same. With --session, only that session's runs can be seen and changed.\n\n\
--json-in reads a request as JSON and prints the reply as JSON, with the fields of the agents' tool.",
        codes: usual_codes!("run"),
        examples: [
            "tenure process list",
            "tenure process poll 3f2a --timeout 30s",
            "tenure process log 3f2a --offset 0 --limit 100",
            "echo '{\"action\":\"kill\",\"runId\":\"3f2a\"}' | tenure process --json-in -",
        ],
    )
)]
pub(crate) struct ProcessArgs {
    #[command(subcommand)]
    pub(crate) action: Option<ProcessAction>,
    /// Act as this session.
    #[arg(long, value_name = "KEY", global = true, display_order = LAST)]
    pub(crate) session: Option<String>,
    /// Print the reply as JSON.
    #[arg(long, global = true, display_order = LAST)]
    pub(crate) json: bool,
    /// Read the request as JSON from this file; - is stdin.
    #[arg(long, value_name = "FILE", conflicts_with = "session")]
    pub(crate) json_in: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProcessAction {
    /// List runs, the newest first.
    #[command(after_help = sections!(
        notes: "STATUS waiting means waiting for input, and pending means waiting for approval.",
        codes: usual_codes!(),
        examples: ["tenure process list", "tenure process list --session agent:main --json"],
    ))]
    List(ProcessListArgs),
    /// Wait for new output or the end, and print the new output.
    #[command(after_help = sections!(
        notes: "New output is the output since the last poll.",
        codes: usual_codes!("run"),
        examples: ["tenure process poll 3f2a", "tenure process poll 3f2a --timeout 2m"],
    ))]
    Poll(PollArgs),
    /// Print lines of the output.
    #[command(after_help = sections!(
        notes: "Without --offset, the last lines are printed.",
        codes: usual_codes!("run"),
        examples: ["tenure process log 3f2a", "tenure process log 3f2a --offset 0 --limit 100"],
    ))]
    Log(LogArgs),
    /// Write to a run's stdin.
    #[command(after_help = sections!(
        codes: usual_codes!("run"),
        examples: ["tenure process write 3f2a yes", "cat numbers.txt | tenure process write 3f2a --eof"],
    ))]
    Write(WriteArgs),
    /// Send keys to a run, by name.
    #[command(after_help = sections!(
        codes: usual_codes!("run"),
        examples: ["tenure process send-keys 3f2a C-c", "tenure process send-keys 3f2a Escape --literal ':wq' Enter"],
    ))]
    SendKeys(SendKeysArgs),
    /// Press Enter in a run's terminal.
    #[command(after_help = sections!(
        codes: usual_codes!("run"),
        examples: ["tenure process submit 3f2a"],
    ))]
    Submit(OneRunArgs),
    /// Paste text into a run's terminal.
    #[command(after_help = sections!(
        codes: usual_codes!("run"),
        examples: ["tenure process paste 3f2a 'several words'", "tenure process paste 3f2a < notes.txt"],
    ))]
    Paste(PasteArgs),
    /// Show the screen of a run's terminal.
    #[command(after_help = sections!(
        codes: usual_codes!("run"),
        examples: ["tenure process screen 3f2a"],
    ))]
    Screen(OneRunArgs),
    /// Change the size of a run's terminal.
    #[command(after_help = sections!(
        codes: usual_codes!("run"),
        examples: ["tenure process resize 3f2a 200x50"],
    ))]
    Resize(ResizeArgs),
    /// End a run with its whole process tree, and wait for the end.
    #[command(after_help = sections!(
        codes: usual_codes!("run"),
        examples: ["tenure process kill 3f2a"],
    ))]
    Kill(OneRunArgs),
    /// Remove the record of a run that has ended.
    #[command(after_help = sections!(
        codes: usual_codes!("run"),
        examples: ["tenure process clear 3f2a"],
    ))]
    Clear(OneRunArgs),
    /// End a run, if it is live, and remove its record.
    #[command(after_help = sections!(
        codes: usual_codes!("run"),
        examples: ["tenure process remove 3f2a"],
    ))]
    Remove(OneRunArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ProcessListArgs {
    /// List only the newest N runs.
    #[arg(long, value_name = "N", value_parser = number::<u64>)]
    pub(crate) limit: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct PollArgs {
    /// Run id, or a unique beginning of it.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Wait at most this long; 0 does not wait [default: 10s].
    #[arg(long, value_name = "DUR", value_parser = limit, allow_hyphen_values = true)]
    pub(crate) timeout: Option<Limit>,
}

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// Run id, or a unique beginning of it.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// First line, counted from 0.
    #[arg(long, value_name = "N", value_parser = number::<u64>)]
    pub(crate) offset: Option<u64>,
    /// First byte, to continue within a very long line.
    #[arg(long, value_name = "BYTE", conflicts_with_all = ["offset", "limit"], value_parser = number::<u64>)]
    pub(crate) byte_offset: Option<u64>,
    /// Print at most N lines.
    #[arg(long, value_name = "N", value_parser = number::<u64>)]
    pub(crate) limit: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct OneRunArgs {
    /// Run id, or a unique beginning of it.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}
