//! Verbs that read stdin.

use crate::args::{Args, VerbResult};
use crate::context::{ActorContext, say, write_all};
use crate::lifetime::pause_for_ever;
use rustix::io::{Errno, read, retry_on_intr};
use rustix::stdio::{stdin, stdout};
use std::io;

/// Prints nothing of its own: the output equals the input.
pub(crate) fn echo(context: &mut ActorContext, words: Args) -> VerbResult {
    words.end()?;
    context.begin("echo")?;
    each_piece(|piece| write_all(stdout(), piece))?;
    Ok(0)
}

/// Prints `BYTES HASH`, the hash being 64-bit FNV-1a in sixteen hex digits.
pub(crate) fn count_stdin(context: &mut ActorContext, words: Args) -> VerbResult {
    words.end()?;
    context.ready("count-stdin")?;
    let (mut count, mut hash) = (0, 0xcbf2_9ce4_8422_2325u64);
    each_piece(|piece| {
        count += piece.len();
        hash = piece.iter().fold(hash, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        Ok(())
    })?;
    say(&format!("{count} {hash:016x}\n"))?;
    Ok(0)
}

pub(crate) fn never_read(context: &mut ActorContext, words: Args) -> VerbResult {
    words.end()?;
    context.ready("never-read")?;
    pause_for_ever()
}

/// Reads until the end of input. On a terminal that was hung up that is EIO.
fn each_piece(mut take: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match retry_on_intr(|| read(stdin(), &mut *buffer)) {
            Ok(0) | Err(Errno::IO) => return Ok(()),
            Ok(length) => take(&buffer[..length])?,
            Err(errno) => return Err(errno.into()),
        }
    }
}
