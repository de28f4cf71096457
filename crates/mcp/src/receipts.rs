//! Which replies are on their way, and what is done once they were written. A connection puts itself into every
//! request that it delivers; the call leaves its receipt there.

use crate::answered::Written;
use rmcp::model::RequestId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio_util::sync::CancellationToken;

/// The receipts of replies that are being written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Receipts(Arc<Mutex<HashMap<RequestId, Written>>>);

impl Receipts {
    /// The reply to this request has a receipt.
    pub(crate) fn put(&self, id: RequestId, written: Written) {
        self.lock().insert(id, written);
    }

    /// Takes the receipt of a reply that is about to be written, or that never will be.
    pub(crate) fn take(&self, id: &RequestId) -> Option<Written> {
        self.lock().remove(id)
    }

    /// Whether nothing hangs on any reply.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// The same, for whoever does not keep them.
    pub(crate) fn weak(&self) -> WeakReceipts {
        WeakReceipts(Arc::downgrade(&self.0))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, Written>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The receipts of a response that may be over.
#[derive(Debug, Clone)]
pub(crate) struct WeakReceipts(Weak<Mutex<HashMap<RequestId, Written>>>);

impl WeakReceipts {
    pub(crate) fn get(&self) -> Option<Receipts> {
        self.0.upgrade().map(Receipts)
    }
}

/// The client is gone, or its session is: nobody waits for anything any more.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gone(pub(crate) CancellationToken);
