//! By what the processes of a run are known, beside being below their keeper. Which of it is asked depends on the system:
//! where orphans come back to the keeper, or nobody leaves a job, that is enough.

use crate::enclosure::Enclosure;
use tenure_core::identity::Identity;

/// What is known of a run whose processes are looked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Kin<'a> {
    /// What it was enclosed in.
    pub enclosure: Option<&'a Enclosure>,
    /// The root, whose pid is the session's number. Once it is reaped that number may be anybody's.
    pub root: Option<&'a Identity>,
    /// What its processes carry in their environment.
    pub mark: Option<&'a [u8]>,
    /// None of them started before this, in Unix milliseconds.
    pub since_ms: u64,
    /// Who of it was seen while their parents lived, and cannot be lost.
    pub known: &'a [Identity],
}
