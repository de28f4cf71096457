//! Process trees, and the ways in which children leave their parents.

use crate::args::{Args, VerbResult};
use crate::context::ActorContext;
use crate::fork::wait;
use crate::lifetime::pause_for_ever;
use crate::play;
use crate::signals;
use rustix::fs::{Mode, OFlags};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use std::io;

pub(crate) fn tree(context: &mut ActorContext, words: Args) -> VerbResult {
    words.end()?;
    context.start(|context| {
        context.start(|context| pause_as(context, "grandchild"))?;
        pause_as(context, "child")
    })?;
    context.ready("tree")?;
    pause_for_ever()
}

pub(crate) fn child(context: &mut ActorContext, words: Args) -> VerbResult {
    let child = context.start(|context| play(context, words))?;
    context.ready("child")?;
    Ok(wait(child)?)
}

pub(crate) fn leave(context: &mut ActorContext, words: Args) -> VerbResult {
    context.start(|context| play(context, words))?;
    context.ready("leave")?;
    Ok(0)
}

pub(crate) fn leave_code(context: &mut ActorContext, mut words: Args) -> VerbResult {
    let code: u8 = words.next("CODE")?;
    context.start(|context| play(context, words))?;
    context.ready("leave-code")?;
    Ok(code.into())
}

pub(crate) fn setsid(context: &mut ActorContext, words: Args) -> VerbResult {
    let child = context.start(|context| {
        rustix::process::setsid()?;
        play(context, words)
    })?;
    context.ready("setsid")?;
    Ok(wait(child)?)
}

/// At `ready`, the process between this one and the daemon has been reaped.
pub(crate) fn daemon(context: &mut ActorContext, mut words: Args) -> VerbResult {
    let exit: Option<u8> = if words.starts_with("--exit") { words.option("--exit")? } else { None };
    let between = context.start(|context| {
        rustix::process::setsid()?;
        context.start(|context| {
            rustix::process::chdir("/")?;
            rustix::process::umask(Mode::empty());
            stdio_to_null()?;
            play(context, words)
        })?;
        context.tell_parent()?;
        Ok(0)
    })?;
    wait(between)?;
    context.ready("daemon")?;
    match exit {
        Some(code) => Ok(code.into()),
        None => pause_for_ever(),
    }
}

/// Neither the environment nor the name of the child in its own session identifies it.
pub(crate) fn clear_env(context: &mut ActorContext, words: Args) -> VerbResult {
    let child = context.start(|context| {
        rustix::process::setsid()?;
        context.exec_as("stranger", words)
    })?;
    context.ready("clear-env")?;
    Ok(wait(child)?)
}

/// A zygote in its own session, renderers in theirs with a helper each, and a crash handler that has left the
/// family and ignores SIGTERM.
pub(crate) fn chrome_like(context: &mut ActorContext, mut words: Args) -> VerbResult {
    let renderers: u32 = words.next("N")?;
    words.end()?;
    context.start(|context| zygote(context, renderers))?;
    let between = context.start(crash_handler)?;
    wait(between)?;
    context.ready("chrome-like")?;
    pause_for_ever()
}

fn zygote(context: &mut ActorContext, renderers: u32) -> VerbResult {
    rustix::process::setsid()?;
    for _ in 0..renderers {
        context.start(|context| {
            rustix::process::setsid()?;
            context.start(|context| pause_as(context, "helper"))?;
            pause_as(context, "renderer")
        })?;
    }
    pause_as(context, "zygote")
}

fn crash_handler(context: &mut ActorContext) -> VerbResult {
    rustix::process::setsid()?;
    context.start(|context| {
        signals::ignore(libc::SIGTERM);
        pause_as(context, "crash-handler")
    })?;
    context.tell_parent()?;
    Ok(0)
}

fn pause_as(context: &mut ActorContext, role: &str) -> VerbResult {
    context.begin(role)?;
    pause_for_ever()
}

pub(crate) fn stdio_to_null() -> io::Result<()> {
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    Ok(dup2_stderr(&null)?)
}
