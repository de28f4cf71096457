//! The tools of clients without a session in the protocol (from 2026-07-28 on): one set for all of them, until it
//! is unused for long.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// A function that makes the tools when they are needed.
type Make<T> = Box<dyn Fn() -> io::Result<T> + Send + Sync>;

pub(super) struct Shared<T> {
    make: Make<T>,
    idle: Duration,
    current: Mutex<Option<Current<T>>>,
}

struct Current<T> {
    tools: T,
    /// The usage mark; each request in progress has a copy.
    uses: Arc<()>,
    last: Instant,
}

impl<T: Clone + Send + 'static> Shared<T> {
    pub(super) fn new(make: impl Fn() -> io::Result<T> + Send + Sync + 'static, idle: Duration) -> Arc<Self> {
        Arc::new(Self { make: Box::new(make), idle, current: Mutex::default() })
    }

    /// Returns the tools, and a mark that the request keeps while it is in progress.
    pub(super) fn get(self: &Arc<Self>) -> io::Result<(T, Arc<()>)> {
        let mut current = self.lock();
        let shared = match &mut *current {
            Some(shared) => shared,
            none => {
                let (tools, last) = ((self.make)()?, Instant::now());
                tokio::spawn(Arc::clone(self).until_unused(last + self.idle));
                none.insert(Current { tools, uses: Arc::default(), last })
            }
        };
        shared.last = Instant::now();
        Ok((shared.tools.clone(), Arc::clone(&shared.uses)))
    }

    /// Drops the tools when they are unused for long.
    async fn until_unused(self: Arc<Self>, mut deadline: Instant) {
        loop {
            sleep_until(deadline).await;
            let mut current = self.lock();
            let Some(shared) = &mut *current else { return };
            if Arc::strong_count(&shared.uses) > 1 {
                shared.last = Instant::now();
            }
            deadline = shared.last + self.idle;
            if deadline <= Instant::now() {
                *current = None;
                return;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Current<T>>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
