//! Forking without executing: how a nursery makes keepers. It is sound only in a process of one thread, so it
//! asks for the proof.

use crate::linux;
use std::io;
use std::marker::PhantomData;

/// The proof that this process has one thread. It cannot be sent to another.
#[derive(Debug)]
pub struct Alone(PhantomData<*const ()>);

impl Alone {
    /// Looks how many threads this process has.
    pub fn check() -> io::Result<Self> {
        match std::fs::read_dir("/proc/self/task")?.count() {
            1 => Ok(Self(PhantomData)),
            n => Err(io::Error::other(format!("this process has {n} threads, so it may not fork"))),
        }
    }

    /// Forks a child that runs `work` and exits with its code. Returns the child's pid.
    pub fn fork(&self, work: impl FnOnce() -> u8) -> io::Result<i32> {
        linux::fork(self, work)
    }
}

/// Makes this process the leader of a new session, without a terminal.
pub fn new_session() -> io::Result<()> {
    rustix::process::setsid().map(drop).map_err(Into::into)
}
