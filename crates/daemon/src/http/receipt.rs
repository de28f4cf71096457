//! Responses with a receipt: it is issued when the response was written to the client, not if the client disconnected.

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

/// Returns the response for a tool's reply.
pub(super) fn respond<T: Serialize>(reply: ToolReply<T>, outflow: Outflow) -> Result<Response, Refusal> {
    let text = serde_json::to_vec(&reply.reply).map_err(Refusal::internal)?;
    let body = ReceiptBody { next: Next::Text(text.into()), receipt: Some(reply.receipt), outflow };
    Response::builder()
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::new(body))
        .map_err(Refusal::internal)
}

struct ReceiptBody {
    next: Next,
    receipt: Option<Receipt>,
    outflow: Outflow,
}

enum Next {
    /// Send the text.
    Text(Bytes),
    /// Wait until the connection has buffered the text.
    Flush,
    /// Wait until the system has taken the text. A failed write would have dropped the body.
    End,
}

impl HttpBody for ReceiptBody {
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
                // The connection writes its buffer before it polls again.
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
