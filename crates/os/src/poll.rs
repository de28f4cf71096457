//! Waits for the first of several things: one wait, one deadline.

pub use crate::folder::poll::*;

/// An interest in one thing.
#[derive(Debug, Clone, Copy)]
pub struct Interest<'a> {
    /// The thing.
    pub on: Waitable<'a>,
    /// True to wake when it is readable.
    pub read: bool,
    /// True to wake when it is writable.
    pub write: bool,
}

impl<'a> Interest<'a> {
    /// Waits until it is readable.
    pub fn reading(on: &'a impl Pollable) -> Self {
        Self { on: on.waitable(), read: true, write: false }
    }

    /// Waits until it is writable.
    pub fn writing(on: &'a impl Pollable) -> Self {
        Self { on: on.waitable(), read: false, write: true }
    }
}

/// The state of one thing after a wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ready {
    /// True if it can be read: bytes, the end or an error.
    pub read: bool,
    /// True if it can be written, or writing will fail.
    pub write: bool,
}
