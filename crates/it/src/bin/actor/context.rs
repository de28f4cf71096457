//! State that all processes of one actor share: the witness FIFO, the list of pids, and the pipe on which a child tells
//! its parent that it is ready.

use crate::args::{Args, VerbError, VerbResult};
use crate::fork::{Forked, exec_bare, fork, quit};
use rustix::fs::{Mode, OFlags};
use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd, retry_on_intr, write};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, getpid};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::PathBuf;

pub(crate) struct ActorContext {
    /// Write end of a FIFO, inherited by all: its reader is hung up at the moment when all are dead.
    witness: Option<OwnedFd>,
    /// Gets a line `ROLE PID` when a process begins its behaviour.
    pids: Option<PathBuf>,
    quiet: bool,
    /// Pipe to the parent for `ready`; `None` in the first process and after use.
    tell: Option<OwnedFd>,
    /// Modifiers of this process: their `ready` lines follow that of the verb they modify.
    modifiers: Vec<&'static str>,
}

impl ActorContext {
    /// Takes the options before the verb. The `-fd` options are for an actor that executes itself.
    pub(crate) fn open(words: &mut Args) -> Result<Self, VerbError> {
        let mut context = Self { witness: None, pids: None, quiet: false, tell: None, modifiers: Vec::new() };
        let mut fifo = std::env::var_os("ACTOR_WITNESS").map(PathBuf::from);
        loop {
            if words.starts_with("--quiet") {
                context.quiet = words.flag("--quiet");
            } else if words.starts_with("--witness") {
                fifo = words.option("--witness")?;
            } else if words.starts_with("--pids") {
                context.pids = words.option::<PathBuf>("--pids")?.map(std::path::absolute).transpose()?;
            } else if words.starts_with("--witness-fd") {
                context.witness = words.option("--witness-fd")?.map(inherited);
            } else if words.starts_with("--tell-fd") {
                context.tell = words.option("--tell-fd")?.map(inherited);
            } else {
                break;
            }
        }
        if let Some(fifo) = fifo {
            let opened = rustix::fs::open(fifo, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
            let witness = above_stdio(opened)?;
            // The program that the actor executes must hold the witness too.
            fcntl_setfd(&witness, FdFlags::empty())?;
            context.witness = Some(witness);
        }
        Ok(context)
    }

    /// Reports that `verb` is in place: records it, prints it, and tells the parent.
    pub(crate) fn ready(&mut self, verb: &str) -> io::Result<()> {
        self.record(verb)?;
        self.say_ready(verb)?;
        self.tell_parent()
    }

    pub(crate) fn say_ready(&mut self, verb: &str) -> io::Result<()> {
        if self.quiet {
            return Ok(());
        }
        let verbs = [verb].into_iter().chain(self.modifiers.drain(..).rev());
        say(&verbs.fold(String::new(), |lines, verb| lines + "ready " + verb + "\n"))
    }

    /// `ready` without the line on stdout.
    pub(crate) fn begin(&mut self, role: &str) -> io::Result<()> {
        self.record(role)?;
        self.tell_parent()
    }

    /// Records that this process carries `modifier`, before any verb.
    pub(crate) fn modified(&mut self, modifier: &'static str) -> io::Result<()> {
        self.modifiers.push(modifier);
        self.record(modifier)
    }

    /// Appends one line to the list of pids.
    pub(crate) fn record(&self, role: &str) -> io::Result<()> {
        let Some(path) = &self.pids else { return Ok(()) };
        let line = format!("{role} {}\n", getpid());
        OpenOptions::new().append(true).create(true).open(path)?.write_all(line.as_bytes())
    }

    pub(crate) fn tell_parent(&mut self) -> io::Result<()> {
        match self.tell.take() {
            Some(tell) => write_all(&tell, b"."),
            None => Ok(()),
        }
    }

    /// Leaves it to the parent of this process to report ready.
    pub(crate) fn leave_telling(&mut self) {
        self.tell = None;
    }

    /// Forks a child that plays `part`, and returns when the child is ready.
    pub(crate) fn start(&mut self, part: impl FnOnce(&mut Self) -> VerbResult) -> Result<Pid, VerbError> {
        let (listen, tell) = pipe_with(PipeFlags::CLOEXEC)?;
        let tell = above_stdio(tell)?;
        match fork()? {
            Forked::Child => {
                drop(listen);
                self.tell = Some(tell);
                self.modifiers.clear();
                quit(crate::code_of(part(self)))
            }
            Forked::Parent(pid) => {
                drop(tell);
                let mut told = Vec::new();
                // To the end, so that the child has closed its side too.
                File::from(listen).read_to_end(&mut told)?;
                let died = || VerbError::Failed(format!("child {pid} died before it was ready"));
                if told.is_empty() { Err(died()) } else { Ok(pid) }
            }
        }
    }

    /// Executes an actor called `name` with an empty environment, which continues with `words`.
    pub(crate) fn exec_as(&self, name: &str, words: Args) -> VerbResult {
        let mut argv = vec![name.to_owned()];
        if self.quiet {
            argv.push("--quiet".to_owned());
        }
        if let Some(pids) = &self.pids {
            argv.extend(["--pids".to_owned(), pids.display().to_string()]);
        }
        for (option, fd) in [("--witness-fd", &self.witness), ("--tell-fd", &self.tell)] {
            argv.extend(fd.iter().flat_map(|fd| [option.to_owned(), fd.as_raw_fd().to_string()]));
        }
        argv.extend(words.rest());
        let kept: Vec<_> = [&self.witness, &self.tell].into_iter().flatten().map(AsFd::as_fd).collect();
        Ok(exec_bare(argv, &kept)?)
    }

    /// Closes all descriptors except the context's own. There is no stdout afterwards, so nothing more is
    /// printed.
    pub(crate) fn close_others(&mut self) -> io::Result<()> {
        self.quiet = true;
        let kept: Vec<_> =
            [&self.witness, &self.tell].into_iter().flatten().map(AsRawFd::as_raw_fd).collect();
        for (fd, _) in crate::inherited_state::descriptors()?.into_iter().filter(|(fd, _)| !kept.contains(fd))
        {
            // SAFETY: the only descriptors that this program owns while it gets here are the two that are kept.
            unsafe { rustix::io::close(fd) };
        }
        Ok(())
    }
}

/// Moves a descriptor above 2: where stdio was closed, a new descriptor would get one of its numbers.
fn above_stdio(fd: OwnedFd) -> io::Result<OwnedFd> {
    let moved = fcntl_dupfd_cloexec(&fd, 3)?;
    drop(fd);
    Ok(moved)
}

fn inherited(number: RawFd) -> OwnedFd {
    // SAFETY: `exec_as` left this descriptor open for the executed actor, which has no other owner for it.
    unsafe { OwnedFd::from_raw_fd(number) }
}

/// Writes `text` to stdout without a buffer: a fork would double a buffer.
pub(crate) fn say(text: &str) -> io::Result<()> {
    write_all(rustix::stdio::stdout(), text.as_bytes())
}

pub(crate) fn write_all(fd: impl AsFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = retry_on_intr(|| write(&fd, bytes))?;
        bytes = &bytes[written..];
    }
    Ok(())
}
