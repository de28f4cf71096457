//! Work without output, which a no-output limit must not mistake for a hang.

use crate::args::{Args, VerbResult};
use crate::context::{ActorContext, write_all};
use crate::lifetime::{nap, seconds};
use std::fs::OpenOptions;
use std::time::{Duration, Instant};

pub(crate) fn silent_cpu(context: &mut ActorContext, mut words: Args) -> VerbResult {
    let time = seconds(&mut words)?;
    words.end()?;
    context.ready("silent-cpu")?;
    let begin = Instant::now();
    while begin.elapsed() < time {
        std::hint::spin_loop();
    }
    Ok(0)
}

/// Writes 64 KiB every 10 ms.
pub(crate) fn silent_io(context: &mut ActorContext, mut words: Args) -> VerbResult {
    let time = seconds(&mut words)?;
    words.end()?;
    let null = OpenOptions::new().write(true).open("/dev/null")?;
    let block = vec![0; 64 * 1024];
    context.ready("silent-io")?;
    let begin = Instant::now();
    while begin.elapsed() < time {
        write_all(&null, &block)?;
        nap(Duration::from_millis(10));
    }
    Ok(0)
}
