//! The command line of `tenure exec`.

use super::values::{Limit, limit};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use tenure_core::policy::Ask;
use tenure_core::tools::Notify;

/// What a request in JSON says itself.
const FLAGS: [&str; 14] = [
    "background",
    "yield_after",
    "timeout",
    "no_output_timeout",
    "pty",
    "workdir",
    "env",
    "session",
    "scope",
    "replace",
    "ask",
    "notify",
    "label",
    "command",
];

#[derive(Debug, Args)]
#[command(after_help = "\
One word after -- is a command line for your shell, as it is; of several words each stays one word.
The command starts in this directory, with this environment. Where a policy judges it, it gets the daemon's environment and --env.
A command that takes longer than --yield goes on in the background.
Ctrl-C ends it, and everything that it started.

Exit codes: those of `tenure run`; 0 if it goes on in the background; 1 if it is refused or waits for approval.

For programs: --json-in reads the request as JSON and prints the reply as JSON. The fields are those of the agents' tool.

Examples:
  tenure exec -- 'grep -rn TODO src | wc -l'
  tenure exec --timeout 10m --yield 1m -- npm test
  tenure exec --background --label server -- ./server --port 8080
  echo '{\"command\":\"make\"}' | tenure exec --json-in -")]
#[expect(clippy::struct_excessive_bools, reason = "the flags of a command line are bools")]
pub(crate) struct ExecArgs {
    /// Let it go on in the background at once.
    #[arg(long, alias = "bg")]
    pub(crate) background: bool,
    /// Wait this long before it goes on in the background: 10ms to 2m [default: 10s].
    #[arg(long = "yield", value_name = "DUR", value_parser = limit, allow_hyphen_values = true)]
    pub(crate) yield_after: Option<Limit>,
    /// End it after this long, in the background too [default: 30m].
    #[arg(long, value_name = "DUR", value_parser = limit, allow_hyphen_values = true)]
    pub(crate) timeout: Option<Limit>,
    /// End it after this long without output.
    #[arg(long, value_name = "DUR", value_parser = limit, allow_hyphen_values = true)]
    pub(crate) no_output_timeout: Option<Limit>,
    /// Give it a terminal.
    #[arg(long)]
    pub(crate) pty: bool,
    /// Start it in this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) workdir: Option<String>,
    /// Set a variable in its environment; may be repeated.
    #[arg(long, value_name = "K=V", value_parser = setting)]
    pub(crate) env: Vec<(String, String)>,
    /// The session it belongs to.
    #[arg(long, value_name = "KEY")]
    pub(crate) session: Option<String>,
    /// The scope of which it is to be the only live run.
    #[arg(long, value_name = "KEY")]
    pub(crate) scope: Option<String>,
    /// End the scope's current run first, and start when its whole tree is gone.
    #[arg(long, requires = "scope")]
    pub(crate) replace: bool,
    /// Whether a person is asked first; it can only be stricter than the settings.
    #[arg(long, value_name = "WHEN", value_enum)]
    pub(crate) ask: Option<AskArg>,
    /// Whether its end in the background is told to its session.
    #[arg(long, value_name = "WHEN", value_enum)]
    pub(crate) notify: Option<NotifyArg>,
    /// A name for people.
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
    /// Print the reply as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Read the request as JSON from this file, or - for standard input, and print the reply as JSON.
    #[arg(long, value_name = "FILE", conflicts_with_all = FLAGS)]
    pub(crate) json_in: Option<PathBuf>,
    /// The command line, or a program and its arguments.
    #[arg(value_name = "COMMAND", required_unless_present = "json_in", trailing_var_arg = true)]
    pub(crate) command: Vec<String>,
}

/// When a person is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AskArg {
    /// Never.
    Off,
    /// For what the allowlist does not allow.
    OnMiss,
    /// For everything.
    Always,
}

impl From<AskArg> for Ask {
    fn from(arg: AskArg) -> Self {
        match arg {
            AskArg::Off => Ask::Off,
            AskArg::OnMiss => Ask::OnMiss,
            AskArg::Always => Ask::Always,
        }
    }
}

/// When an end is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NotifyArg {
    /// Unless it succeeded without a word.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl From<NotifyArg> for Notify {
    fn from(arg: NotifyArg) -> Self {
        match arg {
            NotifyArg::Auto => Notify::Auto,
            NotifyArg::Always => Notify::Always,
            NotifyArg::Never => Notify::Never,
        }
    }
}

fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE, as in PORT=8080".to_owned()),
    }
}
