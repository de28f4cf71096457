//! Standard input, read by a thread of its own, because a console, a pipe and a file have no common way to be
//! waited for. The thread reads once per request, so nothing is taken before it is asked for.

use super::{Event, check, number, signals, terminal};
use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use windows_sys::Win32::Foundation::{
    ERROR_BROKEN_PIPE, ERROR_OPERATION_ABORTED, GetLastError, SetLastError,
};
use windows_sys::Win32::Storage::FileSystem::{FILE_TYPE_PIPE, GetFileType, ReadFile};
use windows_sys::Win32::System::Console::{
    INPUT_RECORD, KEY_EVENT, KEY_EVENT_RECORD, LEFT_CTRL_PRESSED, RIGHT_CTRL_PRESSED, ReadConsoleInputW,
    ReadConsoleW, WINDOW_BUFFER_SIZE_EVENT,
};
use windows_sys::Win32::System::Threading::{INFINITE, WaitForSingleObject};
use windows_sys::Win32::UI::Input::KeyboardAndMouse::{VK_MENU, VK_SPACE};

/// Maximum number of bytes per read.
const READ_SIZE: usize = 4096;

/// The bytes of standard input.
pub(crate) static TYPED: LazyLock<Typed> = LazyLock::new(Typed::new);

static RAW: AtomicBool = AtomicBool::new(false);

/// Switches raw mode, in which each key comes as it is typed.
pub(crate) fn set_raw(raw: bool) {
    RAW.store(raw, Ordering::SeqCst);
}

pub(crate) struct Typed {
    state: Mutex<State>,
    /// Notified when input is wanted or has come.
    turn: Condvar,
    /// Set while something can be read.
    there: Event,
}

#[derive(Default)]
struct State {
    begun: bool,
    wanted: bool,
    bytes: Vec<u8>,
    /// The reason why nothing more comes.
    over: Option<Over>,
}

enum Over {
    /// The input has ended.
    End,
    /// The read failed; the error is returned once.
    Failed(io::Error),
}

impl State {
    fn is_there(&self) -> bool {
        !self.bytes.is_empty() || self.over.is_some()
    }
}

impl Typed {
    fn new() -> Self {
        let there = Event::new(false).expect("an event costs nothing");
        Self { state: Mutex::default(), turn: Condvar::new(), there }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a read if nothing is available; the returned event is set once there is.
    pub(crate) fn wanted(&'static self) -> BorrowedHandle<'static> {
        self.want(&mut self.state());
        self.there.as_handle()
    }

    fn want(&'static self, state: &mut State) {
        if state.is_there() || state.wanted {
            return;
        }
        state.wanted = true;
        if !state.begun {
            let thread = std::thread::Builder::new().name("typed".to_owned()).spawn(|| self.serve());
            state.begun = thread.is_ok();
            if let Err(error) = thread {
                state.over = Some(Over::Failed(error));
                self.there.set();
            }
        }
        self.turn.notify_all();
    }

    /// Returns bytes that were read, or waits for the next; zero is the end.
    pub(crate) fn read(&'static self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = self.state();
        self.want(&mut state);
        while !state.is_there() {
            state = self.turn.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let len = state.bytes.len().min(buffer.len());
        buffer[..len].copy_from_slice(&state.bytes[..len]);
        state.bytes.drain(..len);
        if !state.is_there() {
            self.there.reset();
        }
        if len == 0 && !buffer.is_empty() && state.over.is_some() {
            return match state.over.replace(Over::End) {
                Some(Over::Failed(error)) => Err(error),
                Some(Over::End) | None => Ok(0),
            };
        }
        Ok(len)
    }

    fn serve(&'static self) {
        let mut keys = Keys::default();
        let mut state = self.state();
        loop {
            while !state.wanted {
                state = self.turn.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            drop(state);
            let read = keys.read();
            state = self.state();
            state.wanted = false;
            match read {
                Ok(bytes) if !bytes.is_empty() => state.bytes = bytes,
                Ok(_) => state.over = Some(Over::End),
                Err(error) => state.over = Some(Over::Failed(error)),
            }
            self.there.set();
            self.turn.notify_all();
            if state.over.is_some() {
                return;
            }
        }
    }
}

/// The state between a console and its bytes.
#[derive(Default)]
struct Keys {
    /// The first half of a character that comes in two units.
    half: Option<u16>,
}

impl Keys {
    /// Waits for input; nothing is the end.
    fn read(&mut self) -> io::Result<Vec<u8>> {
        let Some(input) = terminal::input() else { return Ok(Vec::new()) };
        if terminal::mode(input.as_raw_handle()).is_none() {
            return read_file(input);
        }
        loop {
            // Only when something is typed is it known whether it must come as keys or as a line. SAFETY: the
            // handle is open for the call's length.
            unsafe { WaitForSingleObject(input.as_raw_handle(), INFINITE) };
            if !RAW.load(Ordering::SeqCst) {
                return self.read_line(input);
            }
            let bytes = self.read_keys(input)?;
            if !bytes.is_empty() {
                return Ok(bytes);
            }
        }
    }

    /// Reads the keys of a console in raw mode, and reports its new sizes on the way.
    fn read_keys(&mut self, input: BorrowedHandle<'_>) -> io::Result<Vec<u8>> {
        let (mut records, mut count) = ([INPUT_RECORD::default(); 128], 0);
        let (raw, room) = (input.as_raw_handle(), u32::try_from(records.len()).unwrap_or(0));
        // SAFETY: the records are ours, as many as is said, and written by the call.
        check(unsafe { ReadConsoleInputW(raw, records.as_mut_ptr(), room, &raw mut count) })?;
        let mut units = Vec::new();
        for record in &records[..(count as usize).min(records.len())] {
            match u32::from(record.EventType) {
                // SAFETY: the kind says which event it is.
                KEY_EVENT => units.extend(unit_of(unsafe { &record.Event.KeyEvent })),
                WINDOW_BUFFER_SIZE_EVENT => {
                    signals::raise(signals::WINDOW);
                }
                _ => {}
            }
        }
        Ok(self.text(units).into_bytes())
    }

    /// Reads a line; the key for the end, at its beginning, ends the input.
    fn read_line(&mut self, input: BorrowedHandle<'_>) -> io::Result<Vec<u8>> {
        const END_KEY: u16 = 0x1a;
        let (mut units, mut count) = (vec![0_u16; READ_SIZE], 0);
        let (raw, room) = (input.as_raw_handle(), u32::try_from(READ_SIZE).unwrap_or(0));
        loop {
            // SAFETY: the units are ours, as many as is said, and written by the call. The last error, read at
            // once, tells if an interrupt ended it.
            let (read, why) = unsafe {
                SetLastError(0);
                let read = ReadConsoleW(raw, units.as_mut_ptr().cast(), room, &raw mut count, null());
                (read, GetLastError())
            };
            check(read)?;
            if count > 0 || why != ERROR_OPERATION_ABORTED {
                break;
            }
        }
        units.truncate(count as usize);
        if units.first() == Some(&END_KEY) {
            return Ok(Vec::new());
        }
        Ok(self.text(units).into_bytes())
    }

    fn text(&mut self, units: Vec<u16>) -> String {
        let mut all: Vec<u16> = self.half.take().into_iter().chain(units).collect();
        self.half = all.pop_if(|last| (0xd800..0xdc00).contains(last));
        String::from_utf16_lossy(&all)
    }
}

/// Returns the units of a key, as often as it is repeated.
fn unit_of(key: &KEY_EVENT_RECORD) -> Vec<u16> {
    // SAFETY: both readings of a character are numbers.
    let unit = unsafe { key.uChar.UnicodeChar };
    let down = key.bKeyDown != 0;
    let ctrl = key.dwControlKeyState & (LEFT_CTRL_PRESSED | RIGHT_CTRL_PRESSED) != 0;
    // A character typed by its number comes when the Alt key is released.
    let by_number = !down && key.wVirtualKeyCode == VK_MENU && unit != 0;
    let zero = down && unit == 0 && ctrl && key.wVirtualKeyCode == VK_SPACE;
    let says = (down && unit != 0) || by_number || zero;
    vec![unit; if says { usize::from(key.wRepeatCount.max(1)) } else { 0 }]
}

/// Reads a pipe or a file. An empty write into a pipe is not the end.
fn read_file(input: BorrowedHandle<'_>) -> io::Result<Vec<u8>> {
    let raw = input.as_raw_handle();
    // SAFETY: no memory is passed.
    let is_pipe = unsafe { GetFileType(raw) } == FILE_TYPE_PIPE;
    let (mut bytes, room) = (vec![0; READ_SIZE], u32::try_from(READ_SIZE).unwrap_or(0));
    loop {
        let mut len = 0;
        // SAFETY: the bytes are ours, as many as is said, and the call is done with them when it returns.
        match check(unsafe { ReadFile(raw, bytes.as_mut_ptr(), room, &raw mut len, null_mut()) }) {
            Ok(()) if len == 0 && is_pipe => {}
            Ok(()) => {
                bytes.truncate(len as usize);
                return Ok(bytes);
            }
            Err(error) if number(&error) == ERROR_BROKEN_PIPE => return Ok(Vec::new()),
            Err(error) => return Err(error),
        }
    }
}
