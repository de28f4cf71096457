//! Why something was not done: a frozen word for programs, and a sentence that says what to do.

use std::fmt::Display;
use tenure_core::api::Problem;
use tenure_core::session::Refused;
use tenure_store::Failed;

/// Something that was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) code: &'static str,
    pub(crate) detail: String,
}

macro_rules! refusals {
    ($($(#[$doc:meta])* $name:ident = $status:literal $code:literal;)*) => {
        impl Refusal {$(
            $(#[$doc])*
            pub(crate) fn $name(detail: impl Display) -> Self {
                Self { status: $status, code: $code, detail: detail.to_string() }
            }
        )*}

        /// Every code, with its status: each has a snapshot.
        #[cfg(test)]
        #[cfg(unix)]
        pub(crate) const CODES: &[(u16, &str)] = &[$(($status, $code),)*];
    };
}

refusals! {
    /// The request cannot be understood.
    bad_request = 400 "bad-request";
    /// Who asks did not show the token.
    unauthorized = 401 "unauthorized";
    /// Who asks may not.
    forbidden = 403 "forbidden";
    /// The exec policy does not allow it.
    denied = 403 "denied";
    /// There is no such run, or none that this requester may see.
    no_such_run = 404 "no-such-run";
    /// There is no such session, or none that this requester may see.
    no_such_session = 404 "no-such-session";
    /// There is no such task, or none that this requester may see.
    no_such_task = 404 "no-such-task";
    /// The allowlist has no such entry.
    no_such_entry = 404 "no-such-entry";
    /// There is nothing at this address.
    no_such_route = 404 "no-such-route";
    /// The address is there, and is not used that way.
    method_not_allowed = 405 "method-not-allowed";
    /// More than one run is meant.
    ambiguous = 409 "ambiguous-id";
    /// Another run is in the scope.
    scope_taken = 409 "scope-taken";
    /// The run is not in a state for this.
    wrong_state = 409 "wrong-state";
    /// The session is closing, or closed.
    session_closed = 409 "session-closed";
    /// Another instance holds the run.
    held_elsewhere = 409 "held-by-another-instance";
    /// The body is longer than is ever needed.
    too_large = 413 "too-large";
    /// The id's prefix is too short for ending or removing something.
    short_id = 422 "id-too-short";
    /// The command, its environment or its directory is longer than the system accepts.
    too_long = 422 "too-long";
    /// The agent does not have this model.
    unknown_model = 422 "unknown-model";
    /// The request is understood, and cannot be done as asked.
    invalid = 422 "invalid";
    /// Too many runs are alive and too many wait.
    busy = 429 "too-many-runs";
    /// As many messages wait for the session as may.
    queue_full = 429 "queue-full";
    /// Something broke.
    internal = 500 "internal";
    /// The daemon is leaving.
    draining = 503 "draining";
    /// The maximum number of clients is connected.
    too_many_connections = 503 "too-many-connections";
    /// The maximum number of clients follows something.
    too_many_followers = 503 "too-many-followers";
    /// The registry or our lease on it cannot be used now.
    unavailable = 503 "registry-unavailable";
    /// The run's keeper does not answer.
    keeper_silent = 504 "keeper-silent";
}

impl Refusal {
    pub(crate) fn problem(&self) -> Problem {
        let title = axum::http::StatusCode::from_u16(self.status)
            .ok()
            .and_then(|status| status.canonical_reason())
            .unwrap_or("Error");
        Problem {
            status: self.status,
            code: self.code.to_owned(),
            title: title.to_owned(),
            detail: self.detail.clone(),
        }
    }
}

impl From<Failed> for Refusal {
    fn from(failed: Failed) -> Self {
        match &failed {
            Failed::ScopeTaken { .. } => Self::scope_taken(format!("{failed}; --replace ends it first")),
            Failed::NoSession { .. } => Self::no_such_session(failed),
            Failed::SessionTaken { .. }
            | Failed::SessionBusy { .. }
            | Failed::BadMove { .. }
            | Failed::MessagesWait { .. }
            | Failed::TurnTaken { .. } => Self::wrong_state(failed),
            Failed::SessionOver { .. } => Self::session_closed(failed),
            Failed::NotSpawned(refused) => match refused {
                Refused::Taken { .. } | Refused::ParentDisagrees { .. } | Refused::TooManyChildren { .. } => {
                    Self::wrong_state(failed)
                }
                Refused::ParentClosed { .. } => Self::session_closed(failed),
                Refused::NotBelow { .. } => Self::forbidden(failed),
                Refused::OwnAncestor { .. }
                | Refused::TooDeep { .. }
                | Refused::OtherAgent { .. }
                | Refused::NoParent { .. } => Self::invalid(failed),
            },
            Failed::QueueFull { .. } => Self::queue_full(failed),
            Failed::Unavailable(_) => Self::unavailable(failed),
        }
    }
}
