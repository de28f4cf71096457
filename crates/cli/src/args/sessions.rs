//! The command line of `tenure sessions`.

use super::values::{Limit, limit, word};
use super::{PageArgs, SessionsImportArgs, WhoArgs};
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;
use tenure_core::session::{Backend, Interaction, Kind, Mode, Permissions, SessionState};
use tenure_core::tools::sessions::WhenBusy;

/// What can carry out the turns of a new session.
const BACKENDS: [Backend; 3] = [Backend::Acp, Backend::Cli, Backend::Exec];
/// What a new session can be to its agent.
const KINDS: [Kind; 5] = [Kind::Main, Kind::Acp, Kind::Cli, Kind::Subagent, Kind::Exec];

#[derive(Debug, Args)]
#[command(after_help = "\
The same as the agents' tool `sessions`. With --as it sees and does what that session may, and what that session
spawns is below it. Without --as it is the operator, who may do everything.

Examples:
  key=$(tenure sessions spawn --agent claude --task 'Why does the build fail?')
  tenure sessions wait $key
  tenure sessions send $key 'Then repair it.' --wait
  tenure sessions
  tenure sessions list --as agent:main:1 --visibility tree
  tenure sessions close $key")]
pub(crate) struct SessionsArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<SessionsVerb>,
    #[command(flatten)]
    pub(crate) who: WhoArgs,
    /// Print the reply as JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsVerb {
    /// Make a session and print its key.
    Spawn(Box<SpawnArgs>),
    /// List sessions, the newest first; what `tenure sessions` alone does.
    List(SessionsListArgs),
    /// Show what was said in a session.
    History(HistoryArgs),
    /// Say something to a session.
    Send(SendArgs),
    /// Show one session: whose it is, how it is, what it does.
    #[command(
        after_help = "Examples:\n  tenure sessions status agent:main:1\n  tenure sessions status agent:main:1 --json"
    )]
    Status(SessionArgs),
    /// Wait for the end of a turn and print its answer.
    Wait(TurnWaitArgs),
    /// End the turn that is under way; what waits goes on.
    #[command(after_help = "Example:\n  tenure sessions cancel agent:main:1")]
    Cancel(SessionArgs),
    /// End a session and all that it owns, children first.
    Close(CloseArgs),
    /// Take in sessions that others recorded; no process is signalled.
    Import(SessionsImportArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SessionArgs {
    /// The session.
    #[arg(value_name = "KEY", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) key: String,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The key alone is printed on standard output. With --wait the answer to the task follows it, and the exit code is that
of `tenure sessions wait`; with --json all of it is one object at the end.

Examples:
  tenure sessions spawn --agent codex --task 'Why does the build fail?' --wait
  git diff | tenure sessions spawn --agent claude --mode oneshot --task - --wait
  tenure sessions spawn --agent claude --backend acp --permissions ask --task 'Repair it.'
  tenure sessions spawn --agent worker --backend exec --parent agent:main:1 --task 'make check'
  tenure sessions spawn --agent claude --as agent:main:1 --sandbox --label review")]
pub(crate) struct SpawnArgs {
    /// Whose session it is to be; with --backend acp or cli, one that `tenure agents list` shows. Without it, one of commands.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// What carries out its turns: the agent's ACP adapter, its command, or the exec tool, for which each message is a
    /// command line [default: the agent's command, else its adapter].
    #[arg(long, value_name = "WHAT", value_parser = word(&BACKENDS, Backend::word))]
    pub(crate) backend: Option<Backend>,
    /// What it is to its agent.
    #[arg(long, value_name = "KIND", value_parser = word(&KINDS, Kind::word))]
    pub(crate) kind: Option<Kind>,
    /// How long it lasts: until it is closed, or for one turn.
    #[arg(long, value_name = "MODE", value_parser = word(Mode::ALL, Mode::word))]
    pub(crate) mode: Option<Mode>,
    /// The session right above it [default: the one that asks].
    #[arg(long, value_name = "KEY")]
    pub(crate) parent: Option<String>,
    /// What it is to be called [default: a key of its own].
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
    /// What it is to do first; - reads standard input.
    #[arg(long, value_name = "TEXT")]
    pub(crate) task: Option<String>,
    /// Wait for the end of the task and print its answer.
    #[arg(long, requires = "task")]
    pub(crate) wait: bool,
    /// A name for people.
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
    /// Where its turns are carried out [default: here].
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// The model [default: as the agent's description says].
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// End each turn after this long [default: as the agent's description says, or exec.timeout].
    #[arg(long, value_name = "DUR", value_parser = limit, allow_hyphen_values = true)]
    pub(crate) timeout: Option<Limit>,
    /// With --backend acp: how the agent is answered that asks before it does something [default: as its description says].
    #[arg(long, value_name = "HOW", value_parser = word(Permissions::ALL, Permissions::word))]
    pub(crate) permissions: Option<Permissions>,
    /// Shut it in: it sees only itself and what it spawns.
    #[arg(long)]
    pub(crate) sandbox: bool,
    /// With whom it speaks: with its channel, or with its parent only [default: with its parent, if it has one].
    #[arg(long, value_name = "HOW", value_parser = word(Interaction::ALL, Interaction::word))]
    pub(crate) interaction: Option<Interaction>,
    /// The channel that it was asked for on, in the gateway's words.
    #[arg(long, value_name = "NAME")]
    pub(crate) channel: Option<String>,
    /// To whom on that channel.
    #[arg(long, value_name = "WHOM", requires = "channel")]
    pub(crate) to: Option<String>,
    /// In which thread of that channel.
    #[arg(long, value_name = "ID", requires = "channel")]
    pub(crate) thread: Option<String>,
}

#[derive(Debug, Args, Default)]
#[command(after_help = "\
TURNS counts the one under way too; QUEUED are messages that wait.

Examples:
  tenure sessions list
  tenure sessions list --agent claude --state busy --state idle
  tenure sessions list --parent agent:main:1 --json")]
pub(crate) struct SessionsListArgs {
    /// Only this agent's.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Only of this kind.
    #[arg(long, value_name = "KIND", value_parser = word(Kind::ALL, Kind::word))]
    pub(crate) kind: Option<Kind>,
    /// Only those whose turns are carried out so.
    #[arg(long, value_name = "WHAT", value_parser = word(Backend::ALL, Backend::word))]
    pub(crate) backend: Option<Backend>,
    /// Only those in this state; may be repeated.
    #[arg(long = "state", value_name = "STATE", value_parser = word(SessionState::ALL, SessionState::word))]
    pub(crate) states: Vec<SessionState>,
    /// Only what is right below this session.
    #[arg(long, value_name = "KEY")]
    pub(crate) parent: Option<String>,
    /// Only those whose key begins with this.
    #[arg(long, value_name = "TEXT")]
    pub(crate) prefix: Option<String>,
    /// At most so many.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Go on where the page before ended, as it said.
    #[arg(long, value_name = "CURSOR")]
    pub(crate) after: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Long texts are cut, and it is said by how much; `tenure logs RUN` shows all that a turn's run printed.

Examples:
  tenure sessions history agent:main:1
  tenure sessions history agent:main:1 --newest-first --limit 1
  tenure sessions history agent:main:1 --max-bytes 1MiB --json")]
pub(crate) struct HistoryArgs {
    /// The session.
    #[arg(value_name = "KEY", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) key: String,
    #[command(flatten)]
    pub(crate) page: PageArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
It prints the id of the turn that the message is or will be; with --wait, the answer, and the exit code is that of
`tenure sessions wait`. Who stops waiting does not end the turn: `tenure sessions cancel` does.

Examples:
  tenure sessions send agent:main:1 'And now the tests.'
  git diff | tenure sessions send agent:main:1 - --wait
  tenure sessions send agent:main:1 'Stop at the first failure.' --when-busy steer")]
pub(crate) struct SendArgs {
    /// The session.
    #[arg(value_name = "KEY", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) key: String,
    /// What is said; - reads standard input.
    #[arg(value_name = "TEXT")]
    pub(crate) text: String,
    /// What it is to do if the session is busy [default: queue].
    #[arg(long, value_name = "WHAT", value_enum)]
    pub(crate) when_busy: Option<WhenBusyArg>,
    /// Wait for the end of its turn and print the answer.
    #[arg(long)]
    pub(crate) wait: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The answer goes to standard output, what went wrong to standard error.

Exit codes:
  0    the turn was answered
  1    it failed, nobody saw how it ended, or this was refused
  4    no such session
  123  it was cancelled
  124  a time limit ended it, or --timeout passed and it goes on

Examples:
  tenure sessions wait agent:main:1
  tenure sessions wait agent:main:1 --timeout 10m; echo $?")]
pub(crate) struct TurnWaitArgs {
    /// The session.
    #[arg(value_name = "KEY", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) key: String,
    /// Which turn [default: the one that is under way or was last].
    #[arg(long, value_name = "ID")]
    pub(crate) turn: Option<String>,
    /// Give up after this long, with exit code 124; the turn goes on.
    #[arg(long, value_name = "DUR", value_parser = limit, allow_hyphen_values = true)]
    pub(crate) timeout: Option<Limit>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
What is below it is closed first, and every run of them is ended, its whole tree. It returns when that is done.

Examples:
  tenure sessions close agent:main:1
  tenure sessions close agent:main:1 --discard --reason 'begin anew'")]
pub(crate) struct CloseArgs {
    /// The session.
    #[arg(value_name = "KEY", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) key: String,
    /// Forget it and what was said in it, so that its key can be used anew.
    #[arg(long)]
    pub(crate) discard: bool,
    /// Why, for people.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

/// What a message to a busy session is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WhenBusyArg {
    /// Wait until it is idle.
    Queue,
    /// Reach it in the middle of its turn, where that can be; wait where it cannot.
    Steer,
    /// Be refused.
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
