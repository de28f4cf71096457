//! The command line of `tenure acp`.

use super::PageArgs;
use super::help::LAST;
use super::sessions::WhenBusyArg;
use super::values::{Limit, limit, word};
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use tenure_core::session::Permissions;

/// The exit codes of a turn, as of `tenure acp prompt`.
macro_rules! turn_codes {
    () => {
        "
  0    the agent has answered
  1    the turn failed, or used up its tokens or requests
  4    no such session
  119  the agent's process ended during the turn, or while it started
  120  the agent refused, or was refused a permission
  121  how the turn ended is unknown
  123  the turn was cancelled
  124  a time limit ended the turn
  125  Tenure could not send the prompt, or could not start the agent
  126  the agent's program could not be started
  127  the agent's program was not found"
    };
}

#[derive(Debug, Args)]
#[command(after_help = sections!(
    notes: "\
An ACP agent runs behind an adapter, a process that lives from turn to turn. Its session is one of `tenure sessions`, too.\n\n\
In place of a session's key, an agent's name means its session of this directory, or of the nearest directory above it in \
the same git repository.\n\n\
`tenure acp prompt --help` lists the exit codes of prompt and attach.",
    codes: usual_codes!("session"),
    examples: [
        "tenure acp prompt claude 'Why does the build fail?'",
        "git diff | tenure acp prompt codex - > review.md",
        "tenure acp attach claude",
        "tenure acp cancel claude",
        "tenure acp close claude",
        "tenure acp",
    ],
))]
pub(crate) struct AcpArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<AcpVerb>,
    /// Print JSON; live output is an object per line.
    #[arg(long, global = true, display_order = LAST)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AcpVerb {
    /// Send a prompt to an agent and watch its work.
    Prompt(Box<PromptArgs>),
    /// Watch the current turn of a session.
    Attach(AcpAttachArgs),
    /// List ACP sessions, the newest first (same as `tenure acp`).
    #[command(after_help = sections!(
        codes: usual_codes!(),
        examples: ["tenure acp sessions", "tenure acp sessions --json"],
    ))]
    Sessions,
    /// Show messages, thoughts, tool calls, plans and permissions.
    History(AcpHistoryArgs),
    /// Show a session with its adapter, modes and options.
    #[command(after_help = sections!(
        codes: usual_codes!("session"),
        examples: ["tenure acp status claude", "tenure acp status claude --json"],
    ))]
    Status(AcpSessionArgs),
    /// Cancel the current turn; queued messages continue.
    #[command(after_help = sections!(
        notes: "The agent is asked to stop by the protocol, without a signal. The session continues with the next prompt.",
        codes: usual_codes!("session"),
        examples: ["tenure acp cancel claude"],
    ))]
    Cancel(AcpSessionArgs),
    /// Close a session and end all its processes.
    Close(AcpCloseArgs),
    /// Set the agent's mode.
    #[command(after_help = sections!(
        notes: "`tenure acp status` lists the modes.",
        codes: usual_codes!("session"),
        examples: ["tenure acp set-mode claude plan"],
    ))]
    SetMode(SetModeArgs),
    /// Set one of the agent's own options.
    #[command(after_help = sections!(
        notes: "`tenure acp status` lists the options.",
        codes: usual_codes!("session"),
        examples: ["tenure acp set-option codex reasoning_effort high"],
    ))]
    SetOption(SetOptionArgs),
}

#[derive(Debug, Args)]
#[command(after_help = sections!(
    notes: "\
The prompt goes to --session, or to the agent's session of this directory or of the nearest directory above it in the same \
git repository. If there is none, it is created.\n\n\
On a terminal you see all of the agent's work, and answer its permission requests. Elsewhere stdout has only the answer, and \
stderr the rest. The first Ctrl-C cancels the turn, the second exits.",
    codes: turn_codes!(),
    examples: [
        "tenure acp prompt claude 'Why does the build fail?'",
        "tenure acp prompt codex --permissions ask 'Repair it.'",
        "git diff | tenure acp prompt gemini --oneshot - > review.md",
        "tenure acp prompt claude --no-wait 'Run all tests.'; tenure acp attach claude",
    ],
))]
pub(crate) struct PromptArgs {
    /// Agent with an ACP adapter, as `tenure agents` lists it.
    #[arg(value_name = "AGENT", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) agent: String,
    /// Prompt; - reads stdin.
    #[arg(value_name = "TEXT")]
    pub(crate) text: String,
    /// Use this session [default: the agent's of this directory].
    #[arg(long, value_name = "KEY")]
    pub(crate) session: Option<String>,
    /// Use a new session with a key of its own.
    #[arg(long, conflicts_with = "session")]
    pub(crate) new: bool,
    /// Use a new session that is closed after this turn.
    #[arg(long, conflicts_with_all = ["new", "session"])]
    pub(crate) oneshot: bool,
    /// Directory of the session [default: the current one].
    ///
    /// With this flag, sessions of the directories above it are not used.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Model of a new session [default: the agent's].
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Answer to permission requests in a new session [default: the agent's].
    ///
    /// `approve-all` allows everything, `approve-reads` only reading, `deny-all` nothing; `ask` asks a person.
    #[arg(long, value_name = "HOW", value_parser = word(Permissions::ALL, Permissions::word))]
    pub(crate) permissions: Option<Permissions>,
    /// Set this mode of the agent first.
    #[arg(long, value_name = "ID")]
    pub(crate) agent_mode: Option<String>,
    /// End each turn of a new session after this long [default: the agent's].
    #[arg(long, value_name = "DUR", value_parser = limit, allow_hyphen_values = true)]
    pub(crate) timeout: Option<Limit>,
    /// Print the turn's id, and do not wait for the answer.
    #[arg(long)]
    pub(crate) no_wait: bool,
    /// Treatment of the prompt if the session is busy [default: queue].
    #[arg(long, value_name = "WHAT", value_enum)]
    pub(crate) when_busy: Option<WhenBusyArg>,
}

#[derive(Debug, Args)]
#[command(after_help = sections!(
    notes: "The turn is shown from its beginning. Ctrl-C exits, and the turn continues.",
    codes: turn_codes!(),
    examples: ["tenure acp attach", "tenure acp attach claude"],
))]
pub(crate) struct AcpAttachArgs {
    #[command(flatten)]
    pub(crate) which: AcpSessionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AcpSessionArgs {
    /// Session key, or agent [default: the only session of this directory].
    ///
    /// An agent means its session of this directory.
    #[arg(value_name = "KEY|AGENT", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) key: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = sections!(
    notes: "`tenure sessions history` shows only the messages and the answers.",
    codes: usual_codes!("session"),
    examples: [
        "tenure acp history claude",
        "tenure acp history claude --newest-first --limit 20",
        "tenure acp history claude --after 500 --json",
    ],
))]
pub(crate) struct AcpHistoryArgs {
    #[command(flatten)]
    pub(crate) which: AcpSessionArgs,
    #[command(flatten)]
    pub(crate) page: PageArgs,
}

#[derive(Debug, Args)]
#[command(after_help = sections!(
    notes: "\
The agent is told by the protocol, if it supports that. Then the whole trees of the agent and of its terminals are ended. \
This returns when they are gone.",
    codes: usual_codes!("session"),
    examples: ["tenure acp close claude", "tenure acp close claude --discard"],
))]
pub(crate) struct AcpCloseArgs {
    #[command(flatten)]
    pub(crate) which: AcpSessionArgs,
    /// Delete the session's history and free its key.
    #[arg(long)]
    pub(crate) discard: bool,
    /// Reason, for people.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SetModeArgs {
    /// Session key, or agent, which means its session of this directory.
    #[arg(value_name = "KEY|AGENT", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) key: String,
    /// Id of the mode.
    #[arg(value_name = "MODE")]
    pub(crate) mode: String,
}

#[derive(Debug, Args)]
pub(crate) struct SetOptionArgs {
    /// Session key, or agent, which means its session of this directory.
    #[arg(value_name = "KEY|AGENT", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) key: String,
    /// Id of the option.
    #[arg(value_name = "OPTION")]
    pub(crate) option: String,
    /// New value.
    #[arg(value_name = "VALUE")]
    pub(crate) value: String,
}
