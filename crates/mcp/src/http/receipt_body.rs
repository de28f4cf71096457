//! The body of a response. A reply in it counts as written when its frame was passed out and the connection has
//! taken it. A body that ends before, because the call was cancelled or the session has ended, drops the receipt.

use crate::outflow::Outflow;
use crate::receipts::Receipts;
use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use hyper::body::{Body, Frame, SizeHint};
use rmcp::model::RequestId;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The body.
#[derive(Debug)]
pub struct Receipted {
    inner: BoxBody<Bytes, Infallible>,
    receipts: Receipts,
    /// The connection's outflow; without it, a request for the next frame means that the last one was taken.
    outflow: Option<Outflow>,
    passed: Option<Passed>,
}

/// A reply whose frame was passed out.
#[derive(Debug)]
struct Passed {
    to: RequestId,
    /// True if the connection has tried to write it.
    tried: bool,
}

impl Receipted {
    pub(super) fn new(
        inner: BoxBody<Bytes, Infallible>,
        receipts: Receipts,
        outflow: Option<Outflow>,
    ) -> Self {
        Self { inner, receipts, outflow, passed: None }
    }

    /// Waits until the reply that was passed out was taken.
    fn poll_taken(&mut self, context: &Context<'_>) -> Poll<()> {
        let Some(passed) = &mut self.passed else { return Poll::Ready(()) };
        if !std::mem::replace(&mut passed.tried, true) {
            // The connection writes its buffer before it asks again.
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        if let Some(outflow) = &self.outflow {
            ready!(outflow.poll_taken(context));
        }
        if let Some(passed) = self.passed.take()
            && let Some(receipt) = self.receipts.take(&passed.to)
        {
            receipt.written();
        }
        Poll::Ready(())
    }
}

impl Body for Receipted {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        ready!(self.poll_taken(context));
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(context));
        if let Some(Ok(frame)) = &frame
            && let Some(bytes) = frame.data_ref()
            && !self.receipts.is_empty()
        {
            self.passed = replied_to(bytes).map(|to| Passed { to, tried: false });
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        // A connection that sees the end of the stream asks no more.
        self.passed.is_none() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// Returns the request that an event answers. The SDK makes one frame of each event, and one line of its message.
fn replied_to(event: &[u8]) -> Option<RequestId> {
    #[derive(Deserialize)]
    struct Message {
        id: RequestId,
        result: Option<IgnoredAny>,
    }
    let message = event.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"data:"))?;
    let message: Message = serde_json::from_slice(message).ok()?;
    message.result.map(|_| message.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_result_is_a_reply() {
        let reply = b"id: 1/0\ndata: {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}\n\n";
        assert_eq!(replied_to(reply), Some(RequestId::Number(3)));
        for other in [
            "data:\n\n",
            ":\n\n",
            "data: {\"id\":3,\"method\":\"ping\"}\n\n",
            "data: {\"id\":3,\"error\":{}}\n\n",
            "data: {\"method\":\"notifications/progress\",\"params\":{\"result\":1}}\n\n",
        ] {
            assert_eq!(replied_to(other.as_bytes()), None, "{other}");
        }
    }
}
