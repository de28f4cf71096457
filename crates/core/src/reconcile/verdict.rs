//! The verdicts on a recorded run, each with its line of text. The executor commits the steal first, checks every
//! process again at the last moment (I1) and makes no choice of its own.

use crate::ending::Reason;
use crate::identity::SignalProof;
use std::fmt;

/// The verdict on a recorded run. Each prints as one line with its evidence.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing needs to be done.
    Leave {
        /// The reason.
        why: Settled,
    },
    /// Nothing is done now; it is reported, and judged again later.
    RetryLater {
        /// The obstacle.
        why: Doubt,
    },
    /// Its keeper is adopted: nothing was lost.
    Resume {
        /// True if the lease is stolen first.
        steal: bool,
    },
    /// Its ending is copied into the registry.
    TakeEnding {
        /// True if the lease is stolen first.
        steal: bool,
    },
    /// The run is closed as a spawn error, because its command was never executed.
    NeverStarted {
        /// True if the lease is stolen first.
        steal: bool,
    },
    /// The verified tree is ended, children first, and the run closed as `owner-lost`.
    EndTree {
        /// True if the lease is stolen first.
        steal: bool,
        /// The root that was found alive.
        root: SignalProof,
    },
    /// The verified leftovers are ended, if any, and the run is closed with an unknown ending.
    CloseAsLost {
        /// True if the lease is stolen first.
        steal: bool,
        /// The reason.
        why: Lost,
        /// The number of processes in its boundary to end.
        leftovers: u32,
    },
    /// Its keeper is taken on, and asked to end it as `owner-lost`.
    EndByPolicy {
        /// True if the lease is stolen first.
        steal: bool,
    },
}

/// The reason why a run needs nothing from us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Settled {
    /// The run has ended.
    Ended,
    /// Another instance holds its lease and is healthy.
    HeldByAnother,
    /// The run belongs to another installation: this record is a copy.
    Foreign,
    /// A record from before leases, whose pid has a process that does not agree with it.
    LegacyUnverified,
}

/// The obstacle that keeps us from acting now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doubt {
    /// Our last heartbeat is too old.
    Unrenewed,
    /// We lost our leases and have no new ones yet.
    Superseded,
    /// The ending cannot be read.
    EndingUnreadable(String),
    /// The keeper is alive and does not answer.
    KeeperSilent,
    /// The keeper answers, and refuses to hand us the run.
    KeeperRefuses,
    /// The keeper's lock cannot be read.
    KeeperUnreadable(String),
    /// A keeper answers for a run that has no lease.
    KeeperWithoutLease,
    /// The nursery is alive and about to start the run or to write its ending.
    NurseryAtWork,
    /// The nursery's lock cannot be read.
    NurseryUnreadable(String),
    /// The root cannot be read.
    RootUnreadable(String),
    /// The root's tree cannot be read.
    TreeUnreadable(String),
    /// The claim of a legacy record cannot be compared.
    LegacyUnreadable(String),
}

/// The reason why a run's ending is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lost {
    /// Its root is gone.
    ProcessesGone,
    /// Its root is gone and another process has its pid.
    PidReused,
    /// The machine was rebooted.
    Rebooted,
    /// No root was ever recorded.
    NeverRecorded,
}

impl Verdict {
    /// Returns the verdict's name in events and JSON. Frozen.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Leave { .. } => "leave",
            Verdict::RetryLater { .. } => "retry-later",
            Verdict::Resume { .. } => "resume",
            Verdict::TakeEnding { .. } => "take-ending",
            Verdict::NeverStarted { .. } => "never-started",
            Verdict::EndTree { .. } => "end-tree",
            Verdict::CloseAsLost { .. } => "close-as-lost",
            Verdict::EndByPolicy { .. } => "end-by-policy",
        }
    }

    /// Returns true if the lease must be stolen, and the steal committed, before anything else.
    pub fn steals(&self) -> bool {
        match self {
            Verdict::Leave { .. } | Verdict::RetryLater { .. } => false,
            Verdict::Resume { steal }
            | Verdict::TakeEnding { steal }
            | Verdict::NeverStarted { steal }
            | Verdict::EndTree { steal, .. }
            | Verdict::CloseAsLost { steal, .. }
            | Verdict::EndByPolicy { steal } => *steal,
        }
    }

    /// Returns true if anything is done at all.
    pub fn acts(&self) -> bool {
        match self {
            Verdict::Leave { .. } | Verdict::RetryLater { .. } => false,
            Verdict::Resume { .. }
            | Verdict::TakeEnding { .. }
            | Verdict::NeverStarted { .. }
            | Verdict::EndTree { .. }
            | Verdict::CloseAsLost { .. }
            | Verdict::EndByPolicy { .. } => true,
        }
    }

    /// Returns true if we signal processes ourselves; a keeper that is asked does it by its own rules.
    pub fn signals(&self) -> bool {
        match self {
            Verdict::EndTree { .. } => true,
            Verdict::CloseAsLost { leftovers, .. } => *leftovers > 0,
            Verdict::Leave { .. }
            | Verdict::RetryLater { .. }
            | Verdict::Resume { .. }
            | Verdict::TakeEnding { .. }
            | Verdict::NeverStarted { .. }
            | Verdict::EndByPolicy { .. } => false,
        }
    }

    /// Returns the detail of the ending that we write ourselves, for people.
    pub fn detail(&self) -> String {
        match self {
            Verdict::NeverStarted { .. } => {
                "the run was never started: the process that was to start it is gone".to_owned()
            }
            Verdict::EndTree { .. } => {
                "its keeper and nursery were gone, so its processes were ended".to_owned()
            }
            Verdict::CloseAsLost { why, .. } => why.to_string(),
            Verdict::Leave { .. }
            | Verdict::RetryLater { .. }
            | Verdict::Resume { .. }
            | Verdict::TakeEnding { .. }
            | Verdict::EndByPolicy { .. } => self.to_string(),
        }
    }

    /// Returns the reason of the ending that we write ourselves.
    pub fn reason(&self) -> Option<Reason> {
        match self {
            Verdict::NeverStarted { .. } => Some(Reason::SpawnError),
            Verdict::EndTree { .. } => Some(Reason::OwnerLost),
            Verdict::CloseAsLost { .. } => Some(Reason::ReconciledStale),
            Verdict::Leave { .. }
            | Verdict::RetryLater { .. }
            | Verdict::Resume { .. }
            | Verdict::TakeEnding { .. }
            | Verdict::EndByPolicy { .. } => None,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        if self.steals() {
            f.write_str(", after stealing the lease")?;
        }
        f.write_str(": ")?;
        match self {
            Verdict::Leave { why } => write!(f, "{why}"),
            Verdict::RetryLater { why } => write!(f, "{why}"),
            Verdict::Resume { .. } => f.write_str("its keeper answers"),
            Verdict::TakeEnding { .. } => f.write_str("its ending is on disk"),
            Verdict::NeverStarted { .. } => {
                f.write_str("its keeper was gone before any process of it was recorded")
            }
            Verdict::EndTree { root, .. } => {
                write!(f, "its root is alive ({root}), its keeper and nursery are gone")
            }
            Verdict::CloseAsLost { why, leftovers: 0, .. } => write!(f, "{why}, no process of it is left"),
            Verdict::CloseAsLost { why, leftovers, .. } => {
                write!(f, "{why}, {leftovers} of its processes are to be ended")
            }
            Verdict::EndByPolicy { .. } => {
                f.write_str("its keeper answers, and its policy ends it without its owner")
            }
        }
    }
}

impl fmt::Display for Settled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Settled::Ended => "it has ended",
            Settled::HeldByAnother => "another instance holds it",
            Settled::Foreign => "it belongs to the installation that this record was copied from",
            Settled::LegacyUnverified => "it has no lease, and the process with its pid may be another one",
        })
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, why) = match self {
            Doubt::Unrenewed => ("our own lease is not renewed", None),
            Doubt::Superseded => ("our own leases were lost", None),
            Doubt::EndingUnreadable(why) => ("its ending cannot be read", Some(why)),
            Doubt::KeeperSilent => ("its keeper lives and does not answer", None),
            Doubt::KeeperRefuses => ("its keeper does not hand it to this daemon", None),
            Doubt::KeeperUnreadable(why) => ("its keeper cannot be read", Some(why)),
            Doubt::KeeperWithoutLease => ("it has no lease, but a keeper answers", None),
            Doubt::NurseryAtWork => ("its keeper is gone and its nursery is at work", None),
            Doubt::NurseryUnreadable(why) => ("its nursery cannot be read", Some(why)),
            Doubt::RootUnreadable(why) => ("its root cannot be read", Some(why)),
            Doubt::TreeUnreadable(why) => ("its processes cannot be listed", Some(why)),
            Doubt::LegacyUnreadable(why) => {
                ("it has no lease, and its process cannot be compared", Some(why))
            }
        };
        f.write_str(what)?;
        match why {
            Some(why) => write!(f, " ({})", why.replace(char::is_control, " ")),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Lost::ProcessesGone => "its root is gone",
            Lost::PidReused => "its root is gone and its pid is another's",
            Lost::Rebooted => "the machine was rebooted",
            Lost::NeverRecorded => "no root was recorded",
        })
    }
}
