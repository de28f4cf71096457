//! The command line of `tenure acp`.

use super::PageArgs;
use super::sessions::WhenBusyArg;
use super::values::{Limit, limit, word};
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use tenure_core::session::Permissions;

#[derive(Debug, Args)]
#[command(after_help = "\
An agent behind an adapter of the Agent Client Protocol goes on from turn to turn. Its session is one of `tenure
sessions`, too. Where a session is wanted, its key is taken, or the name of an agent, which means that agent's session
of this directory, or of the nearest directory above it in the same git repository.

Examples:
  tenure acp prompt claude 'Why does the build fail?'
  git diff | tenure acp prompt codex - > review.md
  tenure acp attach claude
  tenure acp cancel claude
  tenure acp close claude
  tenure acp")]
pub(crate) struct AcpArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<AcpVerb>,
    /// Print JSON: what is live, an object a line as it comes.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AcpVerb {
    /// Say something to an agent and watch what it does.
    Prompt(Box<PromptArgs>),
    /// Watch the turn that is under way, from another terminal.
    Attach(AcpAttachArgs),
    /// List the sessions of ACP agents, the newest first; what `tenure acp` alone does.
    #[command(after_help = "Examples:\n  tenure acp sessions\n  tenure acp sessions --json")]
    Sessions,
    /// Show what happened in a session: messages, thoughts, tool calls, plans, permissions.
    History(AcpHistoryArgs),
    /// Show one session, its adapter, and the modes and options that it has.
    #[command(after_help = "Examples:\n  tenure acp status claude\n  tenure acp status claude --json")]
    Status(AcpSessionArgs),
    /// Have the agent stop what it does; what waits goes on.
    #[command(after_help = "\
The agent is told by the protocol, and nothing is signalled: the session goes on with the next prompt.

Example:
  tenure acp cancel claude")]
    Cancel(AcpSessionArgs),
    /// End a session: its adapter and every process that came of it.
    Close(AcpCloseArgs),
    /// Have the agent work in another of its modes.
    #[command(after_help = "\
`tenure acp status` lists the modes.

Example:
  tenure acp set-mode claude plan")]
    SetMode(SetModeArgs),
    /// Set one of the agent's own options.
    #[command(after_help = "\
`tenure acp status` lists the options.

Example:
  tenure acp set-option codex reasoning_effort high")]
    SetOption(SetOptionArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
The session is the agent's of this directory, or of the nearest one above it in the same git repository, or --session;
it is made if there is none. With --cwd, only that directory counts. On a terminal all that the
agent does is shown, and it is asked there what needs a decision. Elsewhere the answer alone is on standard output, and
the rest on standard error. The first Ctrl-C cancels the turn, the second leaves.

Exit codes:
  0    the agent has answered
  1    it failed, or has used up its tokens or requests
  119  its process ended in the middle of the turn
  120  it refused
  121  how the turn ended is unknown
  123  it was cancelled
  124  a time limit ended it
  125  Tenure could not ask it

Examples:
  tenure acp prompt claude 'Why does the build fail?'
  tenure acp prompt codex --permissions ask 'Repair it.'
  git diff | tenure acp prompt gemini --oneshot - > review.md
  tenure acp prompt claude --no-wait 'Run all tests.'; tenure acp attach claude")]
pub(crate) struct PromptArgs {
    /// The agent, one that `tenure agents list` shows with an adapter.
    #[arg(value_name = "AGENT", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) agent: String,
    /// What is said; - reads standard input.
    #[arg(value_name = "TEXT")]
    pub(crate) text: String,
    /// In this session [default: the agent's of this directory].
    #[arg(long, value_name = "KEY")]
    pub(crate) session: Option<String>,
    /// In a new session, with a key of its own.
    #[arg(long, conflicts_with = "session")]
    pub(crate) new: bool,
    /// In a new session that is closed after this turn.
    #[arg(long, conflicts_with_all = ["new", "session"])]
    pub(crate) oneshot: bool,
    /// Where the agent works [default: here].
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// The model of a new session [default: as the agent's description says].
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// How the agent of a new session is answered that asks before it does something [default: as its description says].
    #[arg(long, value_name = "HOW", value_parser = word(Permissions::ALL, Permissions::word))]
    pub(crate) permissions: Option<Permissions>,
    /// Have it work in this of its modes.
    #[arg(long, value_name = "ID")]
    pub(crate) agent_mode: Option<String>,
    /// End each turn of a new session after this long [default: as the agent's description says].
    #[arg(long, value_name = "DUR", value_parser = limit, allow_hyphen_values = true)]
    pub(crate) timeout: Option<Limit>,
    /// Print the turn's id and leave it to itself.
    #[arg(long)]
    pub(crate) no_wait: bool,
    /// What to do if the session is busy [default: queue].
    #[arg(long, value_name = "WHAT", value_enum)]
    pub(crate) when_busy: Option<WhenBusyArg>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
All of the turn is shown from its beginning. Ctrl-C leaves, and the turn goes on.
The exit codes are those of `tenure acp prompt`. No such session: 4.

Examples:
  tenure acp attach
  tenure acp attach claude")]
pub(crate) struct AcpAttachArgs {
    #[command(flatten)]
    pub(crate) which: AcpSessionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AcpSessionArgs {
    /// The session, or the agent whose session of this directory is meant [default: the only one of this directory].
    #[arg(value_name = "KEY|AGENT", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) key: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
`tenure sessions history` shows the turns alone, with what was said and answered.

Examples:
  tenure acp history claude
  tenure acp history claude --newest-first --limit 20
  tenure acp history claude --after 500 --json")]
pub(crate) struct AcpHistoryArgs {
    #[command(flatten)]
    pub(crate) which: AcpSessionArgs,
    #[command(flatten)]
    pub(crate) page: PageArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The agent is told by the protocol where it understands that; then its whole tree is ended, and that of every terminal
that it had. It returns when that is done.

Examples:
  tenure acp close claude
  tenure acp close claude --discard")]
pub(crate) struct AcpCloseArgs {
    #[command(flatten)]
    pub(crate) which: AcpSessionArgs,
    /// Forget it and what happened in it, so that its key can be used anew.
    #[arg(long)]
    pub(crate) discard: bool,
    /// Why, for people.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SetModeArgs {
    /// The session, or the agent whose session of this directory is meant.
    #[arg(value_name = "KEY|AGENT", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) key: String,
    /// The id of the mode.
    #[arg(value_name = "MODE")]
    pub(crate) mode: String,
}

#[derive(Debug, Args)]
pub(crate) struct SetOptionArgs {
    /// The session, or the agent whose session of this directory is meant.
    #[arg(value_name = "KEY|AGENT", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) key: String,
    /// The id of the option.
    #[arg(value_name = "OPTION")]
    pub(crate) option: String,
    /// What it is set to.
    #[arg(value_name = "VALUE")]
    pub(crate) value: String,
}
