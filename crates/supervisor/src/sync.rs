//! Locks and watches.

use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Waits until a watched value fulfils a condition.
pub async fn until<T>(watched: &mut watch::Receiver<T>, is: impl FnMut(&T) -> bool) {
    // If nobody can change it any more, there is nothing to wait for.
    let _ = watched.wait_for(is).await;
}

/// Locks a mutex. If a holder panicked, the data is whole nevertheless: nothing is changed in two steps.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
