//! The words of sessions: the same on the wire, on disk and in settings, and frozen.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A word that is none of those that may stand there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no {what}: write one of {valid}")]
pub struct BadWord {
    what: &'static str,
    text: String,
    valid: String,
}

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident ($what:literal) {
        $($(#[$of_variant:meta])* $variant:ident = $word:literal,)*
    })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "kebab-case")]
        pub enum $name {
            $($(#[$of_variant])* $variant,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Its word.
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl FromStr for $name {
            type Err = BadWord;

            fn from_str(text: &str) -> Result<Self, BadWord> {
                Self::ALL.iter().copied().find(|it| it.word() == text).ok_or_else(|| BadWord {
                    what: $what,
                    text: text.chars().take(64).collect(),
                    valid: [$($word,)*].join(", "),
                })
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.word())
            }
        }
    )*};
}

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

    /// Which sessions a session may see.
    Visibility("visibility") {
        /// Itself.
        #[serde(rename = "self")]
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
