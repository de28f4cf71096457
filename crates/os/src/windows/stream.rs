//! Local connections for whoever waits for many at once.

use super::Alarm;
use super::poll::Awaited;
use crate::socket::{self, Conn, Got, Listener, Peer};
use bytes::BytesMut;
use std::future::poll_fn;
use std::io;
use std::os::windows::io::AsHandle;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How often an end that has said something already is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// How much is read at once.
const ROOM: usize = 4096;

/// One end of a connection.
#[derive(Debug)]
pub struct Stream {
    // Both are dropped before the connection whose events they wait for.
    reading: Alarm,
    writing: Alarm,
    conn: Conn,
}

impl Stream {
    /// Takes a connection over.
    pub fn new(conn: Conn) -> io::Result<Self> {
        Ok(Self { reading: Alarm::default(), writing: Alarm::default(), conn })
    }

    /// A second handle of the same connection, to be passed to another process.
    pub fn copy(&self) -> io::Result<Conn> {
        Conn::from_handle(self.conn.as_handle().try_clone_to_owned()?)
    }

    /// Who is at the other end.
    pub fn peer(&self) -> io::Result<Peer> {
        socket::peer(&self.conn)
    }

    /// Waits until the other end has hung up. Nothing of what it says is read.
    pub async fn gone(&self) {
        while !self.conn.end.is_hung_up() {
            if self.conn.end.has_something() {
                tokio::time::sleep(LOOK).await;
            } else if poll_fn(|cx| self.poll_readable(cx)).await.is_err() {
                return;
            }
        }
    }

    /// Waits for something to read and adds it to `into`; `false` once the other end is gone. Room is made when there is
    /// something to read, and not while waiting for it. Nothing is lost if the wait is given up.
    pub async fn read_onto(&mut self, into: &mut BytesMut) -> io::Result<bool> {
        loop {
            poll_fn(|cx| self.poll_readable(cx)).await?;
            let start = into.len();
            into.resize(start + ROOM, 0);
            let got = self.conn.read(&mut into[start..]);
            into.truncate(start + if let Ok(Got::Bytes(n)) = got { n } else { 0 });
            match got? {
                Got::Bytes(_) => return Ok(true),
                Got::End => return Ok(false),
                Got::Nothing if into.is_empty() => *into = BytesMut::new(),
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

/// What is taken is on its way: a flush waits until it is in the pipe, and a shutdown does so too. The other end then
/// hears of the end when this is dropped.
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

/// How long threads that wait for streams have to stay: what one of them has begun to write ends with it.
pub const THREADS_STAY: Option<Duration> = Some(Duration::from_secs(366 * 24 * 60 * 60));

/// What others connect to.
#[derive(Debug)]
pub struct Door {
    // Dropped before the listener whose event it waits for.
    came: Alarm,
    listener: Listener,
}

impl Door {
    /// Takes a listener over.
    pub fn new(listener: Listener) -> io::Result<Self> {
        Ok(Self { came: Alarm::default(), listener })
    }

    /// The next caller, whoever it is: [`Stream::peer`] says who.
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
