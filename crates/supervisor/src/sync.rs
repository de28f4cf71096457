//! Locks and watches.

use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Waits until a watched value meets a condition.
pub async fn until<T>(watched: &mut watch::Receiver<T>, is: impl FnMut(&T) -> bool) {
    // If the sender is gone, there is nothing to wait for.
    let _ = watched.wait_for(is).await;
}

/// Locks a mutex. After a panic of its holder the data is still consistent, because every change is one step.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
