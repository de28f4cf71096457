//! Output that a reader may get wrong.

use crate::args::{Args, VerbError, VerbResult};
use crate::context::{ActorContext, say, write_all};
use crate::lifetime::nap;
use rustix::io::{read, retry_on_intr};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::stdio::{stderr, stdin, stdout};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Number of different lines before the pattern repeats: a prime, so that no lost or swapped block of 2^n
/// fits.
const DISTINCT_LINES: usize = 89;

/// Byte `at` of the pattern of `fill` and `flood`, in lines of `line` bytes including their newline.
#[allow(clippy::cast_possible_truncation, reason = "what is added to `!` is less than 89")]
fn pattern(at: usize, line: usize) -> u8 {
    let (row, column) = (at / line % DISTINCT_LINES, at % line);
    if column == line - 1 { b'\n' } else { b'!' + ((row + column) % DISTINCT_LINES) as u8 }
}

pub(crate) fn fill(context: &mut ActorContext, mut words: Args) -> VerbResult {
    let bytes = words.next("BYTES")?;
    let pour = PatternWriter::take(words, bytes)?;
    context.begin("fill")?;
    pour.run()
}

pub(crate) fn flood(context: &mut ActorContext, words: Args) -> VerbResult {
    let pour = PatternWriter::take(words, usize::MAX)?;
    context.begin("flood")?;
    pour.run()
}

/// Writes `bytes` of the pattern to each stream, in turns of `chunk` bytes.
struct PatternWriter {
    streams: Vec<BorrowedFd<'static>>,
    bytes: usize,
    line: usize,
    chunk: usize,
}

impl PatternWriter {
    fn take(mut words: Args, bytes: usize) -> Result<Self, VerbError> {
        let streams = match (words.flag("--stderr"), words.flag("--both")) {
            (_, true) => vec![stdout(), stderr()],
            (true, false) => vec![stderr()],
            (false, false) => vec![stdout()],
        };
        let line = words.option("--line")?.unwrap_or(80);
        let chunk = words.option("--chunk")?.unwrap_or(64 * 1024);
        words.end()?;
        if line == 0 || chunk == 0 {
            return Err(VerbError::Usage("LEN is at least 1".to_owned()));
        }
        Ok(Self { streams, bytes, line, chunk })
    }

    fn run(&self) -> VerbResult {
        let period = self.line.saturating_mul(DISTINCT_LINES);
        let needed = period.saturating_add(self.chunk).min(self.bytes);
        let text: Vec<u8> = (0..needed).map(|at| pattern(at, self.line)).collect();
        let mut at = 0;
        while at < self.bytes {
            let length = self.chunk.min(self.bytes - at);
            for stream in &self.streams {
                write_all(stream, &text[at % period..][..length])?;
            }
            at += length;
        }
        Ok(0)
    }
}

/// Prints the four bytes of one crab emoji, the second half after a line of input or after N milliseconds.
pub(crate) fn half_utf8(context: &mut ActorContext, mut words: Args) -> VerbResult {
    let wait = words.option("--ms")?.map(Duration::from_millis);
    words.end()?;
    let (half, rest) = "🦀".as_bytes().split_at(2);
    context.begin("half-utf8")?;
    write_all(stdout(), half)?;
    match wait {
        Some(time) => nap(time),
        None => skip_line()?,
    }
    write_all(stdout(), rest)?;
    Ok(0)
}

fn skip_line() -> io::Result<()> {
    let mut byte = [0];
    while retry_on_intr(|| read(stdin(), &mut byte))? == 1 && byte != *b"\n" {}
    Ok(())
}

/// Prints lines 0, 2, 4… as `out N` on stdout and 1, 3, 5… as `err N` on stderr, each by one write.
pub(crate) fn interleave(context: &mut ActorContext, mut words: Args) -> VerbResult {
    let lines: u64 = words.next("N")?;
    words.end()?;
    context.begin("interleave")?;
    for number in 0..lines {
        let (stream, name) = if number % 2 == 0 { (stdout(), "out") } else { (stderr(), "err") };
        write_all(stream, format!("{name} {number}\n").as_bytes())?;
    }
    Ok(0)
}

/// Prints the first tick at once.
pub(crate) fn tick(context: &mut ActorContext, mut words: Args) -> VerbResult {
    let time = Duration::from_millis(words.next("MS")?);
    let count = if words.is_empty() { u64::MAX } else { words.next("COUNT")? };
    words.end()?;
    context.begin("tick")?;
    for number in 1..=count {
        say(&format!("tick {number}\n"))?;
        nap(time);
    }
    Ok(0)
}

/// Passes this stdout to a stranger who listens at the path and holds it as long as it likes.
pub(crate) fn pass_output(context: &mut ActorContext, mut words: Args) -> VerbResult {
    let path: String = words.next("SOCKETPATH")?;
    words.end()?;
    let stranger = UnixStream::connect(path)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = SendAncillaryBuffer::new(&mut space);
    let passed = [stdout()];
    message.push(SendAncillaryMessage::ScmRights(&passed));
    sendmsg(&stranger, &[IoSlice::new(b".")], &mut message, SendFlags::empty())?;
    context.ready("pass-output")?;
    Ok(0)
}
