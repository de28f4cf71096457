//! Local connections for asynchronous code.

use crate::socket::{self, Conn, Listener, Peer};
use rustix::fd::AsFd;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::{UnixListener, UnixStream};

/// Polling interval for an end that has sent data already.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Minimum free capacity for a read; with less, more is reserved.
const MIN_ROOM: usize = 512;
const READ_SIZE: usize = 4096;

/// An end of a connection.
#[derive(Debug)]
pub struct Stream(UnixStream);

impl Stream {
    /// Takes over a connection.
    pub fn new(conn: Conn) -> io::Result<Self> {
        UnixStream::from_std(conn.into_fd().into()).map(Self)
    }

    /// Gives the connection back.
    pub fn into_conn(self) -> io::Result<Conn> {
        Conn::from_fd(self.0.into_std()?.into())
    }

    /// Returns a second handle of the same connection, to pass to another process.
    pub fn copy(&self) -> io::Result<Conn> {
        Conn::from_fd(self.0.as_fd().try_clone_to_owned()?)
    }

    /// Returns the process at the other end.
    pub fn peer(&self) -> io::Result<Peer> {
        socket::peer(self.0.as_fd())
    }

    /// Waits until the other end has hung up. Nothing is read.
    pub async fn gone(&self) {
        while let Ok(ready) = self.0.ready(Interest::READABLE).await {
            if ready.is_read_closed() {
                return;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Waits for data and appends it to `into`; `false` once the other end is gone. Capacity is reserved when there
    /// is data, not while waiting for it. Nothing is lost if the wait is cancelled.
    pub async fn read_onto(&mut self, into: &mut Vec<u8>) -> io::Result<bool> {
        loop {
            self.0.readable().await?;
            if into.capacity() - into.len() < MIN_ROOM {
                into.reserve(READ_SIZE);
            }
            match self.0.try_read_buf(into) {
                Ok(0) => return Ok(false),
                Ok(_) => return Ok(true),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if into.is_empty() {
                        *into = Vec::new();
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(false),
                Err(error) => return Err(error),
            }
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, into)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

/// Time that threads waiting for streams must stay alive: they may end at any time.
pub const THREADS_STAY: Option<Duration> = None;

/// A listening socket for asynchronous code.
#[derive(Debug)]
pub struct Door(UnixListener);

impl Door {
    /// Takes over a listener.
    pub fn new(listener: Listener) -> io::Result<Self> {
        UnixListener::from_std(listener.into_std()).map(Self)
    }

    /// Accepts the next connection of any user; [`Stream::peer`] identifies it.
    pub async fn accept(&self) -> io::Result<Stream> {
        self.0.accept().await.map(|(stream, _)| Stream(stream))
    }
}
