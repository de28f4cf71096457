//! What every process of one actor shares: the witness that shows when the last of them is dead, the list of
//! their pids, and the way in which a child tells its parent that it is ready.

use crate::fork::{Forked, exec_bare, fork, quit};
use crate::words::{Fault, Outcome, Words};
use rustix::fs::{Mode, OFlags};
use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd, retry_on_intr, write};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, getpid};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::PathBuf;

pub(crate) struct Stage {
    /// The write end of a FIFO, inherited by all: its reader is hung up at the moment when all are dead.
    witness: Option<OwnedFd>,
    /// Gets a line `ROLE PID` when a process begins its behaviour.
    pids: Option<PathBuf>,
    quiet: bool,
    /// Where this process says that it is ready, unless it is the first or has said so.
    tell: Option<OwnedFd>,
    /// The modifiers this process has put on: their `ready` lines follow that of the verb they modify.
    modifiers: Vec<&'static str>,
}

impl Stage {
    /// Takes the options before the verb. Those that end in `-fd` are for an actor that executes itself.
    pub(crate) fn open(words: &mut Words) -> Result<Self, Fault> {
        let mut stage = Self { witness: None, pids: None, quiet: false, tell: None, modifiers: Vec::new() };
        let mut fifo = std::env::var_os("ACTOR_WITNESS").map(PathBuf::from);
        loop {
            if words.starts_with("--quiet") {
                stage.quiet = words.flag("--quiet");
            } else if words.starts_with("--witness") {
                fifo = words.option("--witness")?;
            } else if words.starts_with("--pids") {
                stage.pids = words.option::<PathBuf>("--pids")?.map(std::path::absolute).transpose()?;
            } else if words.starts_with("--witness-fd") {
                stage.witness = words.option("--witness-fd")?.map(inherited);
            } else if words.starts_with("--tell-fd") {
                stage.tell = words.option("--tell-fd")?.map(inherited);
            } else {
                break;
            }
        }
        if let Some(fifo) = fifo {
            let opened = rustix::fs::open(fifo, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
            let witness = above_stdio(opened)?;
            // What the actor executes is a witness too.
            fcntl_setfd(&witness, FdFlags::empty())?;
            stage.witness = Some(witness);
        }
        Ok(stage)
    }

    /// The behaviour of `verb` is in place: records it, prints it, and tells the parent.
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

    /// This process now carries `modifier`, whatever verb it goes on with.
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

    /// Leaves it to the process that this one was forked from to tell the parent.
    pub(crate) fn leave_telling(&mut self) {
        self.tell = None;
    }

    /// Forks a child that plays `part`, and returns when that child has said that it is ready.
    pub(crate) fn start(&mut self, part: impl FnOnce(&mut Self) -> Outcome) -> Result<Pid, Fault> {
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
                let died = || Fault::Failed(format!("child {pid} died before it was ready"));
                if told.is_empty() { Err(died()) } else { Ok(pid) }
            }
        }
    }

    /// Goes on with `words` in an executed actor that has an empty environment and is called `name`.
    pub(crate) fn exec_as(&self, name: &str, words: Words) -> Outcome {
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

    /// Closes all but what the stage itself needs. There is no stdout afterwards, so nothing more is said.
    pub(crate) fn close_others(&mut self) -> io::Result<()> {
        self.quiet = true;
        let kept: Vec<_> =
            [&self.witness, &self.tell].into_iter().flatten().map(AsRawFd::as_raw_fd).collect();
        for (fd, _) in crate::state::descriptors()?.into_iter().filter(|(fd, _)| !kept.contains(fd)) {
            // SAFETY: the only descriptors that this program owns while it gets here are the two that are kept.
            unsafe { rustix::io::close(fd) };
        }
        Ok(())
    }
}

/// Where stdio was closed, a new descriptor would become one of its numbers.
fn above_stdio(fd: OwnedFd) -> io::Result<OwnedFd> {
    let moved = fcntl_dupfd_cloexec(&fd, 3)?;
    drop(fd);
    Ok(moved)
}

fn inherited(number: RawFd) -> OwnedFd {
    // SAFETY: `exec_as` left this descriptor open for the executed actor, which has no other owner for it.
    unsafe { OwnedFd::from_raw_fd(number) }
}

/// Writes `text` to stdout at once: a buffer would be doubled by a fork.
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
