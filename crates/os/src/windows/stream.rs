//! Local connections for asynchronous code.

use super::Alarm;
use super::poll::Pollable;
use crate::socket::{self, Conn, Got, Listener, Peer};
use std::future::poll_fn;
use std::io;
use std::os::windows::io::AsHandle;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Polling interval for an end that has sent data already.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Maximum number of bytes per read.
const READ_SIZE: usize = 4096;

/// An end of a connection.
#[derive(Debug)]
pub struct Stream {
    // Both must be dropped before the connection, whose events they wait for.
    reading: Alarm,
    writing: Alarm,
    conn: Conn,
}

impl Stream {
    /// Takes over a connection.
    pub fn new(conn: Conn) -> io::Result<Self> {
        Ok(Self { reading: Alarm::default(), writing: Alarm::default(), conn })
    }

    /// Gives the connection back.
    pub fn into_conn(self) -> io::Result<Conn> {
        Ok(self.conn)
    }

    /// Returns a second handle of the same connection, to pass to another process.
    pub fn copy(&self) -> io::Result<Conn> {
        Conn::from_handle(self.conn.as_handle().try_clone_to_owned()?)
    }

    /// Returns the process at the other end.
    pub fn peer(&self) -> io::Result<Peer> {
        socket::peer(&self.conn)
    }

    /// Waits until the other end has hung up. Nothing is read.
    pub async fn gone(&self) {
        while !self.conn.end.is_hung_up() {
            if self.conn.end.has_something() {
                tokio::time::sleep(POLL_INTERVAL).await;
            } else if poll_fn(|cx| self.poll_readable(cx)).await.is_err() {
                return;
            }
        }
    }

    /// Waits for data and appends it to `into`; `false` once the other end is gone. Capacity is reserved when there
    /// is data, not while waiting for it. Nothing is lost if the wait is cancelled.
    pub async fn read_onto(&mut self, into: &mut Vec<u8>) -> io::Result<bool> {
        loop {
            poll_fn(|cx| self.poll_readable(cx)).await?;
            let start = into.len();
            into.resize(start + READ_SIZE, 0);
            let got = self.conn.read(&mut into[start..]);
            into.truncate(start + if let Ok(Got::Bytes(n)) = got { n } else { 0 });
            match got? {
                Got::Bytes(_) => return Ok(true),
                Got::End => return Ok(false),
                Got::Nothing if into.is_empty() => *into = Vec::new(),
                Got::Nothing => {}
            }
        }
    }

    fn poll_readable(&self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        if self.conn.end.has_something() {
            return Poll::Ready(Ok(()));
        }
        match self.reading.set(self.conn.end.readable(), cx) {
            Ok(()) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    fn poll_settled(&self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        if self.conn.end.is_settled()? {
            return Poll::Ready(Ok(()));
        }
        match self.writing.set(self.conn.end.writable(), cx) {
            Ok(()) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            match self.conn.read(into.initialize_unfilled())? {
                Got::Bytes(n) => {
                    into.advance(n);
                    return Poll::Ready(Ok(()));
                }
                Got::End => return Poll::Ready(Ok(())),
                Got::Nothing if into.remaining() == 0 => return Poll::Ready(Ok(())),
                Got::Nothing => ready!(self.poll_readable(cx))?,
            }
        }
    }
}

/// Accepted bytes are on their way: a flush waits until they are in the pipe, and so does a shutdown. The other end
/// sees the end when this is dropped.
impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_settled(cx))?;
        Poll::Ready(self.conn.end.post(bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_settled(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_settled(cx)
    }
}

/// Time that threads waiting for streams must stay alive: a write that a thread has started ends with the thread.
pub const THREADS_STAY: Option<Duration> = Some(Duration::from_secs(366 * 24 * 60 * 60));

/// A listening socket for asynchronous code.
#[derive(Debug)]
pub struct Door {
    // Must be dropped before the listener, whose event it waits for.
    came: Alarm,
    listener: Listener,
}

impl Door {
    /// Takes over a listener.
    pub fn new(listener: Listener) -> io::Result<Self> {
        Ok(Self { came: Alarm::default(), listener })
    }

    /// Accepts the next connection of any user; [`Stream::peer`] identifies it.
    pub async fn accept(&self) -> io::Result<Stream> {
        poll_fn(|cx| self.poll_accept(cx)).await
    }

    fn poll_accept(&self, cx: &Context<'_>) -> Poll<io::Result<Stream>> {
        if let Some(conn) = self.listener.accept()? {
            return Poll::Ready(Stream::new(conn));
        }
        let waitable = self.listener.waitable();
        let event = waitable.read.ok_or_else(|| io::Error::other("nobody can be heard to come"))?;
        match self.came.set(event, cx) {
            Ok(()) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}
