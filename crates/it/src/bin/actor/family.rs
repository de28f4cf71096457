//! Processes that have children, and the ways in which children leave their parents.

use crate::fork::wait;
use crate::life::pause_for_ever;
use crate::play;
use crate::signals;
use crate::stage::Stage;
use crate::words::{Outcome, Words};
use rustix::fs::{Mode, OFlags};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use std::io;

pub(crate) fn tree(stage: &mut Stage, words: Words) -> Outcome {
    words.end()?;
    stage.start(|stage| {
        stage.start(|stage| pause_as(stage, "grandchild"))?;
        pause_as(stage, "child")
    })?;
    stage.ready("tree")?;
    pause_for_ever()
}

pub(crate) fn child(stage: &mut Stage, words: Words) -> Outcome {
    let child = stage.start(|stage| play(stage, words))?;
    stage.ready("child")?;
    Ok(wait(child)?)
}

pub(crate) fn leave(stage: &mut Stage, words: Words) -> Outcome {
    stage.start(|stage| play(stage, words))?;
    stage.ready("leave")?;
    Ok(0)
}

pub(crate) fn leave_code(stage: &mut Stage, mut words: Words) -> Outcome {
    let code: u8 = words.next("CODE")?;
    stage.start(|stage| play(stage, words))?;
    stage.ready("leave-code")?;
    Ok(code.into())
}

pub(crate) fn setsid(stage: &mut Stage, words: Words) -> Outcome {
    let child = stage.start(|stage| {
        rustix::process::setsid()?;
        play(stage, words)
    })?;
    stage.ready("setsid")?;
    Ok(wait(child)?)
}

/// When it is ready, the process between this one and the daemon is reaped.
pub(crate) fn daemon(stage: &mut Stage, mut words: Words) -> Outcome {
    let exit: Option<u8> = if words.starts_with("--exit") { words.option("--exit")? } else { None };
    let between = stage.start(|stage| {
        rustix::process::setsid()?;
        stage.start(|stage| {
            rustix::process::chdir("/")?;
            rustix::process::umask(Mode::empty());
            stdio_to_null()?;
            play(stage, words)
        })?;
        stage.tell_parent()?;
        Ok(0)
    })?;
    wait(between)?;
    stage.ready("daemon")?;
    match exit {
        Some(code) => Ok(code.into()),
        None => pause_for_ever(),
    }
}

/// The child in its own session can be told from a stranger neither by its environment nor by its name.
pub(crate) fn clear_env(stage: &mut Stage, words: Words) -> Outcome {
    let child = stage.start(|stage| {
        rustix::process::setsid()?;
        stage.exec_as("stranger", words)
    })?;
    stage.ready("clear-env")?;
    Ok(wait(child)?)
}

/// A zygote in its own session, renderers in theirs, each with a helper; and a crash handler that has left the
/// family and ignores SIGTERM.
pub(crate) fn chrome_like(stage: &mut Stage, mut words: Words) -> Outcome {
    let renderers: u32 = words.next("N")?;
    words.end()?;
    stage.start(|stage| zygote(stage, renderers))?;
    let between = stage.start(crash_handler)?;
    wait(between)?;
    stage.ready("chrome-like")?;
    pause_for_ever()
}

fn zygote(stage: &mut Stage, renderers: u32) -> Outcome {
    rustix::process::setsid()?;
    for _ in 0..renderers {
        stage.start(|stage| {
            rustix::process::setsid()?;
            stage.start(|stage| pause_as(stage, "helper"))?;
            pause_as(stage, "renderer")
        })?;
    }
    pause_as(stage, "zygote")
}

fn crash_handler(stage: &mut Stage) -> Outcome {
    rustix::process::setsid()?;
    stage.start(|stage| {
        signals::ignore(libc::SIGTERM);
        pause_as(stage, "crash-handler")
    })?;
    stage.tell_parent()?;
    Ok(0)
}

fn pause_as(stage: &mut Stage, role: &str) -> Outcome {
    stage.begin(role)?;
    pause_for_ever()
}

pub(crate) fn stdio_to_null() -> io::Result<()> {
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    Ok(dup2_stderr(&null)?)
}
