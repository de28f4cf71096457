//! Makes keepers: by a fork without exec or, where there is none, by starting this program again.

pub use crate::folder::fork::*;

use crate::socket::Conn;
use std::ffi::OsStr;

/// The spec of a child.
#[derive(Clone, Copy)]
pub struct ChildSpec<'a> {
    /// The arguments with which this program is started again, where there is no fork.
    pub words: &'a [&'a OsStr],
    /// The message that the child then reads.
    pub message: &'a dyn Fn() -> Vec<u8>,
    /// The connections of the child.
    pub conns: &'a [Conn],
    /// True if the child gets our environment, where there is no fork.
    pub inherits_environment: bool,
}
