//! Requesters: the rights of a client. A client on this machine, of this user or the superuser, may see and do
//! everything. A process of one of our own runs acts as that run's session, which keeps an agent from reaching into
//! another session by accident. This is no security boundary: only another user is one.
//!
//! # Client identity
//!
//! The daemon identifies a client when it connects, by `SO_PEERCRED` and the client's parent processes. A process
//! below a keeper acts as that run's session. Everyone else of this user is an operator, except **clients without
//! rights**, which may only request `/v1/health`: clients that exited before they were identified, that live in a pid
//! namespace which the daemon cannot read, or whose run lost its keeper. The last are recognized by a nursery or the
//! daemon above them (the daemon is a subreaper and inherits the orphans of killed nurseries), by a run's cgroup, or
//! by a live run's lease in the environment of one of their parents. Without a cgroup, a process that also kills the
//! daemon and clears its environment looks like any other.

use crate::refusal::Refusal;
use crate::run_handle::RunHandle;
use crate::supervisor::Supervisor;
use std::fmt;
use std::sync::Arc;
use tenure_core::ids::RunId;
use tenure_core::record::Ticket;
use tenure_core::session::SessionKey;
use tenure_keeper::nursery;
use tenure_os::socket::Peer;
use tenure_os::{enclosure, process};
use tenure_store::RunRow;

/// The client of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Requester {
    /// A person or a gateway.
    Operator {
        /// The process or address, for people.
        about: String,
    },
    /// A client that is bound to a session, or acts as one.
    Client {
        /// The session.
        session: String,
        /// The session that created this one for itself.
        maker: Option<SessionKey>,
        /// The client, for people.
        about: String,
    },
    /// A process of one of our runs.
    Member {
        /// The run.
        run: RunId,
        /// The session that it acts as; without one it belongs to no agent.
        session: Option<String>,
    },
}

impl Requester {
    /// Makes a client of a session that no other session created for itself.
    pub fn client(session: String, about: String) -> Self {
        Self::Client { session, maker: None, about }
    }

    /// Returns the parent of the client's session, if that is new.
    pub fn maker(&self) -> Option<&SessionKey> {
        match self {
            Requester::Client { maker, .. } => maker.as_ref(),
            Requester::Operator { .. } | Requester::Member { .. } => None,
        }
    }

    /// Returns the only session whose runs it may see, if it is bound to one.
    pub fn only_session(&self) -> Option<&str> {
        match self {
            Requester::Operator { .. } => None,
            Requester::Client { session, .. } => Some(session),
            Requester::Member { session, .. } => session.as_deref(),
        }
    }

    /// Returns a copy that acts as a session. A client that is bound to a session cannot act as another.
    pub fn acting_as(&self, session: Option<&str>) -> Result<Self, Refusal> {
        match (session, self.only_session()) {
            (None, _) => Ok(self.clone()),
            (Some(asked), Some(own)) if asked == own => Ok(self.clone()),
            (Some(asked), Some(own)) => {
                Err(Refusal::forbidden(format!("session {own} cannot act as session {asked}")))
            }
            (Some(asked), None) => Ok(Self::client(asked.to_owned(), self.to_string())),
        }
    }

    /// Returns true if the client owns a run: its notices need not repeat what the client has seen.
    pub fn owns(&self, row: &RunRow) -> bool {
        self.only_session() == row.ticket.options.session_id.as_deref()
    }

    /// Returns true if the requester may see a run.
    pub fn may_see(&self, row: &RunRow) -> bool {
        match self {
            Requester::Operator { .. } | Requester::Member { session: None, .. } => true,
            Requester::Client { session, .. } => row.ticket.options.session_id.as_ref() == Some(session),
            Requester::Member { run, session: Some(session) } => {
                row.ticket.run_id == *run || row.ticket.options.session_id.as_ref() == Some(session)
            }
        }
    }
}

impl fmt::Display for Requester {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Requester::Operator { about } => f.write_str(about),
            Requester::Client { session, about, .. } => write!(f, "session {session} ({about})"),
            Requester::Member { run, session: Some(session) } => write!(f, "session {session} (run {run})"),
            Requester::Member { run, session: None } => write!(f, "a process of run {run}"),
        }
    }
}

impl Supervisor {
    /// Identifies the client of a new connection. A process that cannot be identified, because it exited or cannot be
    /// read, or that belongs to a run without its keeper, could be any agent: it has no rights beyond `/v1/health`,
    /// and the refusal says why.
    pub fn requester(&self, peer: &Peer) -> Result<Requester, Refusal> {
        let about = peer.to_string();
        let refused = |why: &str| Refusal::forbidden(format!("the client ({about}) {why}"));
        let above = peer.ancestors().map_err(refused)?;
        let held = self.runs.all();
        let keeper_of = |&pid: &i32| held.iter().find(|held| keeper_pid(self, held) == Some(pid));
        if let Some(held) = above.iter().find_map(keeper_of) {
            let Ticket { run_id, options, .. } = &held.ticket;
            return Ok(Requester::Member { run: run_id.clone(), session: options.session_id.clone() });
        }
        let own = std::process::id().cast_signed();
        // The daemon itself starts only nurseries.
        let is_adopted = self.lifecycle.adopts_orphans && above.iter().skip(1).any(|&pid| pid == own);
        if is_adopted || above.iter().any(|&pid| is_of_a_run(self, pid, &held)) {
            return Err(refused(
                "is a process of a run whose keeper is gone or not known yet, so it has no rights",
            ));
        }
        Ok(Requester::Operator { about })
    }
}

/// Returns true if a process was started by a run of ours, even if the keeper is gone: it was reparented to a
/// nursery, is in a run's control group, or carries the lease of a run that has not ended.
fn is_of_a_run(supervisor: &Supervisor, pid: i32, held: &[Arc<RunHandle>]) -> bool {
    let carries_lease = || {
        let lease = process::environment_value(pid, "TENURE_LEASE_ID")?;
        held.iter().find(|held| held.ticket.lease_id.as_str().as_bytes() == lease)
    };
    nursery::is_of(supervisor.state.path(), pid)
        || enclosure::run_of(pid).is_some_and(|(instance, _)| instance == supervisor.instance)
        || carries_lease().is_some()
}

/// Returns the pid of a run's keeper. The keeper wrote its note before the command executed; its message may come
/// later.
fn keeper_pid(supervisor: &Supervisor, held: &RunHandle) -> Option<i32> {
    let heard = held.status().note;
    let noted = || supervisor.state.run(&held.ticket.run_id).ok().and_then(|dir| dir.note().ok().flatten());
    heard.or_else(noted).map(|note| note.keeper.pid)
}
