//! Who asks. Somebody at this machine, as this user or the superuser, may see and do everything; a process of one of
//! our own runs acts as that run's session, which keeps an agent from reaching into another's by accident. It is no
//! wall: only another user is one.

use crate::daemon::Daemon;
use crate::held::Held;
use crate::refusal::Refusal;
use std::fmt;
use tenure_core::ids::RunId;
use tenure_core::session::SessionKey;
use tenure_os::socket::Peer;
use tenure_store::RunRow;

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Requester {
    /// A person or a gateway.
    Operator {
        /// Which process or address, for people.
        about: String,
    },
    /// A client that is bound to a session, or somebody who acts as one.
    Client {
        /// The session.
        session: String,
        /// The session that made this one for itself.
        maker: Option<SessionKey>,
        /// Which client, for people.
        about: String,
    },
    /// One that was gone before it was looked at. It may have been a process of a run, so it is no person.
    Gone {
        /// Which process, for people.
        about: String,
    },
    /// A process of one of our runs.
    Member {
        /// Which run.
        run: RunId,
        /// The session that it acts as; without one it is nobody's agent.
        session: Option<String>,
    },
}

impl Requester {
    /// One that acts as a session that nobody made for itself.
    pub(crate) fn client(session: String, about: String) -> Self {
        Self::Client { session, maker: None, about }
    }

    /// The session that is to be above the one that it acts as, if that is new.
    pub(crate) fn maker(&self) -> Option<&SessionKey> {
        match self {
            Requester::Client { maker, .. } => maker.as_ref(),
            Requester::Operator { .. } | Requester::Gone { .. } | Requester::Member { .. } => None,
        }
    }

    /// The only session whose runs it may see, if it is bound to one.
    pub(crate) fn only_session(&self) -> Option<&str> {
        match self {
            Requester::Operator { .. } | Requester::Gone { .. } => None,
            Requester::Client { session, .. } => Some(session),
            Requester::Member { session, .. } => session.as_deref(),
        }
    }

    /// Whether nobody can tell any more which session it is bound to.
    pub(crate) fn is_gone(&self) -> bool {
        matches!(self, Requester::Gone { .. })
    }

    /// The same, acting as a session. Whoever is bound to one can act as no other.
    pub(crate) fn acting_as(&self, session: Option<&str>) -> Result<Self, Refusal> {
        match (session, self.only_session()) {
            (None, _) => Ok(self.clone()),
            (Some(asked), Some(own)) if asked == own => Ok(self.clone()),
            (Some(asked), Some(own)) => {
                Err(Refusal::forbidden(format!("session {own} cannot act as session {asked}")))
            }
            (Some(asked), None) if self.is_gone() => {
                Err(Refusal::forbidden(format!("{self}, cannot act as session {asked}")))
            }
            (Some(asked), None) => Ok(Self::client(asked.to_owned(), self.to_string())),
        }
    }

    /// Whether a run is its own: what it has seen of that need not be told again.
    pub(crate) fn owns(&self, row: &RunRow) -> bool {
        self.only_session() == row.ticket.session_id.as_deref()
    }

    pub(crate) fn may_see(&self, row: &RunRow) -> bool {
        match self {
            Requester::Operator { .. } | Requester::Gone { .. } | Requester::Member { session: None, .. } => {
                true
            }
            Requester::Client { session, .. } => row.ticket.session_id.as_ref() == Some(session),
            Requester::Member { run, session: Some(session) } => {
                row.ticket.run_id == *run || row.ticket.session_id.as_ref() == Some(session)
            }
        }
    }
}

impl fmt::Display for Requester {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Requester::Operator { about } => f.write_str(about),
            Requester::Gone { about } => write!(f, "{about}, which is gone"),
            Requester::Client { session, about, .. } => write!(f, "session {session} ({about})"),
            Requester::Member { run, session: Some(session) } => write!(f, "session {session} (run {run})"),
            Requester::Member { run, session: None } => write!(f, "a process of run {run}"),
        }
    }
}

impl Daemon {
    /// Who is behind a connection of this process. It is asked when the connection is made.
    pub(crate) fn requester(&self, peer: &Peer) -> Requester {
        let about = peer.to_string();
        let held = self.all_held();
        let keeper_of = |pid: i32| held.iter().find(|held| self.keeper_pid(held) == Some(pid));
        let Some(above) = peer.ancestors() else { return Requester::Gone { about } };
        match above.into_iter().find_map(keeper_of) {
            Some(held) => {
                Requester::Member { run: held.ticket.run_id.clone(), session: held.ticket.session_id.clone() }
            }
            None => Requester::Operator { about },
        }
    }

    /// A run's keeper. The keeper noted itself before the command was executed; that we heard of it comes later.
    fn keeper_pid(&self, held: &Held) -> Option<i32> {
        let heard = held.status().note;
        let noted = || self.state.run(&held.ticket.run_id).ok().and_then(|dir| dir.note().ok().flatten());
        heard.or_else(noted).map(|note| note.keeper.pid)
    }
}
