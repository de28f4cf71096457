//! The transitions of a task: one function with every state and every event.

use super::words::Status;

/// An event of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// The task began.
    Started,
    /// The task made progress.
    Progressed,
    /// Cancellation was requested. The true end is seen later.
    CancelAsked,
    /// The task ended, and somebody saw its end.
    Ended(End),
    /// The task ended unseen, or nothing backs it any more.
    Lost,
}

/// An end that somebody saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum End {
    /// The work succeeded.
    Succeeded,
    /// The work failed.
    Failed,
    /// A time limit ended it.
    TimedOut,
    /// A client cancelled it.
    Cancelled,
}

/// The effect of an event on a task.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Step {
    /// The new status.
    pub to: Status,
    /// The notice that is due, if the owner wants it.
    pub tells: Option<Telling>,
}

/// The notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Telling {
    /// The task began or made progress.
    Change,
    /// The task ended. Told once.
    Terminal,
    /// The task was called lost although it had ended. Told once.
    Correction,
}

/// The reason why an event is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Refused {
    /// The task has ended.
    #[error(transparent)]
    Over(#[from] Over),
    /// The task has not begun.
    #[error("the task is queued, and nothing goes on in it before it begins")]
    NotBegun,
    /// The task is running already.
    #[error("the task is running already")]
    Running,
}

/// A task that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[error("the task is {status} already: nothing is left to change")]
pub struct Over {
    /// The task's status.
    pub status: Status,
}

impl End {
    /// All ends.
    pub const ALL: [Self; 4] = [Self::Succeeded, Self::Failed, Self::TimedOut, Self::Cancelled];

    /// Returns the status of a task with this end.
    pub fn status(self) -> Status {
        match self {
            Self::Succeeded => Status::Succeeded,
            Self::Failed => Status::Failed,
            Self::TimedOut => Status::TimedOut,
            Self::Cancelled => Status::Cancelled,
        }
    }
}

/// Returns the effect of an event on a task with this status. An ended task never changes; only `lost` gives way,
/// to an end that somebody saw. The registry learns of things late: a task may end that it never saw begin.
pub fn step(from: Status, event: Event) -> Result<Step, Refused> {
    use Status::{Cancelled, Failed, Lost, Queued, Running, Succeeded, TimedOut};
    use Telling::{Change, Correction, Terminal};
    let to = |to, tells| Ok(Step { to, tells });
    match (from, event) {
        (Queued, Event::Started) | (Running, Event::Progressed) => to(Running, Some(Change)),
        (Running, Event::Started) => Err(Refused::Running),
        (Queued, Event::Progressed) => Err(Refused::NotBegun),
        (Queued | Running, Event::CancelAsked) => to(from, None),
        (Queued | Running, Event::Ended(end)) => to(end.status(), Some(Terminal)),
        (Queued | Running, Event::Lost) => to(Lost, Some(Terminal)),
        (Lost, Event::Ended(end)) => to(end.status(), Some(Correction)),
        (Lost, Event::Started | Event::Progressed | Event::CancelAsked | Event::Lost)
        | (
            Succeeded | Failed | TimedOut | Cancelled,
            Event::Started | Event::Progressed | Event::CancelAsked | Event::Ended(_) | Event::Lost,
        ) => Err(Over { status: from }.into()),
    }
}
