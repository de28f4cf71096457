//! From the start to the end of a command that writes a lot, all of it read and written to files.

use crate::kept::{self, How, Kept};
use crate::raw::Spawner;
use crate::samples::in_turns;
use crate::subject::Subject;
use crate::table::Row;
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tenure_core::output::Keep;

/// How much the bare copiers read at once, and how much their pipe holds.
const AT_ONCE: usize = 1 << 20;

const PIPE_ROUNDS: usize = 7;
const PIPE_BYTES: u64 = 1 << 30;

const PTY_ROUNDS: usize = 7;
const PTY_BYTES: u64 = 64 << 20;

pub(crate) fn measure_pipe(subject: &Subject) -> io::Result<Vec<Row>> {
    let args = ["pour", &PIPE_BYTES.to_string()];
    let spawner = Spawner::new(subject, &args)?;
    let nursery = Kept::open(&subject.dir().join("pipe"))?;
    let raw_file = subject.dir().join("pipe.raw");
    let mut raw = || {
        let from = Instant::now();
        let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC)?;
        fcntl_setpipe_size(&ours, AT_ONCE)?;
        let child = spawner.spawn(Some(theirs.as_fd()))?;
        drop(theirs);
        copy(ours, &raw_file)?;
        child.wait()?;
        let took = from.elapsed();
        std::fs::remove_file(&raw_file)?;
        Ok(took)
    };
    let all = Keep { head: 0, tail: 2 * PIPE_BYTES };
    let mut kept = || keep(&nursery, subject, &args, How::plain(), PIPE_BYTES);
    let mut kept_all = || keep(&nursery, subject, &args, How { keep: all, ..How::plain() }, PIPE_BYTES);
    let mut foreground = || through_command_line(subject, &args);
    let ways: [crate::samples::Once<'_>; 4] = [&mut raw, &mut kept, &mut kept_all, &mut foreground];
    let [raw, kept, kept_all, foreground] = in_turns(PIPE_ROUNDS, ways)?;
    Ok(vec![
        Row::ratio("1 GiB through a pipe", &raw, &kept, Some(1.2)),
        Row::ratio("the same, all of it kept", &raw, &kept_all, None),
        Row::ratio("the same, tenure run > /dev/null", &raw, &foreground, None),
    ])
}

pub(crate) fn measure_pty(subject: &Subject) -> io::Result<Vec<Row>> {
    // Each newline becomes two bytes on its way through a terminal.
    let args = ["lines", &PTY_BYTES.to_string()];
    let seen = PTY_BYTES + PTY_BYTES / 80;
    let spawner = Spawner::new(subject, &args)?;
    let nursery = Kept::open(&subject.dir().join("pty"))?;
    let raw_file = subject.dir().join("pty.raw");
    let mut raw = || {
        let from = Instant::now();
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let slave =
            ioctl_tiocgptpeer(&master, OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        let child = spawner.spawn(Some(slave.as_fd()))?;
        drop(slave);
        copy(master, &raw_file)?;
        child.wait()?;
        let took = from.elapsed();
        std::fs::remove_file(&raw_file)?;
        Ok(took)
    };
    let how = How { pty: true, ..How::plain() };
    let mut kept = || keep(&nursery, subject, &args, how, seen);
    let [raw, kept] = in_turns(PTY_ROUNDS, [&mut raw, &mut kept])?;
    Ok(vec![Row::ratio("64 MiB of lines through a pty", &raw, &kept, Some(1.1))])
}

/// From a launch to its ending, with all of the output read.
fn keep(nursery: &Kept, subject: &Subject, args: &[&str], how: How, bytes: u64) -> io::Result<Duration> {
    let spec = kept::spec(subject, args, how)?;
    let from = Instant::now();
    let mut run = nursery.launch(&spec, how)?;
    let ending = run.wait()?;
    let took = from.elapsed();
    run.remove()?;
    match ending.output.bytes {
        n if n == bytes => Ok(took),
        n => Err(io::Error::other(format!("the keeper read {n} bytes of {bytes}"))),
    }
}

/// Copies everything, a blocking read and a write at a time. A terminal ends with an error.
fn copy(from: OwnedFd, to: &Path) -> io::Result<()> {
    let (mut from, mut to) = (File::from(from), File::create(to)?);
    let mut buffer = vec![0; AT_ONCE];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(n) => to.write_all(&buffer[..n])?,
            Err(error) if error.raw_os_error() == Some(libc::EIO) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

/// The whole way of a foreground caller: command line, nursery, keeper, files, standard output.
#[expect(clippy::disallowed_methods, reason = "the program that is measured, as people start it")]
fn through_command_line(subject: &Subject, args: &[&str]) -> io::Result<Duration> {
    let state = subject.dir().join("foreground");
    let from = Instant::now();
    let mut command = Command::new("/proc/self/exe");
    command.env("TENURE_STATE", &state).args(["run", "--quiet", "--"]).arg(&subject.program).args(args);
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    let took = from.elapsed();
    std::fs::remove_dir_all(&state)?;
    if status.success() { Ok(took) } else { Err(io::Error::other(format!("tenure run: {status}"))) }
}
