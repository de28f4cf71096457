//! The command line of `tenure sessions`.

use super::help::LAST;
use super::values::{Limit, limit, number, word};
use super::{PageArgs, RequesterArgs, SessionsImportArgs};
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;
use tenure_core::session::{Backend, Interaction, Kind, Mode, Permissions, SessionState};
use tenure_core::tools::sessions::WhenBusy;

/// The backends that a new session can have.
const BACKENDS: [Backend; 3] = [Backend::Acp, Backend::Cli, Backend::Exec];
/// The kinds that a new session can have.
const KINDS: [Kind; 5] = [Kind::Main, Kind::Acp, Kind::Cli, Kind::Subagent, Kind::Exec];

#[derive(Debug, Args)]
#[command(after_help = sections!(
    notes: "\
A session is a conversation with an agent: a key, an owner, and turns, one at a time. The agents' tool `sessions` does the \
same.\n\n\
With --as you see and do what that session may, and the sessions that you spawn belong to it. Without --as you are the operator, \
who may do everything.\n\n\
`tenure sessions wait --help` lists the exit codes of wait and of --wait.",
    codes: usual_codes!("session"),
    examples: [
        "key=$(tenure sessions spawn --agent claude --task 'Why does the build fail?')",
        "tenure sessions wait $key",
        "tenure sessions send $key 'Then repair it.' --wait",
        "tenure sessions",
        "tenure sessions list --as agent:main:1 --visibility tree",
        "tenure sessions close $key",
    ],
))]
pub(crate) struct SessionsArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<SessionsVerb>,
    #[command(flatten)]
    pub(crate) requester: RequesterArgs,
    /// Print JSON.
    #[arg(long, global = true, display_order = LAST)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsVerb {
    /// Start a session and print its key.
    Spawn(Box<SpawnArgs>),
    /// List sessions, the newest first (same as `tenure sessions`).
    List(SessionsListArgs),
    /// Show the messages and answers of a session.
    History(HistoryArgs),
    /// Send a message to a session.
    Send(SendArgs),
    /// Show one session: its owner, its state, its current turn.
    #[command(after_help = sections!(
        codes: usual_codes!("session"),
        examples: ["tenure sessions status agent:main:1", "tenure sessions status agent:main:1 --json"],
    ))]
    Status(SessionArgs),
    /// Wait for the end of a turn and print its answer.
    Wait(TurnWaitArgs),
    /// Cancel the current turn; queued messages continue.
    #[command(after_help = sections!(
        codes: usual_codes!("session"),
        examples: ["tenure sessions cancel agent:main:1"],
    ))]
    Cancel(SessionArgs),
    /// Close a session and everything that it owns, children first.
    Close(CloseArgs),
    /// Import sessions from the records of other programs.
    Import(SessionsImportArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SessionArgs {
    /// Session key.
    #[arg(value_name = "KEY", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) key: String,
}

#[derive(Debug, Args)]
#[command(after_help = sections!(
    notes: "\
Stdout has the key. With --wait it is followed by the answer to --task, and the exit code is that of `tenure sessions wait`. \
With --json, stdout is one object at the end.",
    codes: usual_codes!("session"),
    examples: [
        "tenure sessions spawn --agent codex --task 'Why does the build fail?' --wait",
        "git diff | tenure sessions spawn --agent claude --mode oneshot --task - --wait",
        "tenure sessions spawn --agent claude --backend acp --permissions ask --task 'Repair it.'",
        "tenure sessions spawn --agent worker --backend exec --parent agent:main:1 --task 'make check'",
        "tenure sessions spawn --agent claude --as agent:main:1 --sandbox --label review",
    ],
))]
pub(crate) struct SpawnArgs {
    /// Agent of the session, as `tenure agents` lists it.
    ///
    /// With --backend exec it can be any name. Without an agent, each message is a command line.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Program that executes the turns [default: the agent's command].
    ///
    /// `cli` is the agent's command, started for each turn; `acp` is the agent's ACP adapter, the default for an agent
    /// without a command; `exec` is the exec tool, for which each message is a command line, the default without an agent.
    #[arg(long, value_name = "WHAT", value_parser = word(&BACKENDS, Backend::word))]
    pub(crate) backend: Option<Backend>,
    /// Kind of the session.
    #[arg(long, value_name = "KIND", value_parser = word(&KINDS, Kind::word))]
    pub(crate) kind: Option<Kind>,
    /// Lifetime: one turn, or until it is closed [default: persistent].
    #[arg(long, value_name = "MODE", value_parser = word(Mode::ALL, Mode::word))]
    pub(crate) mode: Option<Mode>,
    /// Parent session [default: the caller's session].
    #[arg(long, value_name = "KEY")]
    pub(crate) parent: Option<String>,
    /// Key of the session [default: generated].
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
    /// First message; - reads stdin.
    #[arg(long, value_name = "TEXT")]
    pub(crate) task: Option<String>,
    /// Wait for the answer to --task and print it.
    #[arg(long, requires = "task")]
    pub(crate) wait: bool,
    /// Name for people, shown in lists.
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
    /// Directory of the turns [default: the current one].
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Model [default: the agent's].
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// End each turn after this long [default: the agent's limit].
    ///
    /// Without an agent, the default is the setting `exec.timeout`.
    #[arg(long, value_name = "DUR", value_parser = limit, allow_hyphen_values = true)]
    pub(crate) timeout: Option<Limit>,
    /// With --backend acp: answer to permission requests.
    ///
    /// `approve-all` allows everything, `approve-reads` only reading, `deny-all` nothing; `ask` asks a person. The
    /// default is the agent's.
    #[arg(long, value_name = "HOW", value_parser = word(Permissions::ALL, Permissions::word))]
    pub(crate) permissions: Option<Permissions>,
    /// Let the session see only itself and what it spawns.
    #[arg(long)]
    pub(crate) sandbox: bool,
    /// Recipient of its notices: its channel, or only its parent.
    ///
    /// `interactive` is the channel; `parent-owned-background` is the parent, the default for a session with one.
    #[arg(long, value_name = "HOW", value_parser = word(Interaction::ALL, Interaction::word))]
    pub(crate) interaction: Option<Interaction>,
    /// Channel for its notices, in the gateway's words.
    #[arg(long, value_name = "NAME")]
    pub(crate) channel: Option<String>,
    /// Recipient on that channel.
    #[arg(long, value_name = "WHOM", requires = "channel")]
    pub(crate) to: Option<String>,
    /// Thread on that channel.
    #[arg(long, value_name = "ID", requires = "channel")]
    pub(crate) thread: Option<String>,
}

#[derive(Debug, Args, Default)]
#[command(after_help = sections!(
    notes: "TURNS includes the current turn; QUEUED counts waiting messages.",
    codes: usual_codes!("session"),
    examples: [
        "tenure sessions list",
        "tenure sessions list --agent claude --state busy --state idle",
        "tenure sessions list --parent agent:main:1 --json",
    ],
))]
pub(crate) struct SessionsListArgs {
    /// List only this agent's sessions.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// List only sessions of this kind.
    #[arg(long, value_name = "KIND", value_parser = word(Kind::ALL, Kind::word))]
    pub(crate) kind: Option<Kind>,
    /// List only sessions with this backend.
    #[arg(long, value_name = "WHAT", value_parser = word(Backend::ALL, Backend::word))]
    pub(crate) backend: Option<Backend>,
    /// List only sessions in this state; may be repeated.
    #[arg(long = "state", value_name = "STATE", value_parser = word(SessionState::ALL, SessionState::word))]
    pub(crate) states: Vec<SessionState>,
    /// List only the children of this session.
    #[arg(long, value_name = "KEY")]
    pub(crate) parent: Option<String>,
    /// List only sessions whose key begins with this.
    #[arg(long, value_name = "TEXT")]
    pub(crate) prefix: Option<String>,
    /// List at most N sessions.
    #[arg(long, value_name = "N", value_parser = number::<u64>)]
    pub(crate) limit: Option<u64>,
    /// Continue after the previous page, with the value that it printed.
    #[arg(long, value_name = "CURSOR")]
    pub(crate) after: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = sections!(
    notes: "Long texts are cut, with the number of bytes left out; `tenure logs RUN` prints all output of a turn's run.",
    codes: usual_codes!("session"),
    examples: [
        "tenure sessions history agent:main:1",
        "tenure sessions history agent:main:1 --newest-first --limit 1",
        "tenure sessions history agent:main:1 --max-bytes 1MiB --json",
    ],
))]
pub(crate) struct HistoryArgs {
    /// Session key.
    #[arg(value_name = "KEY", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) key: String,
    #[command(flatten)]
    pub(crate) page: PageArgs,
}

#[derive(Debug, Args)]
#[command(after_help = sections!(
    notes: "\
Stdout has the id of the message's turn. With --wait it has the answer, and the exit code is that of `tenure sessions wait`. \
Ctrl-C stops the wait, not the turn; `tenure sessions cancel` ends the turn.",
    codes: usual_codes!("session"),
    examples: [
        "tenure sessions send agent:main:1 'And now the tests.'",
        "git diff | tenure sessions send agent:main:1 - --wait",
        "tenure sessions send agent:main:1 'Stop at the first failure.' --when-busy steer",
    ],
))]
pub(crate) struct SendArgs {
    /// Session key.
    #[arg(value_name = "KEY", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) key: String,
    /// Message; - reads stdin.
    #[arg(value_name = "TEXT")]
    pub(crate) text: String,
    /// Treatment of the message if the session is busy [default: queue].
    #[arg(long, value_name = "WHAT", value_enum)]
    pub(crate) when_busy: Option<WhenBusyArg>,
    /// Wait for the answer and print it.
    #[arg(long)]
    pub(crate) wait: bool,
}

#[derive(Debug, Args)]
#[command(after_help = sections!(
    notes: "Stdout has the answer, and stderr the errors.",
    codes: "
  0    the turn was answered
  1    the turn failed, its end is unknown, or the call was refused
  2    wrong usage
  4    no such session
  123  the turn was cancelled
  124  a time limit ended the turn, or --timeout has passed and the turn continues",
    examples: ["tenure sessions wait agent:main:1", "tenure sessions wait agent:main:1 --timeout 10m; echo $?"],
))]
pub(crate) struct TurnWaitArgs {
    /// Session key.
    #[arg(value_name = "KEY", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) key: String,
    /// Turn to wait for [default: the current one, or else the last].
    #[arg(long, value_name = "ID")]
    pub(crate) turn: Option<String>,
    /// Give up after this long with exit code 124; the turn continues.
    #[arg(long, value_name = "DUR", value_parser = limit, allow_hyphen_values = true)]
    pub(crate) timeout: Option<Limit>,
}

#[derive(Debug, Args)]
#[command(after_help = sections!(
    notes: "The session's children are closed first. Every run is ended with its whole tree. This returns when all of it is gone.",
    codes: usual_codes!("session"),
    examples: [
        "tenure sessions close agent:main:1",
        "tenure sessions close agent:main:1 --discard --reason 'start over'",
    ],
))]
pub(crate) struct CloseArgs {
    /// Session key.
    #[arg(value_name = "KEY", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) key: String,
    /// Delete the session's history and free its key.
    #[arg(long)]
    pub(crate) discard: bool,
    /// Reason, for people.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

/// Treatment of a message to a busy session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WhenBusyArg {
    /// Wait until the session is idle.
    Queue,
    /// Deliver it during the turn if the backend can, else wait.
    Steer,
    /// Refuse the message.
    Refuse,
}

impl From<WhenBusyArg> for WhenBusy {
    fn from(arg: WhenBusyArg) -> Self {
        match arg {
            WhenBusyArg::Queue => WhenBusy::Queue,
            WhenBusyArg::Steer => WhenBusy::Steer,
            WhenBusyArg::Refuse => WhenBusy::Refuse,
        }
    }
}
