//! A message for a child that is about to be started. The pipe has room for all of it, so a slow child blocks
//! nobody.

use super::End;
use super::socket;
use crate::clock;
use crate::poll::{self, Interest, Waitable};
use std::io;
use std::os::windows::io::OwnedHandle;
use std::time::Duration;

/// Time limit for a child to read a message that did not fit.
const PATIENCE: Duration = Duration::from_secs(30);

/// The writing end of a message.
pub(crate) struct Outbox {
    end: End,
}

impl Outbox {
    /// Makes room for a message of this length; returns also the end that the child reads up to its end.
    pub(crate) fn new(length: usize) -> io::Result<(Self, OwnedHandle)> {
        let room = u32::try_from(length).map_err(io::Error::other)?.max(1);
        let name = socket::new_name()?;
        let near = socket::instance(&name, true, room)?;
        let far = socket::open(&name, 0)?;
        Ok((Self { end: End::new(near)? }, far))
    }

    /// Delivers the message. There must be no other copy of the child's end, or the child's death goes unnoticed.
    pub(crate) fn deliver(self, message: &[u8]) -> io::Result<()> {
        let until = clock::awake() + PATIENCE;
        let mut rest = message;
        while !rest.is_empty() {
            match self.end.write(rest)? {
                0 => {
                    let left = until.saturating_sub(clock::awake());
                    if left.is_zero() {
                        return Err(io::Error::new(io::ErrorKind::TimedOut, "a child does not read"));
                    }
                    let on = Waitable::writing(self.end.writable());
                    poll::wait(&[Interest { on, read: false, write: true }], Some(left))?;
                }
                n => rest = &rest[n..],
            }
        }
        Ok(())
    }
}
