//! Reads the daemon's lines. An unfinished last line is dropped.

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

pub(super) struct LineReader<R> {
    from: BufReader<R>,
    /// Bytes of the next line read so far.
    begun: Vec<u8>,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(super) fn of(from: R) -> Self {
        Self { from: BufReader::new(from), begun: Vec::new() }
    }

    /// Reads the next line, with its newline; returns `None` if the daemon is gone. Cancel safe: a dropped future loses no
    /// bytes.
    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        self.from.read_until(b'\n', &mut self.begun).await.ok()?;
        let line = std::mem::take(&mut self.begun);
        line.ends_with(b"\n").then_some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;

    #[tokio::test]
    async fn an_unfinished_last_line_is_dropped() {
        let mut lines = LineReader::of(&b"{\"id\":1}\n{\"id\":2}"[..]);
        assert_eq!(lines.next().await.as_deref(), Some(&b"{\"id\":1}\n"[..]));
        assert_eq!(lines.next().await, None);
    }

    #[tokio::test]
    async fn a_cancelled_read_loses_no_bytes() {
        let (mut daemon, read) = tokio::io::duplex(64);
        let mut lines = LineReader::of(read);
        daemon.write_all(b"one ").await.unwrap();
        tokio::select! {
            biased;
            line = lines.next() => panic!("{line:?}"),
            () = tokio::task::yield_now() => {}
        }
        daemon.write_all(b"line\n").await.unwrap();
        assert_eq!(lines.next().await.as_deref(), Some(&b"one line\n"[..]));
    }
}
