//! The decider of a recorded run: [`decide`] takes the registry's record, the system's evidence and the owner of
//! the lease, and returns the one verdict. It examines and executes nothing itself. The lease is judged before the
//! pid: a healthy owner is about to write the true ending. An unreadable or silent run is left alone (I6).

pub mod closing;
mod legacy;
pub mod members;
#[cfg(test)]
mod simulator;
#[cfg(test)]
mod tests;
mod verdict;

use crate::identity::{Evidence, Identity, Place, SignalProof};
use crate::ids::InstanceId;
use crate::lease::{Hold, Standing};
use crate::spec::Orphan;
use crate::state::State;

pub use legacy::{Agreement, Claim, command_agrees, words_agree, wrapper_agrees};
pub use verdict::{Doubt, Lost, Settled, Verdict};

/// The input of one verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// The registry's record of the run.
    pub record: Recorded,
    /// Our right to act.
    pub us: Standing,
    /// The owner of the run.
    pub lease: LeaseView,
    /// The evidence about its ending.
    pub ending: EndingEvidence,
    /// The evidence about its keeper.
    pub keeper: KeeperEvidence,
    /// The evidence about the nursery of its keeper.
    pub nursery: NurseryEvidence,
    /// The evidence about its root.
    pub root: RootEvidence,
    /// The evidence about the rest of its boundary.
    pub leftovers: Leftovers,
}

/// The registry's record of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    /// The last recorded state.
    pub state: State,
    /// The treatment of the run without its owner.
    pub orphan: Orphan,
    /// True if another instance started it: whoever holds it now took it over.
    pub is_taken_over: bool,
}

/// The owner of a run, as we see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaseView {
    /// This instance.
    Mine,
    /// Another instance, which is not known to be gone.
    OtherHealthy,
    /// Another instance, which was watched being gone.
    Expired,
    /// Another installation: the record came here with a copy of its state root or registry.
    Foreign,
    /// No instance: the record is older than leases; the claim tells how far the live process agrees with it.
    Legacy(Claim),
}

impl LeaseView {
    /// Returns the view that `me` has of a hold, given whether its holder was found expired.
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

/// The evidence about a run's ending on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndingEvidence {
    /// The ending exists and is complete.
    Found,
    /// There is none, or a power failure tore it: an ending is linked as a whole, so waiting would not complete it.
    Missing,
    /// The ending cannot be read, or has an unknown version.
    Unreadable(String),
}

/// The evidence about a run's keeper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeeperEvidence {
    /// The keeper answers on its socket.
    Answers,
    /// The keeper is alive, because its lock is held, but it does not answer.
    LockHeldButSilent,
    /// The keeper answers, and refuses to hand us the run.
    Refuses,
    /// The keeper is dead, or there never was one.
    LockFree,
    /// The keeper's state is unknown.
    Unreadable(String),
}

/// The evidence about a nursery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NurseryEvidence {
    /// The nursery of the keeper's note is dead.
    LockFree,
    /// The nursery of the keeper's note is alive: if the keeper is dead, it stops the tree and writes the ending.
    LockHeld,
    /// There is no keeper's note, so no nursery can write the run's ending.
    Disclaims,
    /// The nursery's state is unknown.
    Unreadable(String),
}

/// The evidence about the recorded root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RootEvidence {
    /// The process is the recorded one. A legacy record knows only a pid: then it is the process with that pid.
    Same(SignalProof),
    /// The pid belongs to another process.
    Other,
    /// The process is gone.
    Gone,
    /// The machine was rebooted since: nothing of the run can be alive.
    Rebooted,
    /// The root's state is unknown.
    Unreadable(String),
    /// No root was recorded, so nothing was ever executed (I2).
    NoIdentity,
}

impl RootEvidence {
    /// Judges a recorded root by what `look` finds `here`: the evidence, and whether the process can still run.
    pub fn of(
        recorded: Option<&Identity>,
        here: &Place,
        look: impl FnOnce(&Identity) -> (Evidence, bool),
    ) -> Self {
        let Some(recorded) = recorded else { return RootEvidence::NoIdentity };
        let (evidence, is_alive) = look(recorded);
        match evidence {
            Evidence::Same(held) if is_alive => RootEvidence::Same(held),
            Evidence::Other => RootEvidence::Other,
            Evidence::Gone if recorded.place.boot_id != here.boot_id => RootEvidence::Rebooted,
            // The process is the same but has ended, and only waits to be reaped by its new parent.
            Evidence::Same(_) | Evidence::Gone => RootEvidence::Gone,
            Evidence::Unreadable(why) => RootEvidence::Unreadable(why),
        }
    }
}

/// The live processes of a run's boundary besides its root, counting only those that are proven to belong to it
/// (I1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leftovers {
    /// The number of processes.
    Known(u32),
    /// The processes cannot be listed.
    Unreadable(String),
}

/// Returns the verdict on one recorded run.
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

/// Decides if a keeper answers: nothing was lost.
fn kept(case: &Case) -> Verdict {
    match (&case.lease, case.record.orphan) {
        // A thief that dies between the steal and the order to end the run leaves that order to the next daemon.
        (LeaseView::Mine, Orphan::Terminate) if case.record.is_taken_over => {
            Verdict::EndByPolicy { steal: false }
        }
        (LeaseView::Mine, Orphan::Keep | Orphan::Terminate) => Verdict::Resume { steal: false },
        (LeaseView::Expired, Orphan::Keep) => Verdict::Resume { steal: true },
        (LeaseView::Expired, Orphan::Terminate) => Verdict::EndByPolicy { steal: true },
        (
            LeaseView::OtherHealthy | LeaseView::Foreign | LeaseView::Legacy(_),
            Orphan::Keep | Orphan::Terminate,
        ) => later(Doubt::KeeperWithoutLease),
    }
}

/// Decides if neither keeper nor nursery is left to end the tree or write its ending.
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
                // Ending the root alone would abandon its children.
                Leftovers::Unreadable(why) => later(Doubt::TreeUnreadable(why.clone())),
            };
        }
        RootEvidence::NoIdentity => Lost::NeverRecorded,
        RootEvidence::Other => Lost::PidReused,
        RootEvidence::Gone => Lost::ProcessesGone,
    };
    match &case.leftovers {
        // A command that was never recorded was never executed (I2), unless its processes prove the contrary (I3).
        Leftovers::Known(0) | Leftovers::Unreadable(_) if starting && why == Lost::NeverRecorded => {
            Verdict::NeverStarted { steal }
        }
        Leftovers::Known(leftovers) => Verdict::CloseAsLost { steal, why, leftovers: *leftovers },
        // A closed record is never examined again, and processes may be left.
        Leftovers::Unreadable(why) => later(Doubt::TreeUnreadable(why.clone())),
    }
}

fn later(why: Doubt) -> Verdict {
    Verdict::RetryLater { why }
}
