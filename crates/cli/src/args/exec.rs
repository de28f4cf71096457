//! The command line of `tenure exec`.

use super::values::{Limit, limit};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use tenure_core::policy::Ask;
use tenure_core::tools::Notify;

/// Flags that conflict with --json-in, whose request has them as fields.
const REQUEST_FLAGS: [&str; 14] = [
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
#[command(after_help = sections!(
    notes: "\
One word after -- is a command line for your shell; several words are a program and its arguments. The command starts in \
this directory, with this environment. If a policy applies to it, it gets the daemon's environment and --env.\n\n\
A command that takes longer than --yield continues in the background. Ctrl-C ends it with its whole tree.\n\n\
--json-in reads a request as JSON and prints the reply as JSON, with the fields of the agents' tool `exec`.",
    codes: concat!(
        "
  0      the command succeeded, or continues in the background
  N      the command's own exit code
  1      the command was refused, or waits for approval
  2      wrong usage",
        run_codes!(),
    ),
    examples: [
        "tenure exec -- 'grep -rn TODO src | wc -l'",
        "tenure exec --timeout 10m --yield 1m -- npm test",
        "tenure exec --background --label server -- ./server --port 8080",
        "echo '{\"command\":\"make\"}' | tenure exec --json-in -",
    ],
))]
#[expect(clippy::struct_excessive_bools, reason = "the flags of a command line are bools")]
pub(crate) struct ExecArgs {
    /// Continue in the background at once.
    #[arg(long, alias = "bg")]
    pub(crate) background: bool,
    /// Time until it continues in the background [default: 10s].
    ///
    /// From 10ms to 2m.
    #[arg(long = "yield", value_name = "DUR", value_parser = limit, allow_hyphen_values = true)]
    pub(crate) yield_after: Option<Limit>,
    /// End the command after this long [default: 30m].
    ///
    /// The time in the background counts, too.
    #[arg(long, value_name = "DUR", value_parser = limit, allow_hyphen_values = true)]
    pub(crate) timeout: Option<Limit>,
    /// End the command after this long without output.
    #[arg(long, value_name = "DUR", value_parser = limit, allow_hyphen_values = true)]
    pub(crate) no_output_timeout: Option<Limit>,
    /// Give the command a terminal.
    #[arg(long)]
    pub(crate) pty: bool,
    /// Start in this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) workdir: Option<String>,
    /// Set an environment variable; may be repeated.
    #[arg(long, value_name = "K=V", value_parser = setting)]
    pub(crate) env: Vec<(String, String)>,
    /// Session that the run belongs to.
    #[arg(long, value_name = "KEY")]
    pub(crate) session: Option<String>,
    /// Allow only one live run with this key.
    #[arg(long, value_name = "KEY")]
    pub(crate) scope: Option<String>,
    /// End the scope's live run first.
    ///
    /// The command starts when the old run's whole tree is gone.
    #[arg(long, requires = "scope")]
    pub(crate) replace: bool,
    /// Ask a person first [default: the setting].
    ///
    /// The flag can only be stricter than the setting `exec.ask`.
    #[arg(long, value_name = "WHEN", value_enum)]
    pub(crate) ask: Option<AskArg>,
    /// Notify the session of the end in the background.
    ///
    /// The default is the setting `exec.notify`.
    #[arg(long, value_name = "WHEN", value_enum)]
    pub(crate) notify: Option<NotifyArg>,
    /// Name for people, shown in lists.
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
    /// Print the reply as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Read the request as JSON from this file; - is stdin.
    #[arg(long, value_name = "FILE", conflicts_with_all = REQUEST_FLAGS)]
    pub(crate) json_in: Option<PathBuf>,
    /// Command line, or program and arguments.
    #[arg(value_name = "COMMAND", required_unless_present = "json_in", trailing_var_arg = true)]
    pub(crate) command: Vec<String>,
}

/// Commands that a person is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AskArg {
    /// Ask never.
    Off,
    /// Ask for commands that the allowlist does not allow.
    OnMiss,
    /// Ask for every command.
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

/// Ends that the session is notified of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NotifyArg {
    /// Notify, except of a success without output.
    Auto,
    /// Notify always.
    Always,
    /// Notify never.
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

/// Parses an environment variable.
fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE, as in PORT=8080".to_owned()),
    }
}
