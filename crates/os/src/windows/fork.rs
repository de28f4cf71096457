//! Making keepers. Windows does not fork: a child is this program, started again, and it reads what a forked one would
//! know.

use super::passing::{put, taken};
use super::{Again, Outbox, inheritable, nowhere, own_stderr};
use crate::socket::Conn;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::marker::PhantomData;
use std::os::windows::io::{AsHandle, OwnedHandle};

/// The proof that is asked for where children are forked. Here it costs nothing, and is as bound to its thread as there.
#[derive(Debug)]
pub struct Alone(PhantomData<*const ()>);

impl Alone {
    /// There is nothing to look at.
    pub fn check() -> io::Result<Self> {
        Ok(Self(PhantomData))
    }

    /// Makes a child that does `work` with these connections, and has no other of our handles. Here it is this program,
    /// started with the words of the errand, which finds the work by them.
    pub fn bear(&self, errand: &Errand<'_>, work: impl FnOnce(Vec<Conn>) -> u8) -> io::Result<i32> {
        drop(work);
        let env = if errand.knows_environment { std::env::vars_os().collect() } else { Vec::new() };
        send(errand, env, own_stderr()?)
    }
}

/// Starts this program on an errand, with these variables and this as its standard error. Connections are put into the
/// child once it is there and inherited by nobody: whoever comes of the child before it has taken them, as its console may,
/// would have copies, and then nobody sees that it has let go.
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
    // A child that is left without its letter leaves.
    let numbers: Vec<u64> = errand.conns.iter().map(|conn| put(conn, pid)).collect::<io::Result<_>>()?;
    outbox.deliver(&seal(&numbers, &letter))?;
    Ok(pid)
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

/// How long a number is in a letter.
const WORD: usize = 8;

/// How many numbers of connections follow, the numbers, and the letter up to the end.
fn seal(conns: &[u64], letter: &[u8]) -> Vec<u8> {
    let numbers = [conns.len() as u64].into_iter().chain(conns.iter().copied());
    let mut sealed: Vec<u8> = numbers.flat_map(u64::to_le_bytes).collect();
    sealed.extend_from_slice(letter);
    sealed
}

/// The letter and the connections of a child that was not forked. They are taken once.
pub fn errand() -> io::Result<(Alone, Vec<u8>, Vec<Conn>)> {
    /// More than anybody is born with.
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

/// A session is what shares a console, and this program is started with one of its own.
pub fn new_session() -> io::Result<()> {
    Ok(())
}
