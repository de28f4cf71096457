//! Codes of refusals: the frozen words that programs compare, each with its HTTP status.

use std::fmt;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $status:literal $word:literal;)*) => {
        /// The code of a refusal.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code {
            $($(#[$doc])* $name,)*
        }

        impl Code {
            /// Every code.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The frozen word in `Problem::code`.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)*
                }
            }

            /// The HTTP status that goes with it.
            pub fn status(self) -> u16 {
                match self {
                    $(Self::$name => $status,)*
                }
            }
        }
    };
}

codes! {
    /// The request cannot be parsed.
    BadRequest = 400 "bad-request";
    /// The client did not show the token.
    Unauthorized = 401 "unauthorized";
    /// The client may not do this.
    Forbidden = 403 "forbidden";
    /// The exec policy does not allow the command.
    Denied = 403 "denied";
    /// There is no such run, or the client may not see it.
    NoSuchRun = 404 "no-such-run";
    /// There is no such session, or the client may not see it.
    NoSuchSession = 404 "no-such-session";
    /// There is no such task, or the client may not see it.
    NoSuchTask = 404 "no-such-task";
    /// The allowlist has no such entry.
    NoSuchEntry = 404 "no-such-entry";
    /// There is nothing at this address.
    NoSuchRoute = 404 "no-such-route";
    /// The address does not take this method.
    MethodNotAllowed = 405 "method-not-allowed";
    /// The id's prefix fits more than one run.
    AmbiguousId = 409 "ambiguous-id";
    /// Another run is in the scope.
    ScopeTaken = 409 "scope-taken";
    /// The run, session or task is in the wrong state for this.
    WrongState = 409 "wrong-state";
    /// The session is closing, or closed.
    SessionClosed = 409 "session-closed";
    /// Another instance holds the run.
    HeldByAnotherInstance = 409 "held-by-another-instance";
    /// The request's body is too long.
    TooLarge = 413 "too-large";
    /// The id's prefix is too short for ending or removing something.
    IdTooShort = 422 "id-too-short";
    /// The command, its environment or its directory is longer than the system accepts.
    TooLong = 422 "too-long";
    /// The agent does not have this model.
    UnknownModel = 422 "unknown-model";
    /// The request can be parsed, and cannot be done as asked.
    Invalid = 422 "invalid";
    /// Too many runs are alive and too many wait.
    TooManyRuns = 429 "too-many-runs";
    /// The session's queue of messages is full.
    QueueFull = 429 "queue-full";
    /// An internal error.
    Internal = 500 "internal";
    /// The daemon is shutting down.
    Draining = 503 "draining";
    /// The maximum number of clients is connected.
    TooManyConnections = 503 "too-many-connections";
    /// The maximum number of clients follows something.
    TooManyFollowers = 503 "too-many-followers";
    /// The registry, or our lease on it, cannot be used now.
    RegistryUnavailable = 503 "registry-unavailable";
    /// The run's keeper does not answer.
    KeeperSilent = 504 "keeper-silent";
}

impl Code {
    /// The status in words, as HTTP has them.
    pub fn title(self) -> &'static str {
        match self.status() {
            400 => "Bad Request",
            401 => "Unauthorized",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            409 => "Conflict",
            413 => "Payload Too Large",
            422 => "Unprocessable Entity",
            429 => "Too Many Requests",
            503 => "Service Unavailable",
            504 => "Gateway Timeout",
            _ => "Internal Server Error",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
