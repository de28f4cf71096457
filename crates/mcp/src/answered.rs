//! A reply, and what is done once it was written: what an agent has been told counts as told only then.

use std::fmt;

/// A reply with its receipt.
#[derive(Debug)]
pub struct Answered<T> {
    /// What is sent.
    pub reply: T,
    /// What is done once it was sent.
    pub written: Written,
}

impl<T> Answered<T> {
    /// A reply that nothing hangs on.
    pub fn plain(reply: T) -> Self {
        Self { reply, written: Written::default() }
    }
}

/// What is done once a reply was written without error. Dropped, it is not done.
#[derive(Default)]
pub struct Written(Option<Box<dyn FnOnce() + Send>>);

impl Written {
    /// Does this.
    pub fn then(does: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(does)))
    }

    /// The reply was written.
    pub fn done(self) {
        if let Some(does) = self.0 {
            does();
        }
    }
}

impl fmt::Debug for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Written(…)" } else { "Written" })
    }
}
