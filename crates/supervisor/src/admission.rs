//! Admission: limits the number of live runs, and of starts in the queue.

use crate::sync::lock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The slots for live runs; `None` without a limit.
#[derive(Debug)]
pub struct Admission {
    slots: Option<Arc<RunSlots>>,
    most: usize,
    max_queued: usize,
    queued: AtomicUsize,
}

#[derive(Debug)]
struct RunSlots {
    free: Arc<Semaphore>,
    /// The number of live runs beyond the limit, which an earlier daemon started.
    surplus: Mutex<usize>,
}

/// A run's slot, given back when it is dropped.
#[derive(Debug)]
pub struct RunSlot {
    slots: Arc<RunSlots>,
    /// Without a permit, the slot is beyond the limit.
    permit: Option<OwnedSemaphorePermit>,
}

impl Drop for RunSlot {
    fn drop(&mut self) {
        let mut surplus = lock(&self.slots.surplus);
        match (*surplus > 0, self.permit.take()) {
            // A run beyond the limit ended: its slot is not given to another run.
            (true, permit) => {
                *surplus -= 1;
                permit.into_iter().for_each(OwnedSemaphorePermit::forget);
            }
            (false, Some(permit)) => drop(permit),
            (false, None) => self.slots.free.add_permits(1),
        }
    }
}

/// No slot is free, and the queue is full.
#[derive(Debug)]
pub struct Full {
    pub most: usize,
    pub queued: usize,
}

impl Admission {
    pub(crate) fn new(most: Option<u64>, max_queued: u64) -> Self {
        let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        let (most, max_queued) = (most.map(size), size(max_queued));
        let slots = most
            .map(|most| Arc::new(RunSlots { free: Arc::new(Semaphore::new(most)), surplus: Mutex::new(0) }));
        Self { slots, most: most.unwrap_or(usize::MAX), max_queued, queued: AtomicUsize::new(0) }
    }

    /// Waits for a slot, in the order of the calls.
    pub async fn enter(&self) -> Result<Option<RunSlot>, Full> {
        let Some(slots) = &self.slots else { return Ok(None) };
        if let Some(slot) = RunSlot::try_take(slots) {
            return Ok(Some(slot));
        }
        let _waiting = QueueEntry::begin(&self.queued, self.max_queued)
            .ok_or(Full { most: self.most, queued: self.max_queued })?;
        Ok(Some(RunSlot::take(slots).await))
    }

    /// Refuses if a call of `enter` would be refused now.
    pub fn has_room(&self) -> Result<(), Full> {
        match &self.slots {
            Some(slots) if slots.free.available_permits() == 0 && self.queued() >= self.max_queued => {
                Err(Full { most: self.most, queued: self.max_queued })
            }
            _ => Ok(()),
        }
    }

    /// Waits for a slot, however long the queue is: the caller has ended another run for it.
    pub(crate) async fn enter_unbounded(&self) -> Option<RunSlot> {
        let slots = self.slots.as_ref()?;
        if let Some(slot) = RunSlot::try_take(slots) {
            return Some(slot);
        }
        let _waiting = QueueEntry::begin(&self.queued, usize::MAX);
        Some(RunSlot::take(slots).await)
    }

    /// Takes a slot for a run that is already alive, even beyond the limit.
    pub(crate) fn add_existing(&self) -> Option<RunSlot> {
        let slots = self.slots.as_ref()?;
        Some(RunSlot::try_take(slots).unwrap_or_else(|| {
            *lock(&slots.surplus) += 1;
            RunSlot { slots: Arc::clone(slots), permit: None }
        }))
    }

    pub fn queued(&self) -> usize {
        self.queued.load(Ordering::Relaxed)
    }
}

impl RunSlot {
    fn try_take(slots: &Arc<RunSlots>) -> Option<Self> {
        let permit = Arc::clone(&slots.free).try_acquire_owned().ok()?;
        Some(Self { slots: Arc::clone(slots), permit: Some(permit) })
    }

    async fn take(slots: &Arc<RunSlots>) -> Self {
        // The semaphore is never closed.
        let permit = Arc::clone(&slots.free).acquire_owned().await.ok();
        Self { slots: Arc::clone(slots), permit }
    }
}

/// A start in the queue, until dropped.
struct QueueEntry<'a>(&'a AtomicUsize);

impl<'a> QueueEntry<'a> {
    fn begin(queued: &'a AtomicUsize, most: usize) -> Option<Self> {
        let more = |n: usize| (n < most).then_some(n + 1);
        queued.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok().map(|_| Self(queued))
    }
}

impl Drop for QueueEntry<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    fn now<T>(future: impl Future<Output = T>) -> Option<T> {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        }
    }

    #[test]
    fn without_a_limit_every_start_enters() {
        let admission = Admission::new(None, 0);
        assert!(now(admission.enter()).unwrap().unwrap().is_none());
    }

    #[test]
    fn a_start_without_a_slot_waits_and_a_full_queue_refuses() {
        let admission = Admission::new(Some(1), 1);
        let slot = now(admission.enter()).unwrap().unwrap();
        let mut context = Context::from_waker(Waker::noop());
        let mut second = Box::pin(admission.enter());
        assert!(second.as_mut().poll(&mut context).is_pending());
        assert_eq!(admission.queued(), 1);
        assert!(now(admission.enter()).unwrap().is_err(), "the queue is full");
        drop(slot);
        assert!(matches!(second.as_mut().poll(&mut context), Poll::Ready(Ok(Some(_)))));
        drop(second);
        assert_eq!(admission.queued(), 0);
    }

    #[test]
    fn runs_of_an_earlier_daemon_count_until_they_end() {
        let admission = Admission::new(Some(2), 1);
        let [first, second, third] =
            [admission.add_existing(), admission.add_existing(), admission.add_existing()];
        drop(first);
        assert!(now(admission.enter()).is_none(), "two are left, which is as many as there may be");
        drop(third);
        let slot = now(admission.enter()).unwrap().unwrap();
        assert!(now(admission.enter()).is_none());
        drop((second, slot));
        let both = [now(admission.enter()).unwrap().unwrap(), now(admission.enter()).unwrap().unwrap()];
        assert!(now(admission.enter()).is_none(), "{both:?}");
    }

    #[test]
    fn a_start_that_stops_waiting_leaves_the_queue() {
        let admission = Admission::new(Some(1), 1);
        let _place = now(admission.enter()).unwrap().unwrap();
        assert!(now(admission.enter()).is_none());
        assert_eq!(admission.queued(), 0);
    }
}
