//! Signals to this process, read like any other input. Windows has none: console events, the end of a child and a
//! new size of the window are reported here under the numbers that they have elsewhere.

use super::Event;
use super::poll::{Pollable, Waitable};
use std::collections::VecDeque;
use std::io;
use std::os::windows::io::AsHandle;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use windows_sys::Win32::System::Console::{
    CTRL_BREAK_EVENT, CTRL_C_EVENT, CTRL_CLOSE_EVENT, CTRL_LOGOFF_EVENT, CTRL_SHUTDOWN_EVENT,
    SetConsoleCtrlHandler,
};
use windows_sys::Win32::System::Threading::Sleep;
use windows_sys::core::BOOL;

/// A queue of the signals that no longer have their usual effect.
#[derive(Debug)]
pub struct Signals {
    queue: Arc<Queue>,
}

#[derive(Debug)]
struct Queue {
    numbers: Vec<i32>,
    waiting: Mutex<VecDeque<i32>>,
    /// Set while a signal is queued.
    told: Event,
}

impl Signals {
    /// Queues these signals here from now on, instead of letting them act on this process.
    pub fn take(numbers: &[i32]) -> io::Result<Self> {
        let queue = Queue { numbers: numbers.to_vec(), waiting: Mutex::default(), told: Event::new(false)? };
        let queue = Arc::new(queue);
        let mut state = state();
        if !state.listens {
            // SAFETY: any thread may call the function at any time, for as long as this program runs.
            super::check(unsafe { SetConsoleCtrlHandler(Some(hear), 1) })?;
            state.listens = true;
        }
        state.queues.retain(|queue| queue.strong_count() > 0);
        state.queues.push(Arc::downgrade(&queue));
        Ok(Self { queue })
    }

    /// Returns the next queued signal, if there is one.
    pub fn next(&self) -> Option<i32> {
        let mut waiting = self.queue.waiting();
        let next = waiting.pop_front();
        if waiting.is_empty() {
            self.queue.told.reset();
        }
        next
    }
}

impl Queue {
    fn waiting(&self) -> MutexGuard<'_, VecDeque<i32>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pollable for Signals {
    fn waitable(&self) -> Waitable<'_> {
        Waitable::reading(self.queue.told.as_handle())
    }
}

/// The receivers of signals in this process.
struct State {
    queues: Vec<Weak<Queue>>,
    ignored: Vec<i32>,
    listens: bool,
}

fn state() -> MutexGuard<'static, State> {
    static STATE: Mutex<State> =
        Mutex::new(State { queues: Vec::new(), ignored: Vec::new(), listens: false });
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Queues a signal for those who have taken it, at most once until it is read; `false` if nobody has.
pub(crate) fn raise(number: i32) -> bool {
    let mut heard = false;
    for queue in state().queues.iter().filter_map(Weak::upgrade).filter(|q| q.numbers.contains(&number)) {
        heard = true;
        let mut waiting = queue.waiting();
        if !waiting.contains(&number) {
            waiting.push_back(number);
        }
        queue.told.set();
    }
    heard
}

/// Handles a console event, on a thread of the system's. Zero leaves it to the system, which ends the program.
unsafe extern "system" fn hear(what: u32) -> BOOL {
    /// The system ends the program when this returns, or after a shorter time of its own.
    const FAREWELL_MS: u32 = 30_000;
    let number = match what {
        CTRL_C_EVENT => INTERRUPT,
        CTRL_BREAK_EVENT => QUIT,
        CTRL_CLOSE_EVENT => HANG_UP,
        // Only services get these; a user's programs are just ended.
        CTRL_LOGOFF_EVENT | CTRL_SHUTDOWN_EVENT => TERMINATE,
        _ => return 0,
    };
    let heard = raise(number);
    if heard && matches!(number, HANG_UP | TERMINATE) {
        // SAFETY: no memory is passed.
        unsafe { Sleep(FAREWELL_MS) };
    }
    i32::from(heard || is_ignored(number))
}

const HANG_UP: i32 = 1;
const INTERRUPT: i32 = 2;
const QUIT: i32 = 3;
const TERMINATE: i32 = 15;

/// A child has changed its state.
pub const CHILD: i32 = 17;
/// The terminal has a new size.
pub const WINDOW: i32 = 28;
/// The signals with which people and systems ask a program to exit.
pub const LEAVE: [i32; 4] = [INTERRUPT, TERMINATE, HANG_UP, QUIT];
/// Those of them that every program in a console can send to all others in it. A keeper shares one with its run, so
/// it ignores them.
pub const FROM_THE_RUN: [i32; 2] = [INTERRUPT, QUIT];
/// The stop key was typed. It does not exist here.
pub const TYPED_STOP: i32 = 20;
/// The process continues after a stop. Never reported here.
pub const CONTINUED: i32 = 18;

/// Resets every signal to its default. The first process of a group does not get Ctrl-C, nor do its children: this
/// changes that.
pub fn reset() {
    state().ignored.clear();
    // SAFETY: no function is passed, so this is about Ctrl-C only. Without a console there is nothing to change.
    unsafe { SetConsoleCtrlHandler(None, 0) };
}

/// Does nothing: there is no stop key here.
pub fn stop_self() {}

/// Does nothing: signals end no process here, so the exit code tells of it.
pub fn die_of(_: i32) {}

/// Does nothing: the end of a child is always a signal.
pub fn hear_of_children() {}

/// Returns true if this process has chosen to ignore a signal.
pub fn is_ignored(number: i32) -> bool {
    state().ignored.contains(&number)
}

/// Ignores these signals from now on.
pub fn ignore(numbers: &[i32]) -> io::Result<()> {
    state().ignored.extend(numbers);
    Ok(())
}

/// The signals for reading or writing a terminal from the background, which does not exist here.
pub const BACKGROUND: [i32; 2] = [21, 22];
