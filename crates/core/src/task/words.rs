//! The words of tasks: the same on the wire, on disk and in settings, and frozen.

use crate::session;
use crate::words::words;

words! {
    /// The kind of work that a task tracks.
    Kind("task kind") {
        /// A command in the background, started by a person, a gateway or an agent.
        Run = "run",
        /// A turn of an agent behind an ACP adapter.
        Acp = "acp",
        /// A turn of a session to which another one delegated work.
        Subagent = "subagent",
        /// A turn of a command line agent.
        Cli = "cli",
    }

    /// The status of a task.
    Status("task status") {
        /// The work has not begun.
        Queued = "queued",
        /// The work has begun.
        Running = "running",
        /// The work succeeded.
        Succeeded = "succeeded",
        /// The work failed.
        Failed = "failed",
        /// A time limit ended it.
        TimedOut = "timed_out",
        /// A client cancelled it.
        Cancelled = "cancelled",
        /// Nobody saw the end.
        Lost = "lost",
    }

    /// The delivery status of a task's terminal notice.
    DeliveryStatus("delivery status") {
        /// The notice is still to be delivered, or the end is still to come.
        Pending = "pending",
        /// The channel has accepted the notice, or the owner has seen the end itself.
        Delivered = "delivered",
        /// The notice waits for the owner's next turn. Nobody has read it yet.
        SessionQueued = "session_queued",
        /// Neither the channel nor the session accepted the notice.
        Failed = "failed",
        /// The owner's session has ended.
        ParentMissing = "parent_missing",
        /// There is nobody to tell.
        NotApplicable = "not_applicable",
    }

    /// The notices that an owner gets about a task.
    #[derive(Default)]
    NotifyPolicy("notify policy") {
        /// The end.
        #[default]
        DoneOnly = "done_only",
        /// The start, the progress and the end.
        StateChanges = "state_changes",
        /// Nothing.
        Silent = "silent",
    }

    /// An event of a task.
    EventKind("task event") {
        /// The task was created.
        Created = "created",
        /// The work began.
        Started = "started",
        /// The work made progress.
        Progress = "progress",
        /// Cancellation was requested.
        CancelAsked = "cancel_asked",
        /// The work ended.
        Ended = "ended",
        /// The task was given up, because nothing backs it any more.
        Lost = "lost",
        /// The task was given up although the work had ended.
        Corrected = "corrected",
        /// The notify policy was changed.
        Policy = "policy",
    }

    /// A problem of a task.
    FindingCode("finding") {
        /// The task is queued for too long.
        StaleQueued = "stale_queued",
        /// The task runs without backing and without events.
        StaleRunning = "stale_running",
        /// The owner could not be told.
        DeliveryFailed = "delivery_failed",
        /// The channel refuses the terminal notice.
        ChannelRefuses = "channel_refuses",
        /// The task has ended, but has no time of removal.
        MissingCleanup = "missing_cleanup",
        /// The times contradict each other.
        InconsistentTimes = "inconsistent_times",
    }
}

impl Status {
    /// Returns true if the task has ended.
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Queued | Self::Running => false,
            Self::Succeeded | Self::Failed | Self::TimedOut | Self::Cancelled | Self::Lost => true,
        }
    }
}

impl Kind {
    /// Returns the kind of task for a turn of such a session.
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
