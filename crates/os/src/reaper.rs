//! Reaping: the ends of this process's children, and of the orphans that come to it where the system has subreapers.

pub use crate::folder::reaper::*;

use tenure_core::ending::Exit;

/// A child that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// The pid, which is free again.
    pub pid: i32,
    /// The exit.
    pub exit: Exit,
}
