//! Forks without exec, which is how a nursery makes keepers. That is sound only in a process with one thread, so it
//! requires the proof.

use crate::fork::ChildSpec;
use crate::socket::Conn;
use crate::stderr::complain;
use crate::{descriptors, system};
use std::io;
use std::marker::PhantomData;

/// The proof that this process has one thread. It cannot be sent to another thread.
#[derive(Debug)]
pub struct SingleThread(PhantomData<*const ()>);

impl SingleThread {
    /// Counts the threads of this process.
    pub fn check() -> io::Result<Self> {
        match system::thread_count()? {
            1 => Ok(Self(PhantomData)),
            n => Err(io::Error::other(format!("this process has {n} threads, so it may not fork"))),
        }
    }

    /// Forks a child that runs `work` and exits with its code. Returns the child's pid.
    pub fn fork(&self, work: impl FnOnce() -> u8) -> io::Result<i32> {
        system::fork(self, work)
    }

    /// Makes a child that does `work` with these connections, and has no other descriptor of ours. The child is
    /// forked here, so the spec's words, message and environment are not needed.
    pub fn start_child(&self, child: &ChildSpec<'_>, work: impl FnOnce(Vec<Conn>) -> u8) -> io::Result<i32> {
        self.fork(|| match descriptors::take_only(child.conns) {
            Ok(conns) => work(conns),
            Err(error) => {
                complain(format_args!("a child could not take its connections: {error}"));
                1
            }
        })
    }
}

/// Returns the message and connections of a child that was not forked. Fails here, because all are forked.
pub fn take_message() -> io::Result<(SingleThread, Vec<u8>, Vec<Conn>)> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "on this system children are forked"))
}

/// Makes this process the leader of a new session, without a terminal.
pub fn new_session() -> io::Result<()> {
    rustix::process::setsid().map(drop).map_err(Into::into)
}
