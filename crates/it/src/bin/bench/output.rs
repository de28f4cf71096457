//! Time from the start to the end of a command that writes a lot, with all of its output read and written to files.

use crate::raw::Spawner;
use crate::samples::in_turns;
use crate::subject::Subject;
use crate::table::Row;
use crate::tenure_runs::{self, LaunchOptions, TenureRuns};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tenure_core::output::Keep;

/// Bytes per read of the raw copiers, and the size of their pipe.
const COPY_BYTES: usize = 1 << 20;

const PIPE_ROUNDS: usize = 7;
const PIPE_BYTES: u64 = 1 << 30;

const PTY_ROUNDS: usize = 7;
const PTY_BYTES: u64 = 64 << 20;

pub(crate) fn measure_pipe(subject: &Subject) -> io::Result<Vec<Row>> {
    let args = ["pour", &PIPE_BYTES.to_string()];
    let spawner = Spawner::new(subject, &args)?;
    let nursery = TenureRuns::open(&subject.dir().join("pipe"))?;
    let raw_file = subject.dir().join("pipe.raw");
    let mut raw = || {
        let from = Instant::now();
        let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC)?;
        fcntl_setpipe_size(&ours, COPY_BYTES)?;
        let child = spawner.spawn(Some(theirs.as_fd()))?;
        drop(theirs);
        copy(ours, &raw_file)?;
        child.wait()?;
        let took = from.elapsed();
        std::fs::remove_file(&raw_file)?;
        Ok(took)
    };
    let all = Keep { head: 0, tail: 2 * PIPE_BYTES };
    let mut kept = || keep(&nursery, subject, &args, LaunchOptions::plain(), PIPE_BYTES);
    let mut kept_all =
        || keep(&nursery, subject, &args, LaunchOptions { keep: all, ..LaunchOptions::plain() }, PIPE_BYTES);
    let mut foreground = || through_command_line(subject, &args);
    let ways: [crate::samples::TimedStep<'_>; 4] = [&mut raw, &mut kept, &mut kept_all, &mut foreground];
    let [raw, kept, kept_all, foreground] = in_turns(PIPE_ROUNDS, ways)?;
    Ok(vec![
        Row::ratio("1 GiB through a pipe", &raw, &kept, Some(1.2)),
        Row::ratio("the same, all of it kept", &raw, &kept_all, None),
        Row::ratio("the same, tenure run > /dev/null", &raw, &foreground, None),
    ])
}

pub(crate) fn measure_pty(subject: &Subject) -> io::Result<Vec<Row>> {
    // A terminal turns each newline into two bytes.
    let args = ["lines", &PTY_BYTES.to_string()];
    let seen = PTY_BYTES + PTY_BYTES / 80;
    let spawner = Spawner::new(subject, &args)?;
    let nursery = TenureRuns::open(&subject.dir().join("pty"))?;
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
    let how = LaunchOptions { pty: true, ..LaunchOptions::plain() };
    let mut kept = || keep(&nursery, subject, &args, how, seen);
    let [raw, kept] = in_turns(PTY_ROUNDS, [&mut raw, &mut kept])?;
    Ok(vec![Row::ratio("64 MiB of lines through a pty", &raw, &kept, Some(1.1))])
}

/// Measures from a launch to its ending, with all of the output read.
fn keep(
    nursery: &TenureRuns,
    subject: &Subject,
    args: &[&str],
    how: LaunchOptions,
    bytes: u64,
) -> io::Result<Duration> {
    let spec = tenure_runs::spec(subject, args, how)?;
    let from = Instant::now();
    let mut run = nursery.launch(&spec)?;
    let ending = run.wait()?;
    let took = from.elapsed();
    run.remove()?;
    match ending.output.bytes {
        n if n == bytes => Ok(took),
        n => Err(io::Error::other(format!("the keeper read {n} bytes of {bytes}"))),
    }
}

/// Copies everything with blocking reads and writes. On a terminal EOF is an error.
fn copy(from: OwnedFd, to: &Path) -> io::Result<()> {
    let (mut from, mut to) = (File::from(from), File::create(to)?);
    let mut buffer = vec![0; COPY_BYTES];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(n) => to.write_all(&buffer[..n])?,
            Err(error) if error.raw_os_error() == Some(libc::EIO) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

/// Measures a complete foreground run: command line, nursery, keeper, files, standard output.
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
