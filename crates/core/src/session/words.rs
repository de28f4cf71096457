//! The words of sessions: the same on the wire, on disk and in settings, and frozen.

use crate::words::words;

pub use crate::words::BadWord;

words! {
    /// What a session is to its agent.
    Kind("kind of session") {
        /// The agent's own conversation.
        Main = "main",
        /// A conversation with an agent behind an ACP adapter.
        Acp = "acp",
        /// A conversation with an agent that is a command.
        Cli = "cli",
        /// A part of the work that another session handed over.
        Subagent = "subagent",
        /// Commands.
        Exec = "exec",
    }

    /// How long a session lasts.
    Mode("mode") {
        /// Until it is closed.
        Persistent = "persistent",
        /// For one turn.
        Oneshot = "oneshot",
    }

    /// What carries out a session's turns; the words of a run's `backendId`.
    Backend("backend") {
        /// Commands of people and gateways.
        Run = "run",
        /// Commands of agents.
        Exec = "exec",
        /// A process of an agent's command for each turn.
        Cli = "cli",
        /// An ACP adapter.
        Acp = "acp",
    }

    /// With whom a session speaks.
    Interaction("interaction") {
        /// With its own channel.
        Interactive = "interactive",
        /// With its parent only: what it says goes to no channel.
        ParentOwnedBackground = "parent-owned-background",
    }

    /// Where a session is in its life: `idle ⇄ busy → closing → closed`.
    SessionState("state") {
        /// It waits for something to do.
        Idle = "idle",
        /// A turn is under way.
        Busy = "busy",
        /// What it owns is being ended. Written before anything is, so that a crash in the middle is known.
        Closing = "closing",
        /// It is over.
        Closed = "closed",
    }

    /// How a turn is.
    TurnState("state of a turn") {
        /// It is under way.
        Running = "running",
        /// It was answered.
        Done = "done",
        /// It was not.
        Failed = "failed",
        /// Somebody ended it.
        Cancelled = "cancelled",
        /// A time limit ended it.
        TimedOut = "timed-out",
        /// Nobody saw how it ended.
        Lost = "lost",
    }

    /// Why the turn of an agent that goes on stopped.
    Stop("reason to stop") {
        /// The agent said what it had to say.
        EndTurn = "end-turn",
        /// It has used up its tokens.
        MaxTokens = "max-tokens",
        /// It has asked its model as often as it may in a turn.
        MaxTurnRequests = "max-turn-requests",
        /// It will not do it.
        Refusal = "refusal",
        /// Somebody had it ended.
        Cancelled = "cancelled",
        /// A time limit did.
        TimedOut = "timed-out",
        /// Something went wrong that the agent, or whoever started it, can tell of.
        Error = "error",
        /// Its process ended in the middle of it.
        Crashed = "crashed",
    }

    /// How an agent is answered that asks before it does something.
    Permissions("permissions") {
        /// Everything is allowed.
        ApproveAll = "approve-all",
        /// What only looks is allowed; the rest is refused.
        ApproveReads = "approve-reads",
        /// Nothing is allowed.
        DenyAll = "deny-all",
        /// Somebody is asked.
        Ask = "ask",
    }

    /// Which sessions a session may see.
    Visibility("visibility") {
        /// Itself.
        SelfOnly = "self",
        /// Itself and what came from it.
        Tree = "tree",
        /// The sessions of its agent, and what it owns.
        Agent = "agent",
        /// The sessions of its agent, of those agents that it may reach, and what came from it.
        All = "all",
    }

    /// What is done with a session that must be seen for it.
    Action("action") {
        /// It is shown in a list.
        List = "list",
        /// What was said in it is read.
        History = "history",
        /// It is told something.
        Send = "send",
        /// It is asked how it is.
        Status = "status",
    }
}

impl Backend {
    /// Whether a session's next turn begins with the notices that wait for it. To a command nobody says anything first.
    pub fn reads_notices(self) -> bool {
        match self {
            Self::Cli | Self::Acp => true,
            Self::Run | Self::Exec => false,
        }
    }
}
