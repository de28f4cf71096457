//! A connection whose outflow is watched. The HTTP implementation asks for more of a body while the socket has not
//! yet taken the last part, so such a request does not prove that anything was written.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Tells if the system takes the bytes that are written to a connection.
#[derive(Debug, Clone, Default)]
pub struct Outflow(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// True if the last bytes were not taken.
    held_up: bool,
    waiting: Option<Waker>,
}

impl Outflow {
    /// Waits until the last bytes were taken.
    pub fn poll_taken(&self, context: &Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if !state.held_up {
            return Poll::Ready(());
        }
        state.waiting = Some(context.waker().clone());
        Poll::Pending
    }

    fn note<T>(&self, written: Poll<T>) -> Poll<T> {
        let mut state = self.lock();
        state.held_up = written.is_pending();
        if written.is_ready()
            && let Some(waiting) = state.waiting.take()
        {
            waiting.wake();
        }
        written
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The connection.
#[derive(Debug)]
pub struct Watched<S> {
    stream: S,
    outflow: Outflow,
}

impl<S> Watched<S> {
    /// Watches a connection.
    pub fn new(stream: S) -> (Self, Outflow) {
        let outflow = Outflow::default();
        (Self { stream, outflow: outflow.clone() }, outflow)
    }

    /// Returns the connection, unwatched.
    pub fn into_inner(self) -> S {
        self.stream
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.outflow.note(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.outflow.note(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
