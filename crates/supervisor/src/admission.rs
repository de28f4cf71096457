//! How many runs may be alive at once, and how many may wait for a place.

use crate::sync::lock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The places for runs; without a limit there is one for everybody.
#[derive(Debug)]
pub struct Admission {
    places: Option<Arc<Places>>,
    most: usize,
    most_queued: usize,
    queued: AtomicUsize,
}

#[derive(Debug)]
struct Places {
    free: Arc<Semaphore>,
    /// How many runs are alive beyond the limit: those that were there before us.
    surplus: Mutex<usize>,
}

/// A run's place, given back when it is dropped.
#[derive(Debug)]
pub struct Place {
    places: Arc<Places>,
    /// Without one, it is a place beyond the limit.
    permit: Option<OwnedSemaphorePermit>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut surplus = lock(&self.places.surplus);
        match (*surplus > 0, self.permit.take()) {
            // There is one less than before, and still as many as there may be, or more.
            (true, permit) => {
                *surplus -= 1;
                permit.into_iter().for_each(OwnedSemaphorePermit::forget);
            }
            (false, Some(permit)) => drop(permit),
            (false, None) => self.places.free.add_permits(1),
        }
    }
}

/// There is no place, and too many wait for one.
#[derive(Debug)]
pub struct Full {
    pub most: usize,
    pub queued: usize,
}

impl Admission {
    pub(crate) fn new(most: Option<u64>, most_queued: u64) -> Self {
        let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        let (most, most_queued) = (most.map(size), size(most_queued));
        let places = most
            .map(|most| Arc::new(Places { free: Arc::new(Semaphore::new(most)), surplus: Mutex::new(0) }));
        Self { places, most: most.unwrap_or(usize::MAX), most_queued, queued: AtomicUsize::new(0) }
    }

    /// Waits for a place, in the order of asking.
    pub async fn enter(&self) -> Result<Option<Place>, Full> {
        let Some(places) = &self.places else { return Ok(None) };
        if let Some(place) = Place::now(places) {
            return Ok(Some(place));
        }
        let _waiting = Waiting::begin(&self.queued, self.most_queued)
            .ok_or(Full { most: self.most, queued: self.most_queued })?;
        Ok(Some(Place::soon(places).await))
    }

    /// Whether somebody who asks now gets a place or may wait for one.
    pub fn has_room(&self) -> Result<(), Full> {
        match &self.places {
            Some(places) if places.free.available_permits() == 0 && self.queued() >= self.most_queued => {
                Err(Full { most: self.most, queued: self.most_queued })
            }
            _ => Ok(()),
        }
    }

    /// Waits for a place, however many wait: for one that was promised it, since it ended another run for it.
    pub(crate) async fn enter_as_promised(&self) -> Option<Place> {
        let places = self.places.as_ref()?;
        if let Some(place) = Place::now(places) {
            return Some(place);
        }
        let _waiting = Waiting::begin(&self.queued, usize::MAX);
        Some(Place::soon(places).await)
    }

    /// A place for a run that is alive already: it is there whether there is room or not.
    pub(crate) fn seat(&self) -> Option<Place> {
        let places = self.places.as_ref()?;
        Some(Place::now(places).unwrap_or_else(|| {
            *lock(&places.surplus) += 1;
            Place { places: Arc::clone(places), permit: None }
        }))
    }

    pub fn queued(&self) -> usize {
        self.queued.load(Ordering::Relaxed)
    }
}

impl Place {
    fn now(places: &Arc<Places>) -> Option<Self> {
        let permit = Arc::clone(&places.free).try_acquire_owned().ok()?;
        Some(Self { places: Arc::clone(places), permit: Some(permit) })
    }

    async fn soon(places: &Arc<Places>) -> Self {
        // The semaphore is never closed.
        let permit = Arc::clone(&places.free).acquire_owned().await.ok();
        Self { places: Arc::clone(places), permit }
    }
}

/// Somebody in the queue, for as long as this lives.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn begin(queued: &'a AtomicUsize, most: usize) -> Option<Self> {
        let more = |n: usize| (n < most).then_some(n + 1);
        queued.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok().map(|_| Self(queued))
    }
}

impl Drop for Waiting<'_> {
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
    fn without_a_limit_everybody_enters() {
        let admission = Admission::new(None, 0);
        assert!(now(admission.enter()).unwrap().unwrap().is_none());
    }

    #[test]
    fn who_finds_no_place_waits_and_who_finds_the_queue_full_is_refused() {
        let admission = Admission::new(Some(1), 1);
        let place = now(admission.enter()).unwrap().unwrap();
        let mut context = Context::from_waker(Waker::noop());
        let mut second = Box::pin(admission.enter());
        assert!(second.as_mut().poll(&mut context).is_pending());
        assert_eq!(admission.queued(), 1);
        assert!(now(admission.enter()).unwrap().is_err(), "the queue is full");
        drop(place);
        assert!(matches!(second.as_mut().poll(&mut context), Poll::Ready(Ok(Some(_)))));
        drop(second);
        assert_eq!(admission.queued(), 0);
    }

    #[test]
    fn runs_that_were_there_before_us_count_until_they_are_gone() {
        let admission = Admission::new(Some(2), 1);
        let [first, second, third] = [admission.seat(), admission.seat(), admission.seat()];
        drop(first);
        assert!(now(admission.enter()).is_none(), "two are left, which is as many as there may be");
        drop(third);
        let place = now(admission.enter()).unwrap().unwrap();
        assert!(now(admission.enter()).is_none());
        drop((second, place));
        let both = [now(admission.enter()).unwrap().unwrap(), now(admission.enter()).unwrap().unwrap()];
        assert!(now(admission.enter()).is_none(), "{both:?}");
    }

    #[test]
    fn one_that_gives_up_waiting_leaves_the_queue() {
        let admission = Admission::new(Some(1), 1);
        let _place = now(admission.enter()).unwrap().unwrap();
        assert!(now(admission.enter()).is_none());
        assert_eq!(admission.queued(), 0);
    }
}
