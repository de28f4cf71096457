//! Modifiers: what a process puts on before it goes on with another verb.

use crate::play;
use crate::signals;
use crate::stage::Stage;
use crate::words::{Outcome, Words};

pub(crate) fn ignore_term(stage: &mut Stage, words: Words) -> Outcome {
    signals::ignore(libc::SIGTERM);
    stage.modified("ignore-term")?;
    play(stage, words)
}

/// Ignores and blocks. SIGCHLD is among them, so the codes of its children are lost.
pub(crate) fn ignore_all(stage: &mut Stage, words: Words) -> Outcome {
    signals::ALL.for_each(signals::ignore);
    signals::block(signals::ALL);
    stage.modified("ignore-all")?;
    play(stage, words)
}

/// Says that it is ready while it can; the list of pids gets its line when the descriptors are closed.
pub(crate) fn close_fds(stage: &mut Stage, words: Words) -> Outcome {
    stage.say_ready("close-fds")?;
    stage.close_others()?;
    stage.modified("close-fds")?;
    play(stage, words)
}
