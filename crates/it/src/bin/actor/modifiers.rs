//! Modifiers: changes that a process makes to itself before it continues with another verb.

use crate::args::{Args, VerbResult};
use crate::context::ActorContext;
use crate::play;
use crate::signals;

pub(crate) fn ignore_term(context: &mut ActorContext, words: Args) -> VerbResult {
    signals::ignore(libc::SIGTERM);
    context.modified("ignore-term")?;
    play(context, words)
}

/// Ignores and blocks all signals. SIGCHLD is among them, so the exit codes of its children are lost.
pub(crate) fn ignore_all(context: &mut ActorContext, words: Args) -> VerbResult {
    signals::ALL.for_each(signals::ignore);
    signals::block(signals::ALL);
    context.modified("ignore-all")?;
    play(context, words)
}

/// Prints `ready` while stdout is open; the list of pids gets its line after the descriptors are closed.
pub(crate) fn close_fds(context: &mut ActorContext, words: Args) -> VerbResult {
    context.say_ready("close-fds")?;
    context.close_others()?;
    context.modified("close-fds")?;
    play(context, words)
}
