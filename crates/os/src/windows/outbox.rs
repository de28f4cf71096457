//! A letter for a child that is about to be made. The pipe that it reads has room for all of it, so nobody waits for a
//! child that is slow to begin.

use super::End;
use super::poll::{self, Interest, Waitable};
use super::socket;
use crate::clock;
use std::io;
use std::os::windows::io::OwnedHandle;
use std::time::Duration;

/// How long a child may take to read what the system did not keep for it.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where a letter is to be put.
pub(crate) struct Outbox {
    end: End,
}

impl Outbox {
    /// Room for a letter of this length, and the end that the child reads it from to its end.
    pub(crate) fn new(length: usize) -> io::Result<(Self, OwnedHandle)> {
        let room = u32::try_from(length).map_err(io::Error::other)?.max(1);
        let name = socket::new_name()?;
        let near = socket::instance(&name, true, room)?;
        let far = socket::open(&name, 0)?;
        Ok((Self { end: End::new(near)? }, far))
    }

    /// Has it delivered. There must be no other copy of the child's end, or its death is not seen.
    pub(crate) fn deliver(self, letter: &[u8]) -> io::Result<()> {
        let until = clock::awake() + PATIENCE;
        let mut rest = letter;
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
