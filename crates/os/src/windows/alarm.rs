//! Wakes a task when an event is set.

use super::check;
use std::ffi::c_void;
use std::io;
use std::os::windows::io::{AsRawHandle, BorrowedHandle};
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use windows_sys::Win32::Foundation::{HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::System::Threading::{
    INFINITE, RegisterWaitForSingleObject, UnregisterWaitEx, WT_EXECUTEINWAITTHREAD, WT_EXECUTEONLYONCE,
};

/// Wakes the task that asked last, once. A woken task checks, and asks again if there was nothing.
#[derive(Debug, Default)]
pub(crate) struct Alarm(Mutex<Option<Set>>);

impl Alarm {
    /// Wakes this task once the event is set; at once if it is. The event must outlive this, and always be the
    /// same.
    pub(crate) fn set(&self, event: BorrowedHandle<'_>, task: &Context<'_>) -> io::Result<()> {
        let mut set = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(set) = &*set
            && set.bell.belongs_to(task.waker())
        {
            return Ok(());
        }
        // A bell that has rung is removed before the next is set.
        *set = None;
        *set = Some(Set::new(event, task.waker().clone())?);
        Ok(())
    }
}

/// A registered wait of the system.
#[derive(Debug)]
struct Set {
    wait: HANDLE,
    bell: Arc<Bell>,
}

// SAFETY: the wait is a number that any thread of this process may unregister.
unsafe impl Send for Set {}

#[derive(Debug)]
struct Bell(Mutex<Ring>);

#[derive(Debug)]
enum Ring {
    Waits(Waker),
    HasRung,
}

impl Bell {
    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes it wake another task; `false` if it has rung already.
    fn belongs_to(&self, waker: &Waker) -> bool {
        match &mut *self.ring() {
            Ring::Waits(before) => {
                before.clone_from(waker);
                true
            }
            Ring::HasRung => false,
        }
    }
}

impl Set {
    fn new(event: BorrowedHandle<'_>, waker: Waker) -> io::Result<Self> {
        let bell = Arc::new(Bell(Mutex::new(Ring::Waits(waker))));
        let (mut wait, raw) = (null_mut(), event.as_raw_handle());
        let theirs = Arc::into_raw(Arc::clone(&bell));
        let flags = WT_EXECUTEONLYONCE | WT_EXECUTEINWAITTHREAD;
        // SAFETY: the place is ours; the event outlives the wait, as required above; the callback gets a share of
        // the bell, and runs at most once.
        let registered = check(unsafe {
            RegisterWaitForSingleObject(&raw mut wait, raw, Some(ring), theirs.cast(), INFINITE, flags)
        });
        if let Err(error) = registered {
            // SAFETY: the callback will not run, so the share is still ours.
            drop(unsafe { Arc::from_raw(theirs) });
            return Err(error);
        }
        Ok(Self { wait, bell })
    }
}

unsafe extern "system" fn ring(bell: *mut c_void, _: bool) {
    // SAFETY: the share was made for this one call.
    let bell = unsafe { Arc::from_raw(bell.cast_const().cast::<Bell>()) };
    let ring = std::mem::replace(&mut *bell.ring(), Ring::HasRung);
    if let Ring::Waits(waker) = ring {
        waker.wake();
    }
}

impl Drop for Set {
    fn drop(&mut self) {
        let has_rung = |bell: &Bell| matches!(*bell.ring(), Ring::HasRung);
        if has_rung(&self.bell) {
            // This may run inside the callback, by way of the woken task, so the callback is not waited for.
            // SAFETY: the wait was registered, and is unregistered once.
            unsafe { UnregisterWaitEx(self.wait, null_mut()) };
            return;
        }
        // SAFETY: as above. A callback that starts right now is waited for; it runs on another thread.
        unsafe { UnregisterWaitEx(self.wait, INVALID_HANDLE_VALUE) };
        if !has_rung(&self.bell) {
            // SAFETY: the callback did not and will not run, so the share is ours again.
            drop(unsafe { Arc::from_raw(Arc::as_ptr(&self.bell)) });
        }
    }
}
