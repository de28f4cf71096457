//! The decider of a recorded run: [`decide`] takes what the registry says, what the system says and whose the lease is,
//! and gives the one verdict. It looks at nothing itself and carries nothing out. The lease is judged before the pid: a
//! healthy owner is about to write the true ending. What is unreadable or silent is left alone (I6).

mod legacy;
pub mod members;
#[cfg(test)]
mod simulator;
#[cfg(test)]
mod tests;
mod verdict;

use crate::identity::{self, Evidence, Held, Identity, Place, Sighting};
use crate::ids::InstanceId;
use crate::lease::{Hold, Standing};
use crate::spec::Orphan;
use crate::state::State;

pub use legacy::{Agreement, Claim, command_agrees, words_agree, wrapper_agrees};
pub use verdict::{Doubt, Lost, Settled, Verdict};

/// Everything that one verdict depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// What the registry says of the run.
    pub record: Recorded,
    /// Whether we may act at all.
    pub us: Standing,
    /// Whose the run is.
    pub lease: LeaseView,
    /// Whether its ending is on disk.
    pub ending: EndingEvidence,
    /// What is seen of its keeper.
    pub keeper: KeeperEvidence,
    /// What is seen of the nursery that its keeper came from, or would come from.
    pub nursery: NurseryEvidence,
    /// What is seen of its root.
    pub root: RootEvidence,
    /// What is seen of the rest of its boundary.
    pub leftovers: Leftovers,
}

/// What the registry says of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    /// Where it was in its life.
    pub state: State,
    /// What is to become of it without its owner.
    pub orphan: Orphan,
}

/// Whose a run is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaseView {
    /// Ours.
    Mine,
    /// Another instance's, which is not known to be gone.
    OtherHealthy,
    /// Another instance's, which was watched being gone.
    Expired,
    /// Another installation's: the record came here with a copy of its state root or registry.
    Foreign,
    /// Nobody's: the record is older than leases, and this is how far the live process agrees with it.
    Legacy(Claim),
}

impl LeaseView {
    /// The view that `me` has of a hold whose holder was found expired or not.
    pub fn of(hold: &Hold, me: &InstanceId, holder_expired: bool) -> Self {
        if hold.instance == *me {
            LeaseView::Mine
        } else if holder_expired {
            LeaseView::Expired
        } else {
            LeaseView::OtherHealthy
        }
    }
}

/// Whether the run's ending is on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndingEvidence {
    /// It is, whole.
    Found,
    /// There is none, or one that a power failure tore: it is linked whole, so it will not become whole by waiting.
    Missing,
    /// It cannot be told, or it is of a version that we do not know.
    Unreadable(String),
}

/// What is seen of a run's keeper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeeperEvidence {
    /// It answers on its socket.
    Answers,
    /// It lives, for its lock is held, but it does not answer.
    LockHeldButSilent,
    /// The keeper answers, and refuses to hand us the run.
    Refuses,
    /// It is dead, or there never was one.
    LockFree,
    /// It cannot be told.
    Unreadable(String),
}

/// What is seen of a nursery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NurseryEvidence {
    /// It is dead, or there never was one.
    LockFree,
    /// It lives: it may be about to start the run, or to write the ending of one whose keeper fell.
    LockHeld,
    /// It lives, and answered that it has nothing to do with this run.
    Disclaims,
    /// It cannot be told.
    Unreadable(String),
}

/// What the system says of the recorded root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RootEvidence {
    /// It is that process. Of a legacy record, which knows no more than a pid, it is whoever has that pid.
    Same(Held),
    /// Its pid belongs to somebody else.
    Other,
    /// No such process.
    Gone,
    /// The machine was rebooted since: nothing of the run can be alive.
    Rebooted,
    /// It cannot be told.
    Unreadable(String),
    /// No root was recorded, so nothing was ever executed (I2).
    NoIdentity,
}

impl RootEvidence {
    /// Judges a recorded root by what is seen `here`.
    pub fn of(recorded: Option<&Identity>, here: &Place, seen: &Sighting) -> Self {
        let Some(recorded) = recorded else { return RootEvidence::NoIdentity };
        match identity::judge(recorded, here, seen) {
            Evidence::Same(held) => RootEvidence::Same(held),
            Evidence::Other => RootEvidence::Other,
            Evidence::Gone if recorded.place.boot_id != here.boot_id => RootEvidence::Rebooted,
            Evidence::Gone => RootEvidence::Gone,
            Evidence::Unreadable(why) => RootEvidence::Unreadable(why),
        }
    }
}

/// Who of a run's boundary is alive beside its root, counting only those who are proven to be of it (I1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leftovers {
    /// So many.
    Known(u32),
    /// The processes cannot be listed.
    Unreadable(String),
}

/// The verdict on one recorded run.
pub fn decide(case: &Case) -> Verdict {
    match case.record.state {
        State::Exited => return Verdict::Leave { why: Settled::Ended },
        State::Starting | State::Running | State::Exiting => {}
    }
    let steal = match case.lease {
        LeaseView::Foreign => return Verdict::Leave { why: Settled::Foreign },
        LeaseView::OtherHealthy => return Verdict::Leave { why: Settled::HeldByAnother },
        LeaseView::Mine | LeaseView::Legacy(_) => false,
        LeaseView::Expired => true,
    };
    match case.us {
        Standing::Holding => {}
        Standing::Unrenewed => return later(Doubt::Unrenewed),
        Standing::Superseded => return later(Doubt::Superseded),
    }
    match &case.ending {
        EndingEvidence::Found => return Verdict::TakeEnding { steal },
        EndingEvidence::Missing => {}
        EndingEvidence::Unreadable(why) => return later(Doubt::EndingUnreadable(why.clone())),
    }
    match &case.keeper {
        KeeperEvidence::Answers => return kept(case),
        KeeperEvidence::LockHeldButSilent => return later(Doubt::KeeperSilent),
        KeeperEvidence::Refuses => return later(Doubt::KeeperRefuses),
        KeeperEvidence::Unreadable(why) => return later(Doubt::KeeperUnreadable(why.clone())),
        KeeperEvidence::LockFree => {}
    }
    match &case.nursery {
        NurseryEvidence::LockHeld => return later(Doubt::NurseryAtWork),
        NurseryEvidence::Unreadable(why) => return later(Doubt::NurseryUnreadable(why.clone())),
        NurseryEvidence::LockFree | NurseryEvidence::Disclaims => {}
    }
    match &case.lease {
        LeaseView::Legacy(claim) => legacy::decide(claim, &case.root, &case.leftovers),
        LeaseView::Mine | LeaseView::Expired | LeaseView::OtherHealthy | LeaseView::Foreign => {
            forsaken(case, steal)
        }
    }
}

/// A keeper answers: nothing was lost.
fn kept(case: &Case) -> Verdict {
    match (&case.lease, case.record.orphan) {
        (LeaseView::Mine, Orphan::Keep | Orphan::Terminate) => Verdict::Resume { steal: false },
        (LeaseView::Expired, Orphan::Keep) => Verdict::Resume { steal: true },
        (LeaseView::Expired, Orphan::Terminate) => Verdict::EndByPolicy,
        (
            LeaseView::OtherHealthy | LeaseView::Foreign | LeaseView::Legacy(_),
            Orphan::Keep | Orphan::Terminate,
        ) => later(Doubt::KeeperWithoutLease),
    }
}

/// Nobody is left who could end the tree or write its ending.
fn forsaken(case: &Case, steal: bool) -> Verdict {
    let starting = match case.record.state {
        State::Starting => true,
        State::Running | State::Exiting | State::Exited => false,
    };
    let why = match &case.root {
        RootEvidence::Unreadable(why) => return later(Doubt::RootUnreadable(why.clone())),
        RootEvidence::Rebooted => {
            return Verdict::CloseAsLost { steal, why: Lost::Rebooted, leftovers: 0 };
        }
        RootEvidence::Same(root) => {
            return match &case.leftovers {
                Leftovers::Known(_) => Verdict::EndTree { steal, root: root.clone() },
                // The root alone would leave its children to nobody.
                Leftovers::Unreadable(why) => later(Doubt::TreeUnreadable(why.clone())),
            };
        }
        RootEvidence::NoIdentity => Lost::NeverRecorded,
        RootEvidence::Other => Lost::PidReused,
        RootEvidence::Gone => Lost::ProcessesGone,
    };
    match &case.leftovers {
        // What was never recorded never executed (I2); members that prove the contrary forbid to say so (I3).
        Leftovers::Known(0) | Leftovers::Unreadable(_) if starting && why == Lost::NeverRecorded => {
            Verdict::NeverStarted { steal }
        }
        Leftovers::Known(leftovers) => Verdict::CloseAsLost { steal, why, leftovers: *leftovers },
        // A closed record is never looked at again, and somebody may be left.
        Leftovers::Unreadable(why) => later(Doubt::TreeUnreadable(why.clone())),
    }
}

fn later(why: Doubt) -> Verdict {
    Verdict::RetryLater { why }
}
