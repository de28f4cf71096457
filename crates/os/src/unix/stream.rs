//! Local connections for whoever waits for many at once.

use crate::socket::{self, Conn, Listener, Peer};
use bytes::BytesMut;
use rustix::fd::AsFd;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::{UnixListener, UnixStream};

/// How often an end that has said something already is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// What there is room for, at least, when something is read; and how much is made if there is less.
const LEAST: usize = 512;
const ROOM: usize = 4096;

/// One end of a connection.
#[derive(Debug)]
pub struct Stream(UnixStream);

impl Stream {
    /// Takes a connection over.
    pub fn new(conn: Conn) -> io::Result<Self> {
        UnixStream::from_std(conn.into_fd().into()).map(Self)
    }

    /// A second handle of the same connection, to be passed to another process.
    pub fn copy(&self) -> io::Result<Conn> {
        Conn::from_fd(self.0.as_fd().try_clone_to_owned()?)
    }

    /// Who is at the other end.
    pub fn peer(&self) -> io::Result<Peer> {
        socket::peer(self.0.as_fd())
    }

    /// Waits until the other end has hung up. Nothing of what it says is read.
    pub async fn gone(&self) {
        while let Ok(ready) = self.0.ready(Interest::READABLE).await {
            if ready.is_read_closed() {
                return;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits for something to read and adds it to `into`; `false` once the other end is gone. Room is made when there is
    /// something to read, and not while waiting for it. Nothing is lost if the wait is given up.
    pub async fn read_onto(&mut self, into: &mut BytesMut) -> io::Result<bool> {
        loop {
            self.0.readable().await?;
            if into.capacity() - into.len() < LEAST {
                into.reserve(ROOM);
            }
            match self.0.try_read_buf(into) {
                Ok(0) => return Ok(false),
                Ok(_) => return Ok(true),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if into.is_empty() {
                        *into = BytesMut::new();
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

/// How long threads that wait for streams have to stay: as long as they like.
pub const THREADS_STAY: Option<Duration> = None;

/// What others connect to.
#[derive(Debug)]
pub struct Door(UnixListener);

impl Door {
    /// Takes a listener over.
    pub fn new(listener: Listener) -> io::Result<Self> {
        UnixListener::from_std(listener.into_std()).map(Self)
    }

    /// The next caller, whoever it is: [`Stream::peer`] says who.
    pub async fn accept(&self) -> io::Result<Stream> {
        self.0.accept().await.map(|(stream, _)| Stream(stream))
    }
}
