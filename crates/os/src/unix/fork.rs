//! Forking without executing: how a nursery makes keepers. It is sound only in a process of one thread, so it
//! asks for the proof.

use crate::complaint::complain;
use crate::socket::Conn;
use crate::{descriptors, system};
use std::ffi::OsStr;
use std::io;
use std::marker::PhantomData;

/// The proof that this process has one thread. It cannot be sent to another.
#[derive(Debug)]
pub struct Alone(PhantomData<*const ()>);

impl Alone {
    /// Looks how many threads this process has.
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

    /// Makes a child that does `work` with these connections, and has no other of our descriptors. Here it is forked,
    /// so what a program of its own would have to be told is not looked at.
    pub fn bear(&self, errand: &Errand<'_>, work: impl FnOnce(Vec<Conn>) -> u8) -> io::Result<i32> {
        self.fork(|| match descriptors::take_only(errand.conns) {
            Ok(conns) => work(conns),
            Err(error) => {
                complain(format_args!("a child could not take its connections: {error}"));
                1
            }
        })
    }
}

/// What a child is made for.
#[derive(Clone, Copy)]
pub struct Errand<'a> {
    /// The words that this program is started with again, where there is no fork.
    pub words: &'a [&'a OsStr],
    /// What it reads then.
    pub letter: &'a dyn Fn() -> Vec<u8>,
    /// What it is connected to.
    pub conns: &'a [Conn],
    /// Whether it has our environment, where there is no fork.
    pub knows_environment: bool,
}

/// The letter and the connections of a child that was not forked. Here there is none.
pub fn errand() -> io::Result<(Alone, Vec<u8>, Vec<Conn>)> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "on this system children are forked"))
}

/// Makes this process the leader of a new session, without a terminal.
pub fn new_session() -> io::Result<()> {
    rustix::process::setsid().map(drop).map_err(Into::into)
}
