//! The command line of what looks at runs and changes nothing.

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure ps
  tenure ps --all --json")]
pub(crate) struct PsArgs {
    /// Also those that have ended.
    #[arg(long, short)]
    pub(crate) all: bool,
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
