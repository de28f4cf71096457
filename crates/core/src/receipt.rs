//! A tool's reply with its receipt: what an agent was told counts as told once the reply was written.

use std::fmt;

/// A reply with its receipt.
#[derive(Debug)]
pub struct ToolReply<T> {
    /// The reply.
    pub reply: T,
    /// The action that follows once the reply was written.
    pub receipt: Receipt,
}

impl<T> ToolReply<T> {
    /// A reply without a receipt.
    pub fn plain(reply: T) -> Self {
        Self { reply, receipt: Receipt::default() }
    }
}

/// An action that follows once a reply was written without error. Dropped, it is not done.
#[derive(Default)]
pub struct Receipt(Option<Box<dyn FnOnce() + Send>>);

impl Receipt {
    /// Calls this once the reply was written.
    pub fn new(action: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(action)))
    }

    /// Tells that the reply was written.
    pub fn written(self) {
        if let Some(action) = self.0 {
            action();
        }
    }
}

impl fmt::Debug for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Receipt(…)" } else { "Receipt" })
    }
}
