//! Makes keepers. Windows does not fork: a child is this program, started again, and it reads what a forked child
//! would know.

use super::passing::{put, taken};
use super::{Again, Outbox, inheritable, nowhere, own_stderr};
use crate::fork::ChildSpec;
use crate::socket::Conn;
use std::ffi::OsString;
use std::io::{self, Read};
use std::marker::PhantomData;
use std::os::windows::io::{AsHandle, OwnedHandle};

/// The proof that is required where children are forked. Here it is free, and bound to its thread as there.
#[derive(Debug)]
pub struct SingleThread(PhantomData<*const ()>);

impl SingleThread {
    /// Returns the proof without a check.
    pub fn check() -> io::Result<Self> {
        Ok(Self(PhantomData))
    }

    /// Makes a child that does `work` with these connections, and has no other handle of ours. Here it is this
    /// program, started with the spec's words, by which it finds its work.
    pub fn start_child(&self, child: &ChildSpec<'_>, work: impl FnOnce(Vec<Conn>) -> u8) -> io::Result<i32> {
        drop(work);
        let env = if child.inherits_environment { std::env::vars_os().collect() } else { Vec::new() };
        send(child, env, own_stderr()?)
    }
}

/// Starts this program as a child, with these variables and this standard error. Connections are put into the
/// running child and never inherited: a process that the child starts before it takes them, such as its console,
/// would get copies, and then nobody sees that the child has closed them.
pub(crate) fn send(
    child: &ChildSpec<'_>,
    env: Vec<(OsString, OsString)>,
    stderr: OwnedHandle,
) -> io::Result<i32> {
    let message = (child.message)();
    let (outbox, theirs) = Outbox::new(WORD * (1 + child.conns.len()) + message.len())?;
    let [stdin, stdout] = [inheritable(theirs.as_handle())?, inheritable(nowhere()?.as_handle())?];
    drop(theirs);
    let pid = Again { words: child.words, env, stdio: [&stdin, &stdout, &stderr] }.start()?;
    drop((stdin, stdout, stderr));
    // A child that never gets its message exits.
    let numbers: Vec<u64> = child.conns.iter().map(|conn| put(conn, pid)).collect::<io::Result<_>>()?;
    outbox.deliver(&encode(&numbers, &message))?;
    Ok(pid)
}

/// Length of a number in a message.
const WORD: usize = 8;

/// Encodes the number of connections, their numbers, and the message up to the end.
fn encode(conns: &[u64], message: &[u8]) -> Vec<u8> {
    let numbers = [conns.len() as u64].into_iter().chain(conns.iter().copied());
    let mut encoded: Vec<u8> = numbers.flat_map(u64::to_le_bytes).collect();
    encoded.extend_from_slice(message);
    encoded
}

/// Returns the message and connections of this child. They can be taken once.
pub fn take_message() -> io::Result<(SingleThread, Vec<u8>, Vec<Conn>)> {
    /// An upper bound for the connections of any child.
    const MAX_CONNECTIONS: u64 = 64;
    let mut input = std::io::stdin().lock();
    let mut number = || {
        let mut bytes = [0; WORD];
        input.read_exact(&mut bytes).map(|()| u64::from_le_bytes(bytes))
    };
    let count = number()?;
    if count > MAX_CONNECTIONS {
        return Err(io::Error::other("the standard input holds no message for a child"));
    }
    let mut conns = Vec::new();
    for _ in 0..count {
        let number = usize::try_from(number()?).map_err(io::Error::other)?;
        conns.push(taken(number)?);
    }
    let mut message = Vec::new();
    input.read_to_end(&mut message)?;
    Ok((SingleThread(PhantomData), message, conns))
}

/// Does nothing: a session is a shared console, and this program is started with one of its own.
pub fn new_session() -> io::Result<()> {
    Ok(())
}
