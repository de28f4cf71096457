//! The words of tasks: the same on the wire, on disk and in settings, and frozen.

use crate::session;
use crate::words::words;

words! {
    /// What a task tracks.
    Kind("kind of task") {
        /// A command in the background, of a person, a gateway or an agent.
        Run = "run",
        /// A turn of an agent behind an ACP adapter.
        Acp = "acp",
        /// A turn of a session that another one handed a part of its work.
        Subagent = "subagent",
        /// A turn of an agent that is a command.
        Cli = "cli",
    }

    /// How a task is.
    Status("status of a task") {
        /// It has not begun.
        Queued = "queued",
        /// It is under way.
        Running = "running",
        /// It did what it was to do.
        Succeeded = "succeeded",
        /// It did not.
        Failed = "failed",
        /// A time limit ended it.
        TimedOut = "timed_out",
        /// Somebody ended it.
        Cancelled = "cancelled",
        /// Nobody saw how it ended.
        Lost = "lost",
    }

    /// Whether the owner was told how a task ended.
    DeliveryStatus("delivery status") {
        /// It will be.
        Pending = "pending",
        /// Its channel has taken the notice, or the owner has seen the end itself.
        Delivered = "delivered",
        /// The notice waits for the owner's next turn. Nobody has read it yet.
        SessionQueued = "session_queued",
        /// Neither the channel nor the session took it.
        Failed = "failed",
        /// The session that was to be told is over.
        ParentMissing = "parent_missing",
        /// Nobody is to be told.
        NotApplicable = "not_applicable",
    }

    /// What of a task is told.
    #[derive(Default)]
    NotifyPolicy("notify policy") {
        /// How it ended.
        #[default]
        DoneOnly = "done_only",
        /// That it began, how it goes, and how it ended.
        StateChanges = "state_changes",
        /// Nothing.
        Silent = "silent",
    }

    /// What happened to a task.
    EventKind("event of a task") {
        /// It was asked for.
        Created = "created",
        /// It began.
        Started = "started",
        /// It went on.
        Progress = "progress",
        /// Somebody wants it ended.
        CancelAsked = "cancel_asked",
        /// It ended.
        Ended = "ended",
        /// It was given up: nothing is behind it any more.
        Lost = "lost",
        /// It was given up and had ended all the same.
        Corrected = "corrected",
        /// Something else of it is told from now on.
        Policy = "policy",
    }

    /// What is wrong with a task.
    FindingCode("finding") {
        /// It waits for too long.
        StaleQueued = "stale_queued",
        /// Nothing is heard of it, and nothing is behind it.
        StaleRunning = "stale_running",
        /// Its owner could not be told.
        DeliveryFailed = "delivery_failed",
        /// Its channel does not take how it ended.
        ChannelRefuses = "channel_refuses",
        /// It has ended, and would never go.
        MissingCleanup = "missing_cleanup",
        /// Its times cannot be.
        InconsistentTimes = "inconsistent_times",
    }
}

impl Status {
    /// Whether nothing more is expected.
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Queued | Self::Running => false,
            Self::Succeeded | Self::Failed | Self::TimedOut | Self::Cancelled | Self::Lost => true,
        }
    }
}

impl Kind {
    /// What a turn of such a session is.
    pub fn of_turn(kind: session::Kind, backend: session::Backend) -> Self {
        use session::Backend;
        match (kind, backend) {
            (session::Kind::Subagent, _) => Self::Subagent,
            (_, Backend::Acp) => Self::Acp,
            (_, Backend::Cli) => Self::Cli,
            (_, Backend::Run | Backend::Exec) => Self::Run,
        }
    }
}
