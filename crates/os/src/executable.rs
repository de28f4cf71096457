//! A program's file: its permissions, the users who could change it, and the facts that identify it.

pub use crate::folder::executable::*;

/// Facts that tell a file from another, and from an earlier state of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// True for a regular file.
    pub is_file: bool,
    /// The device's number.
    pub device: u64,
    /// The inode on that device.
    pub inode: u64,
    /// The length in bytes.
    pub size: u64,
    /// The time when its content changed, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// The time when its content or metadata changed, in nanoseconds since 1970.
    pub changed_ns: i64,
    /// The kind and permissions, as the system encodes them.
    pub mode: u32,
}
