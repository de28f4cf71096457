//! Refusals: a code for programs, and a sentence that says what to do.

use std::fmt::Display;
use tenure_core::api::Problem;
use tenure_core::problem::Code;
use tenure_core::session::Refused;
use tenure_store::Failed;

/// A request that was not carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The code, for programs.
    pub code: Code,
    /// The sentence, for people.
    pub detail: String,
}

macro_rules! refusals {
    ($($name:ident = $code:ident;)*) => {
        impl Refusal {$(
            #[doc = concat!("A refusal with [`Code::", stringify!($code), "`].")]
            pub fn $name(detail: impl Display) -> Self {
                Self { code: Code::$code, detail: detail.to_string() }
            }
        )*}
    };
}

refusals! {
    bad_request = BadRequest;
    unauthorized = Unauthorized;
    forbidden = Forbidden;
    denied = Denied;
    no_such_run = NoSuchRun;
    no_such_session = NoSuchSession;
    no_such_task = NoSuchTask;
    no_such_entry = NoSuchEntry;
    no_such_route = NoSuchRoute;
    method_not_allowed = MethodNotAllowed;
    ambiguous = AmbiguousId;
    scope_taken = ScopeTaken;
    wrong_state = WrongState;
    session_closed = SessionClosed;
    held_elsewhere = HeldByAnotherInstance;
    too_large = TooLarge;
    short_id = IdTooShort;
    too_long = TooLong;
    unknown_model = UnknownModel;
    invalid = Invalid;
    busy = TooManyRuns;
    queue_full = QueueFull;
    internal = Internal;
    draining = Draining;
    too_many_connections = TooManyConnections;
    too_many_followers = TooManyFollowers;
    unavailable = RegistryUnavailable;
    keeper_silent = KeeperSilent;
}

impl Refusal {
    /// The refusal as clients read it.
    pub fn problem(&self) -> Problem {
        Problem {
            status: self.code.status(),
            code: self.code.as_str().to_owned(),
            title: self.code.title().to_owned(),
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
