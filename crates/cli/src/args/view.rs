//! The command line of what looks at runs and changes nothing.

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
#[command(after_help = "\
Colours: on a terminal, unless NO_COLOR is set; TENURE_COLOR=always or never decides otherwise.

Examples:
  tenure ps
  tenure ps --all --limit 20
  tenure ps --session agent:main --state running
  tenure ps --all --json")]
pub(crate) struct PsArgs {
    /// Also those that have ended.
    #[arg(long, short)]
    pub(crate) all: bool,
    /// Only those of this session.
    #[arg(long, value_name = "KEY")]
    pub(crate) session: Option<String>,
    /// Only those in this state; `exited` needs no --all.
    #[arg(long, value_name = "STATE", value_enum)]
    pub(crate) state: Option<StateArg>,
    /// Only that of this scope.
    #[arg(long, value_name = "KEY")]
    pub(crate) scope: Option<String>,
    /// Only the newest so many.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The run; any unique beginning of its id.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Each process stands below its parent, with the CPU time and memory it uses, and how it belongs to the run:
as a child, adopted (its parent died), or by the run's cgroup.

Examples:
  tenure tree
  tenure tree 3f2
  tenure tree --json")]
pub(crate) struct TreeArgs {
    /// The run, any unique beginning of its id; all live runs if it is left out.
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Print JSON: of one run an object, of all an array.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "the flags of a command line are bools")]
#[command(after_help = "\
Bytes that are gone are named on standard error, or as an object with --json.
--offset and --limit count the bytes that the command wrote, whatever is printed of them.

--json prints an object for each piece: offset, stream, atMs and text, or base64 where it is not UTF-8;
for bytes that are gone, offset and droppedBytes or lostBytes.

Examples:
  tenure logs 3f2
  tenure logs --text 3f2 | less
  tenure logs --timestamps --utc 3f2
  tenure logs --json --follow 3f2
  tenure logs --tail 20 --follow 3f2
  tenure logs --stream stderr 3f2
  tenure logs --offset 1000000 --limit 4096 3f2")]
pub(crate) struct LogsArgs {
    /// The run; any unique beginning of its id.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Go on as the output grows, until the run has ended.
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Only this stream.
    #[arg(long, value_enum)]
    pub(crate) stream: Option<StreamArg>,
    /// Begin at this byte of the merged output.
    #[arg(long, value_name = "BYTES", conflicts_with = "tail")]
    pub(crate) offset: Option<u64>,
    /// Print at most so many bytes.
    #[arg(long, value_name = "BYTES")]
    pub(crate) limit: Option<u64>,
    /// Begin with the last so many lines.
    #[arg(long, value_name = "LINES")]
    pub(crate) tail: Option<u64>,
    /// Without escape sequences; other control characters, and bytes that are no text, as \\xNN.
    #[arg(long)]
    pub(crate) text: bool,
    /// The time before each line, as RFC 3339.
    #[arg(long, conflicts_with = "json")]
    pub(crate) timestamps: bool,
    /// The time in UTC instead of the local one.
    #[arg(long, requires = "timestamps")]
    pub(crate) utc: bool,
    /// Print JSON, one object a line.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StreamArg {
    /// Standard output, or the terminal.
    Stdout,
    /// Standard error.
    Stderr,
}

#[derive(Debug, Args)]
#[command(after_help = "\
It changes nothing; the cgroup that it tries is removed again.

Exit codes:
  0  all is well, or there are only notes and warnings
  1  something is wrong

Examples:
  tenure doctor
  tenure doctor --json")]
pub(crate) struct DoctorArgs {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Where a run is in its life, as `ps` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StateArg {
    /// Its command has not been executed yet.
    Starting,
    /// Its command runs.
    Running,
    /// It is being ended.
    Exiting,
    /// It has ended.
    Exited,
    /// It has neither keeper nor ending.
    Lost,
}

impl StateArg {
    /// Whether that is what a run's state is called.
    pub(crate) fn is(self, state: &str) -> bool {
        self.to_possible_value().is_some_and(|value| value.matches(state, false))
    }
}
