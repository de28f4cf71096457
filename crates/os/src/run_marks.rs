//! The marks that identify a run's processes, besides being below their keeper. The system decides which marks are
//! used: where orphans come back to the keeper, or no process leaves a job, that is enough.

use crate::enclosure::Enclosure;
use tenure_core::identity::Identity;

/// The marks of a run whose processes are searched.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunMarks<'a> {
    /// The run's enclosure.
    pub enclosure: Option<&'a Enclosure>,
    /// The root, whose pid is the session's number. Once it is reaped, another session may get that number.
    pub root: Option<&'a Identity>,
    /// The entry in the environment of its processes.
    pub mark: Option<&'a [u8]>,
    /// The start of the run: none of its processes is older. In Unix milliseconds.
    pub since_ms: u64,
    /// The processes that were seen while their parents lived, so that they cannot be lost.
    pub known: &'a [Identity],
}
