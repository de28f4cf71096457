//! The command lines of `tenure ps`, `show`, `logs`, `tree`, `why` and `events`, which change nothing.

use super::values::number;
use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
#[command(after_help = sections!(
    notes: "\
A terminal gets colours unless NO_COLOR is set; TENURE_COLOR=always and TENURE_COLOR=never override both.",
    codes: usual_codes!(),
    examples: [
        "tenure ps",
        "tenure ps --all --limit 20",
        "tenure ps --session agent:main --state running",
        "tenure ps --all --json",
    ],
))]
pub(crate) struct PsArgs {
    /// List runs that have ended, too.
    #[arg(long, short)]
    pub(crate) all: bool,
    /// List only this session's runs.
    #[arg(long, value_name = "KEY")]
    pub(crate) session: Option<String>,
    /// List only runs in this state.
    ///
    /// The state `exited` needs no --all.
    #[arg(long, value_name = "STATE", value_enum)]
    pub(crate) state: Option<StateArg>,
    /// List only the run of this scope.
    #[arg(long, value_name = "KEY")]
    pub(crate) scope: Option<String>,
    /// List only the newest N runs.
    #[arg(long, value_name = "N", value_parser = number::<usize>)]
    pub(crate) limit: Option<usize>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = sections!(
    codes: usual_codes!("run"),
    examples: ["tenure show 3f2a", "tenure show 3f2a --json"],
))]
pub(crate) struct ShowArgs {
    /// Run id, or a unique beginning of it.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = sections!(
    notes: "\
Each process stands below its parent, with its CPU time, its memory, and its relation to the run: child, adopted (its \
parent died), or cgroup.",
    codes: usual_codes!("run"),
    examples: ["tenure tree", "tenure tree 3f2a", "tenure tree --json"],
))]
pub(crate) struct TreeArgs {
    /// Run id, or a unique beginning of it [default: all live runs].
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Print JSON: an object for one run, an array for all.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "the flags of a command line are bools")]
#[command(after_help = sections!(
    notes: "\
--offset and --limit count the bytes that the command wrote, whatever is printed of them. Bytes that were dropped or lost are \
reported on stderr.\n\n\
--json prints an object per piece, with offset, stream, atMs and text, or base64 instead of text if it is not UTF-8. For \
bytes that were dropped or lost it has offset, and droppedBytes or lostBytes.",
    codes: usual_codes!("run"),
    examples: [
        "tenure logs 3f2a",
        "tenure logs --tail 20 --follow 3f2a",
        "tenure logs --text 3f2a | less",
        "tenure logs --timestamps --utc 3f2a",
        "tenure logs --stream stderr 3f2a",
        "tenure logs --json --follow 3f2a",
        "tenure logs --offset 1000000 --limit 4096 3f2a",
    ],
))]
pub(crate) struct LogsArgs {
    /// Run id, or a unique beginning of it.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Follow the output until the run has ended.
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Print only this stream.
    #[arg(long, value_enum)]
    pub(crate) stream: Option<StreamArg>,
    /// Start at this byte of the merged output.
    #[arg(long, value_name = "BYTES", conflicts_with = "tail", value_parser = number::<u64>)]
    pub(crate) offset: Option<u64>,
    /// Print at most this many bytes.
    #[arg(long, value_name = "BYTES", value_parser = number::<u64>)]
    pub(crate) limit: Option<u64>,
    /// Start with the last N lines.
    #[arg(long, value_name = "LINES", value_parser = number::<u64>)]
    pub(crate) tail: Option<u64>,
    /// Print clean text, without escape sequences.
    ///
    /// Other control characters, and bytes that are not UTF-8, are printed as \xNN.
    #[arg(long)]
    pub(crate) text: bool,
    /// Print the time before each line, as RFC 3339.
    #[arg(long, conflicts_with = "json")]
    pub(crate) timestamps: bool,
    /// Print times in UTC instead of local time.
    #[arg(long, requires = "timestamps")]
    pub(crate) utc: bool,
    /// Print JSON, an object per line.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StreamArg {
    /// Stdout, or the terminal.
    Stdout,
    /// Stderr.
    Stderr,
}

#[derive(Debug, Args)]
#[command(after_help = sections!(
    notes: "Each signal stands with its target, its reason, and the proof that the target belongs to the run.",
    codes: usual_codes!("run"),
    examples: ["tenure why 3f2a"],
))]
pub(crate) struct WhyArgs {
    /// Run id, or a unique beginning of it.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = sections!(
    notes: "Each event has a number; --since continues after the last one that you have seen.",
    codes: usual_codes!(),
    examples: ["tenure events --since 0", "tenure events -f --json"],
))]
pub(crate) struct EventsArgs {
    /// Follow new events.
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Start after this event [default: all, with -f only new ones].
    #[arg(long, value_name = "SEQ", value_parser = number::<u64>)]
    pub(crate) since: Option<u64>,
    /// Print JSON, an event per line.
    #[arg(long)]
    pub(crate) json: bool,
}

/// State of a run, as `ps` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StateArg {
    /// Command not executed yet.
    Starting,
    /// Command running.
    Running,
    /// Run being ended.
    Exiting,
    /// Run ended.
    Exited,
    /// Keeper gone, end not recorded.
    Lost,
}

impl StateArg {
    /// Returns true if this is the state with that word.
    pub(crate) fn is(self, state: &str) -> bool {
        self.to_possible_value().is_some_and(|value| value.matches(state, false))
    }
}
