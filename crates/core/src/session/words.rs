//! The words of sessions: the same on the wire, on disk and in settings, and frozen.

use crate::words::words;

pub use crate::words::BadWord;

words! {
    /// The kind of a session.
    Kind("session kind") {
        /// The agent's own conversation.
        Main = "main",
        /// A conversation with an agent behind an ACP adapter.
        Acp = "acp",
        /// A conversation with an agent that is a command.
        Cli = "cli",
        /// A part of the work that another session handed over.
        Subagent = "subagent",
        /// Commands only.
        Exec = "exec",
    }

    /// The lifetime of a session.
    Mode("mode") {
        /// The session lasts until it is closed.
        Persistent = "persistent",
        /// The session lasts for one turn.
        Oneshot = "oneshot",
    }

    /// The backend that runs a session's turns; the words of a run's `backendId`.
    Backend("backend") {
        /// Commands of people and gateways.
        Run = "run",
        /// Commands of agents.
        Exec = "exec",
        /// A command line agent: one process per turn.
        Cli = "cli",
        /// An ACP adapter.
        Acp = "acp",
    }

    /// The party that a session talks to.
    Interaction("interaction") {
        /// The session's own channel.
        Interactive = "interactive",
        /// The parent only: nothing that the session says goes to a channel.
        ParentOwnedBackground = "parent-owned-background",
    }

    /// The state of a session: `idle ⇄ busy → closing → closed`.
    SessionState("session state") {
        /// No turn is running.
        Idle = "idle",
        /// A turn is running.
        Busy = "busy",
        /// The session's processes are being ended. Written before the first one is, so that a crash in the middle
        /// is known.
        Closing = "closing",
        /// The session has ended.
        Closed = "closed",
    }

    /// The state of a turn.
    TurnState("turn state") {
        /// The turn is running.
        Running = "running",
        /// The agent answered.
        Done = "done",
        /// The turn failed.
        Failed = "failed",
        /// A client cancelled the turn.
        Cancelled = "cancelled",
        /// A time limit ended it.
        TimedOut = "timed-out",
        /// Nobody saw the turn's end.
        Lost = "lost",
    }

    /// The reason why a turn of a long-lived agent stopped.
    Stop("stop reason") {
        /// The agent finished its answer.
        EndTurn = "end-turn",
        /// The agent has used up its tokens.
        MaxTokens = "max-tokens",
        /// The agent has reached its limit of model requests per turn.
        MaxTurnRequests = "max-turn-requests",
        /// The agent refused.
        Refusal = "refusal",
        /// A client cancelled the turn.
        Cancelled = "cancelled",
        /// A time limit ended the turn.
        TimedOut = "timed-out",
        /// The agent, or the backend that started it, reported an error.
        Error = "error",
        /// The agent's process ended during the turn.
        Crashed = "crashed",
    }

    /// The policy for an agent's permission requests.
    Permissions("permission policy") {
        /// Everything is allowed.
        ApproveAll = "approve-all",
        /// Read-only requests are allowed; the rest is refused.
        ApproveReads = "approve-reads",
        /// Nothing is allowed.
        DenyAll = "deny-all",
        /// A person is asked.
        Ask = "ask",
    }

    /// The sessions that a session may see.
    Visibility("visibility") {
        /// The session itself.
        SelfOnly = "self",
        /// The session itself and all that came from it.
        Tree = "tree",
        /// The sessions of its agent, and those that it owns.
        Agent = "agent",
        /// The sessions of its agent, those of the agents that it may reach, and all that came from it.
        All = "all",
    }

    /// An action on a session that requires visibility.
    Action("action") {
        /// The session is listed.
        List = "list",
        /// The session's history is read.
        History = "history",
        /// A message is sent to the session.
        Send = "send",
        /// The session's status is read.
        Status = "status",
    }
}

impl Backend {
    /// Returns true if a session's next turn begins with its waiting notices. Command sessions have no turns that
    /// could carry them.
    pub fn reads_notices(self) -> bool {
        match self {
            Self::Cli | Self::Acp => true,
            Self::Run | Self::Exec => false,
        }
    }
}
