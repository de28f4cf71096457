//! What the keeper reports to the decider, and what that answers.

use super::{Usage, Whom};
use crate::ending::{Exit, ProcessNote, SpawnError, Termination};
use crate::limits::Limits;
use crate::spec::{OnEscape, Orphan};

/// The parts of a spec that decide how its run ends.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Policy {
    /// How long everything may take.
    pub limits: Limits,
    /// What becomes of escapees.
    pub on_escape: OnEscape,
    /// What becomes of the run when its owner is lost.
    pub orphan: Orphan,
}

/// Who is alive beside a root that has exited.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Left {
    /// How many in the run's own session.
    pub leftovers: u32,
    /// The first of those.
    pub leftover_processes: Vec<ProcessNote>,
    /// Who is outside it.
    pub escapees: Vec<ProcessNote>,
}

/// What the keeper saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// The command executes.
    Started,
    /// The command could not be executed; nothing of the run is alive.
    NotStarted(SpawnError),
    /// The command wrote something.
    Output,
    /// The answer to [`Do::Sample`].
    Sampled(Usage),
    /// The root is a zombie, not reaped yet. Told before [`Seen::Empty`], or its exit stays unknown.
    RootExited {
        /// How it ended.
        exit: Exit,
        /// Who is alive beside it.
        left: Left,
    },
    /// A client asks for the end.
    Cancel {
        /// Without the grace.
        now: bool,
    },
    /// A foreground caller is connected: the run is its own until it goes, whoever else does.
    CallerHere,
    /// The foreground caller's connection ended.
    CallerGone,
    /// The lease holder's connection ended.
    HolderGone,
    /// A lease holder is connected.
    HolderBack,
    /// The lease holder leaves on purpose: until one is back, its absence does not count.
    HolderReleased,
    /// Whoever took the lease from a lost owner ends the run, as it was asked for.
    Abandoned,
    /// The run's directory was deleted: nobody can reach the run or learn how it ended.
    DirectoryDeleted,
    /// SIGTERM, SIGHUP or SIGINT reached the keeper itself.
    Told,
    /// Of [`super::Watch::whom`] nobody is alive.
    Empty,
    /// The answer to [`Do::Look`].
    Alive(Vec<ProcessNote>),
    /// [`super::Watch::wake_at`] may have passed. Only this sighting lets a limit pass.
    Tick,
}

/// What is due now.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Do {
    /// Nothing but to go on watching.
    Nothing,
    /// Measure the tree and answer with [`Seen::Sampled`].
    Sample,
    /// Ask them to leave.
    Term(Whom),
    /// Kill them, again and again until [`Seen::Empty`] or the next word.
    Kill(Whom),
    /// Name the survivors with [`Seen::Alive`].
    Look,
    /// It has ended: drain the output, write the ending, tell. Said once in a run's life (I3).
    Finish(Box<Termination>),
}
