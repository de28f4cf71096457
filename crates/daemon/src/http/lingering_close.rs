//! Closes a `LingeringStream`. Closing a socket with unread bytes resets the connection, and the client may lose a response that it
//! has not read yet. So a connection whose last request was not read completely is closed in two steps: the daemon stops
//! writing, then reads and discards for a short time, until the client closes its side.

use axum::body::{Bytes, HttpBody};
use hyper::body::{Frame, Incoming, SizeHint};
use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// Maximum wait for the client to close its side.
const LINGER_TIMEOUT: Duration = Duration::from_secs(2);
/// Size of one read, in bytes.
const PIECE: usize = 16 << 10;

/// A flag that is true if bytes arrived that belong to no completely read request.
#[derive(Debug, Clone, Default)]
pub(super) struct Unread(Arc<AtomicBool>);

impl Unread {
    fn set(&self, unread: bool) {
        self.0.store(unread, Ordering::Relaxed);
    }

    fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Wraps the request's body, which notes when it was read to its end.
    pub(super) fn watch(&self, body: Incoming) -> RequestBody {
        if body.is_end_stream() {
            self.set(false);
        }
        RequestBody { body, unread: self.clone() }
    }
}

/// A request's body.
#[derive(Debug)]
pub(super) struct RequestBody {
    body: Incoming,
    unread: Unread,
}

impl HttpBody for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if frame.is_none() {
            self.unread.set(false);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A connection that is closed in two steps if it has unread bytes.
#[derive(Debug)]
pub(super) struct LingeringStream<S> {
    stream: S,
    unread: Unread,
    /// Set once the daemon has stopped writing.
    until: Option<Pin<Box<Sleep>>>,
}

impl<S> LingeringStream<S> {
    pub(super) fn new(stream: S) -> (Self, Unread) {
        let unread = Unread::default();
        (Self { stream, unread: unread.clone(), until: None }, unread)
    }

    /// Returns the connection itself, for another protocol.
    pub(super) fn into_inner(self) -> S {
        self.stream
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for LingeringStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, into))?;
        if into.filled().len() > before {
            self.unread.set(true);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for LingeringStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.until.is_none() {
            ready!(Pin::new(&mut this.stream).poll_shutdown(context))?;
        }
        if !this.unread.get() {
            return Poll::Ready(Ok(()));
        }
        let until = this.until.get_or_insert_with(|| Box::pin(tokio::time::sleep(LINGER_TIMEOUT)));
        let mut piece = [0; PIECE];
        while until.as_mut().poll(context).is_pending() {
            let mut into = ReadBuf::new(&mut piece);
            let read = ready!(Pin::new(&mut this.stream).poll_read(context, &mut into));
            if read.is_err() || into.filled().is_empty() {
                break;
            }
        }
        Poll::Ready(Ok(()))
    }
}
