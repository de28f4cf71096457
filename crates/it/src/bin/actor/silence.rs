//! Work that shows in no output: what a no-output limit must not take for a hang.

use crate::life::{nap, seconds};
use crate::stage::{Stage, write_all};
use crate::words::{Outcome, Words};
use std::fs::OpenOptions;
use std::time::{Duration, Instant};

pub(crate) fn silent_cpu(stage: &mut Stage, mut words: Words) -> Outcome {
    let time = seconds(&mut words)?;
    words.end()?;
    stage.ready("silent-cpu")?;
    let begin = Instant::now();
    while begin.elapsed() < time {
        std::hint::spin_loop();
    }
    Ok(0)
}

/// 64 KiB each 10 ms.
pub(crate) fn silent_io(stage: &mut Stage, mut words: Words) -> Outcome {
    let time = seconds(&mut words)?;
    words.end()?;
    let null = OpenOptions::new().write(true).open("/dev/null")?;
    let block = vec![0; 64 * 1024];
    stage.ready("silent-io")?;
    let begin = Instant::now();
    while begin.elapsed() < time {
        write_all(&null, &block)?;
        nap(Duration::from_millis(10));
    }
    Ok(0)
}
