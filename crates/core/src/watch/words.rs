//! The sightings that the keeper reports to the decider, and the steps that the decider returns.

use super::{StopScope, Usage};
use crate::ending::{Exit, ProcessNote, SpawnError, Termination};

/// The processes that are alive when the root has exited.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LeftBehind {
    /// The number of processes in the run's own session.
    pub leftovers: u32,
    /// The first of those processes.
    pub leftover_processes: Vec<ProcessNote>,
    /// The processes outside the session.
    pub escapees: Vec<ProcessNote>,
}

/// A sighting of the keeper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sighting {
    /// The command executes.
    Started,
    /// The command could not be executed; nothing of the run is alive.
    NotStarted(SpawnError),
    /// The command wrote something.
    Output,
    /// The answer to [`Step::Sample`].
    Sampled(Usage),
    /// The root is a zombie, not reaped yet. Reported before [`Sighting::Empty`], or its exit stays unknown.
    RootExited {
        /// The root's exit.
        exit: Exit,
        /// The processes that are alive beside it.
        left: LeftBehind,
    },
    /// A client cancels the run.
    Cancel {
        /// True to skip the grace.
        now: bool,
    },
    /// A foreground caller is connected: it owns the run until it disconnects, whatever other connections do.
    CallerHere,
    /// The foreground caller's connection ended.
    CallerGone,
    /// The lease holder's connection ended.
    HolderGone,
    /// A lease holder is connected.
    HolderBack,
    /// The lease holder leaves on purpose: until one is back, its absence does not count.
    HolderReleased,
    /// The daemon that took the lease from a lost owner ends the run, as the run's orphan policy demands.
    Abandoned,
    /// The run's directory was deleted: nobody can reach the run or learn its ending.
    DirectoryDeleted,
    /// SIGTERM, SIGHUP or SIGINT reached the keeper itself.
    Terminated,
    /// No process of [`super::Watch::scope`] is alive.
    Empty,
    /// The answer to [`Step::ListSurvivors`].
    Alive(Vec<ProcessNote>),
    /// [`super::Watch::wake_at`] may have passed. Only this sighting lets a limit pass.
    Tick,
}

/// The step that is due.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Continue to watch.
    Nothing,
    /// Measure the tree and report [`Sighting::Sampled`].
    Sample,
    /// Send SIGTERM.
    Term(StopScope),
    /// Send SIGKILL, again and again until [`Sighting::Empty`] or the next step.
    Kill(StopScope),
    /// Report the survivors' names as [`Sighting::Alive`].
    ListSurvivors,
    /// Drain the output, write the ending, tell. Returned once in a run's life (I3).
    Finish(Box<Termination>),
}
