//! Makes keepers. Windows does not fork: a child is this program, started again, and it reads what a forked child
//! would know.

use super::passing::{put, taken};
use super::{Again, Outbox, inheritable, nowhere, own_stderr};
use crate::fork::Errand;
use crate::socket::Conn;
use std::ffi::OsString;
use std::io::{self, Read};
use std::marker::PhantomData;
use std::os::windows::io::{AsHandle, OwnedHandle};

/// The proof that is required where children are forked. Here it is free, and bound to its thread as there.
#[derive(Debug)]
pub struct Alone(PhantomData<*const ()>);

impl Alone {
    /// Returns the proof without a check.
    pub fn check() -> io::Result<Self> {
        Ok(Self(PhantomData))
    }

    /// Makes a child that does `work` with these connections, and has no other handle of ours. Here it is this
    /// program, started with the errand's words, by which it finds its work.
    pub fn bear(&self, errand: &Errand<'_>, work: impl FnOnce(Vec<Conn>) -> u8) -> io::Result<i32> {
        drop(work);
        let env = if errand.knows_environment { std::env::vars_os().collect() } else { Vec::new() };
        send(errand, env, own_stderr()?)
    }
}

/// Starts this program on an errand, with these variables and this standard error. Connections are put into the
/// running child and never inherited: a process that the child starts before it takes them, such as its console,
/// would get copies, and then nobody sees that the child has closed them.
pub(crate) fn send(
    errand: &Errand<'_>,
    env: Vec<(OsString, OsString)>,
    stderr: OwnedHandle,
) -> io::Result<i32> {
    let letter = (errand.letter)();
    let (outbox, theirs) = Outbox::new(WORD * (1 + errand.conns.len()) + letter.len())?;
    let [stdin, stdout] = [inheritable(theirs.as_handle())?, inheritable(nowhere()?.as_handle())?];
    drop(theirs);
    let pid = Again { words: errand.words, env, stdio: [&stdin, &stdout, &stderr] }.start()?;
    drop((stdin, stdout, stderr));
    // A child that never gets its letter exits.
    let numbers: Vec<u64> = errand.conns.iter().map(|conn| put(conn, pid)).collect::<io::Result<_>>()?;
    outbox.deliver(&seal(&numbers, &letter))?;
    Ok(pid)
}

/// Length of a number in a letter.
const WORD: usize = 8;

/// Encodes the number of connections, their numbers, and the letter up to the end.
fn seal(conns: &[u64], letter: &[u8]) -> Vec<u8> {
    let numbers = [conns.len() as u64].into_iter().chain(conns.iter().copied());
    let mut sealed: Vec<u8> = numbers.flat_map(u64::to_le_bytes).collect();
    sealed.extend_from_slice(letter);
    sealed
}

/// Returns the letter and connections of this child. They can be taken once.
pub fn errand() -> io::Result<(Alone, Vec<u8>, Vec<Conn>)> {
    /// An upper bound for the connections of any child.
    const MOST: u64 = 64;
    let mut input = std::io::stdin().lock();
    let mut number = || {
        let mut bytes = [0; WORD];
        input.read_exact(&mut bytes).map(|()| u64::from_le_bytes(bytes))
    };
    let count = number()?;
    if count > MOST {
        return Err(io::Error::other("what is on the standard input is no errand"));
    }
    let mut conns = Vec::new();
    for _ in 0..count {
        let number = usize::try_from(number()?).map_err(io::Error::other)?;
        conns.push(taken(number)?);
    }
    let mut letter = Vec::new();
    input.read_to_end(&mut letter)?;
    Ok((Alone(PhantomData), letter, conns))
}

/// Does nothing: a session is a shared console, and this program is started with one of its own.
pub fn new_session() -> io::Result<()> {
    Ok(())
}
