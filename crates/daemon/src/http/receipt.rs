//! A response that knows when it was written: what hangs on it is done then, and not if the client is gone.

use axum::body::Body;
use axum::http::header;
use axum::response::Response;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame};
use serde::Serialize;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tenure_core::receipt::{Receipt, ToolReply};
use tenure_mcp::Outflow;
use tenure_supervisor::Refusal;

/// The response for an answer.
pub(super) fn receipted<T: Serialize>(answered: ToolReply<T>, outflow: Outflow) -> Result<Response, Refusal> {
    let text = serde_json::to_vec(&answered.reply).map_err(Refusal::internal)?;
    let body = Receipted { next: Next::Text(text.into()), receipt: Some(answered.receipt), outflow };
    Response::builder()
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::new(body))
        .map_err(Refusal::internal)
}

struct Receipted {
    next: Next,
    receipt: Option<Receipt>,
    outflow: Outflow,
}

enum Next {
    /// The text is to be sent.
    Text(Bytes),
    /// It was taken, and is to be flushed.
    Flush,
    /// The connection has tried to write it: it was taken, or is waited for. A failure would have dropped us.
    End,
}

impl HttpBody for Receipted {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match std::mem::replace(&mut self.next, Next::End) {
            Next::Text(text) => {
                self.next = Next::Flush;
                Poll::Ready(Some(Ok(Frame::data(text))))
            }
            Next::Flush => {
                // The connection writes its buffer before it asks again.
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Next::End => {
                ready!(self.outflow.poll_taken(context));
                if let Some(receipt) = self.receipt.take() {
                    receipt.written();
                }
                Poll::Ready(None)
            }
        }
    }
}
