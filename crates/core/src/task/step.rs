//! The life of a task. There is one function, and the way of every state with every event is in it.

use super::words::Status;

/// What happens to a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// It begins.
    Started,
    /// It goes on.
    Progressed,
    /// Somebody wants it ended. How it ends is seen when it does.
    CancelAsked,
    /// It has ended, and somebody saw how.
    Ended(End),
    /// It is over, or nothing is behind it any more, and nobody saw how it ended.
    Lost,
}

/// An end that somebody saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum End {
    /// It did what it was to do.
    Succeeded,
    /// It did not.
    Failed,
    /// A time limit ended it.
    TimedOut,
    /// Somebody ended it.
    Cancelled,
}

/// What an event makes of a task.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Step {
    /// How the task is from now on.
    pub to: Status,
    /// What there is to tell, if the owner wants to hear it.
    pub tells: Option<Telling>,
}

/// What there is to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Telling {
    /// It began, or goes on.
    Change,
    /// It ended. Told once.
    Terminal,
    /// It was called lost and had ended all the same. Told once.
    Correction,
}

/// Why an event is not one of this task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Refused {
    /// It is over.
    #[error(transparent)]
    Over(#[from] Over),
    /// It has not begun.
    #[error("the task is queued, and nothing goes on in it before it begins")]
    NotBegun,
    /// It is as it would be then.
    #[error("the task is running already")]
    Running,
}

/// A task that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[error("the task is {status} already: nothing is left to change")]
pub struct Over {
    /// How it is.
    pub status: Status,
}

impl End {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Succeeded, Self::Failed, Self::TimedOut, Self::Cancelled];

    /// How a task is that ended so.
    pub fn status(self) -> Status {
        match self {
            Self::Succeeded => Status::Succeeded,
            Self::Failed => Status::Failed,
            Self::TimedOut => Status::TimedOut,
            Self::Cancelled => Status::Cancelled,
        }
    }
}

/// What an event makes of a task that is so. What is over stays over; only `lost` gives way, to an end that somebody
/// saw. The registry learns of things late: a task may end that it never saw begin.
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
