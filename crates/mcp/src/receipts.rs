//! The receipts of replies in progress. A connection puts itself into every request that it delivers; the call
//! leaves its receipt there.

use rmcp::model::RequestId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tenure_core::receipt::Receipt;
use tokio_util::sync::CancellationToken;

/// The receipts of replies that are being written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Receipts(Arc<Mutex<HashMap<RequestId, Receipt>>>);

impl Receipts {
    /// Adds the receipt of the reply to this request.
    pub(crate) fn put(&self, id: RequestId, receipt: Receipt) {
        self.lock().insert(id, receipt);
    }

    /// Takes the receipt of a reply that is about to be written, or never will be.
    pub(crate) fn take(&self, id: &RequestId) -> Option<Receipt> {
        self.lock().remove(id)
    }

    /// Returns true if there are no receipts.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Returns a weak reference.
    pub(crate) fn weak(&self) -> WeakReceipts {
        WeakReceipts(Arc::downgrade(&self.0))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, Receipt>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A weak reference to the receipts of a response, which may have ended.
#[derive(Debug, Clone)]
pub(crate) struct WeakReceipts(Weak<Mutex<HashMap<RequestId, Receipt>>>);

impl WeakReceipts {
    pub(crate) fn get(&self) -> Option<Receipts> {
        self.0.upgrade().map(Receipts)
    }
}

/// Cancelled when the client or its session is gone, so that nobody waits any more.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gone(pub(crate) CancellationToken);
