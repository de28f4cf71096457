//! Starts the root of a run: it is created, recorded by its keeper, and only then let through its gate.

pub use crate::folder::spawn::*;

use std::io;
use tenure_core::ending::SpawnError;

/// The reason why there is no root. On Unix it is never the command, whose execution can only fail behind the gate.
#[derive(Debug, thiserror::Error)]
pub enum NoRoot {
    /// The command cannot be executed.
    #[error("{}", .0.detail)]
    Command(SpawnError),
    /// The system failed.
    #[error(transparent)]
    System(#[from] io::Error),
}

/// The result for a root that was let through its gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing yet.
    Pending,
    /// The command executes.
    Executes,
    /// The command does not execute.
    Failed(SpawnError),
}
