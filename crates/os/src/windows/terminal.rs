//! The terminal that a person sits at, and the other things that standard input, output and error can be.

use super::typed::{self, TYPED};
use super::{check, own, shown, wide};
use crate::poll::{Interest, Waitable};
use std::fs::File;
use std::io::{self, Write};
use std::mem::ManuallyDrop;
use std::os::windows::io::{AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle};
use std::ptr::{null, null_mut};
use std::sync::Once;
use tenure_core::spec::Size;
use windows_sys::Win32::Foundation::{GENERIC_READ, GENERIC_WRITE, HANDLE};
use windows_sys::Win32::Storage::FileSystem::{
    CreateFileW, FILE_SHARE_READ, FILE_SHARE_WRITE, OPEN_EXISTING,
};
use windows_sys::Win32::System::Console::{
    CONSOLE_MODE, CONSOLE_SCREEN_BUFFER_INFO, DISABLE_NEWLINE_AUTO_RETURN, ENABLE_ECHO_INPUT,
    ENABLE_LINE_INPUT, ENABLE_MOUSE_INPUT, ENABLE_PROCESSED_INPUT, ENABLE_PROCESSED_OUTPUT,
    ENABLE_VIRTUAL_TERMINAL_INPUT, ENABLE_VIRTUAL_TERMINAL_PROCESSING, ENABLE_WINDOW_INPUT,
    FlushConsoleInputBuffer, GetConsoleMode, GetConsoleScreenBufferInfo, GetStdHandle, STD_ERROR_HANDLE,
    STD_HANDLE, STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, SetConsoleMode,
};

/// One of the three that every process has. It can be waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standard(Which);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    Input,
    Output,
    Error,
}

/// Standard input.
pub fn stdin() -> Standard {
    Standard(Which::Input)
}

/// Gives up standard input after it was passed. Here it never is.
pub fn release_stdin() -> io::Result<()> {
    Ok(())
}

/// Standard output. A console understands escape sequences from its first use on.
pub fn stdout() -> Standard {
    static ONCE: Once = Once::new();
    let stdout = Standard(Which::Output);
    ONCE.call_once(|| stdout.understand());
    stdout
}

/// Standard error. A console understands escape sequences from its first use on.
pub fn stderr() -> Standard {
    static ONCE: Once = Once::new();
    let stderr = Standard(Which::Error);
    ONCE.call_once(|| stderr.understand());
    stderr
}

impl Standard {
    /// Until it can be read. Standard input may be a console, a pipe or a file, of which not all can be waited for: so
    /// another thread reads it, and no more than this asks for.
    pub fn reading(self) -> Interest<'static> {
        Interest { on: Waitable::reading(TYPED.wanted()), read: true, write: false }
    }

    /// Whether this is a terminal.
    pub fn is_terminal(self) -> bool {
        mode(self.raw()).is_some()
    }

    /// Whether it can be passed to another process and read there. Here it is copied.
    pub fn is_passable(self) -> bool {
        false
    }

    /// The terminal's size; `None` where there is none or it has none.
    pub fn size(self) -> Option<Size> {
        if self.0 != Which::Input {
            return size_of(self.raw());
        }
        // What is typed comes from a console that has a screen as well.
        let screen = self.is_terminal().then(screen)?.ok()?;
        size_of(screen.as_raw_handle())
    }

    /// Whether this process may read from the terminal without being stopped for it: nobody is stopped here.
    pub fn in_foreground(self) -> bool {
        self.is_terminal()
    }

    /// Forgets what was typed and not read.
    pub fn forget_typed(self) {
        // SAFETY: no memory is passed. What is no console has nothing to forget.
        unsafe { FlushConsoleInputBuffer(self.raw()) };
    }

    /// Reads once, unbuffered.
    pub fn read(self, buffer: &mut [u8]) -> io::Result<usize> {
        TYPED.read(buffer)
    }

    /// Writes everything, unbuffered, waiting for the reader as long as that takes.
    pub fn write_all(self, bytes: &[u8]) -> io::Result<()> {
        let raw = self.raw();
        if raw.is_null() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "there is no standard output"));
        }
        if self.is_terminal() {
            return shown::show(raw, self.0 == Which::Error, bytes);
        }
        // SAFETY: the handle is this process's for as long as it lives, and is not closed by this.
        let mut file = ManuallyDrop::new(unsafe { File::from_raw_handle(raw) });
        file.write_all(bytes)
    }

    fn raw(self) -> HANDLE {
        let place: STD_HANDLE = match self.0 {
            Which::Input => STD_INPUT_HANDLE,
            Which::Output => STD_OUTPUT_HANDLE,
            Which::Error => STD_ERROR_HANDLE,
        };
        // SAFETY: no memory is passed.
        unsafe { GetStdHandle(place) }
    }

    fn understand(self) {
        let raw = self.raw();
        if let Some(before) = mode(raw) {
            // One that cannot shows the sequences; there is nothing else to be done.
            let _ = set_mode(raw, before | ENABLE_PROCESSED_OUTPUT | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
        }
    }
}

/// How a console is set; `None` of what is none.
pub(crate) fn mode(raw: HANDLE) -> Option<CONSOLE_MODE> {
    let mut mode = 0;
    // SAFETY: the place is ours; what is no console is refused.
    (unsafe { GetConsoleMode(raw, &raw mut mode) } != 0).then_some(mode)
}

fn set_mode(raw: HANDLE, mode: CONSOLE_MODE) -> io::Result<()> {
    // SAFETY: no memory is passed; what is no console is refused.
    check(unsafe { SetConsoleMode(raw, mode) })
}

/// The screen of this process's console.
fn screen() -> io::Result<OwnedHandle> {
    console("CONOUT$")
}

fn console(name: &str) -> io::Result<OwnedHandle> {
    let (name, access) = (wide(name), GENERIC_READ | GENERIC_WRITE);
    let share = FILE_SHARE_READ | FILE_SHARE_WRITE;
    // SAFETY: the name ends in a zero; there are no attributes and no template.
    own(unsafe { CreateFileW(name.as_ptr(), access, share, null(), OPEN_EXISTING, 0, null_mut()) })
}

/// The part of the screen that is seen.
fn size_of(screen: HANDLE) -> Option<Size> {
    let mut about = CONSOLE_SCREEN_BUFFER_INFO::default();
    // SAFETY: the structure is ours, and written by the call.
    check(unsafe { GetConsoleScreenBufferInfo(screen, &raw mut about) }).ok()?;
    let seen = about.srWindow;
    let length = |from: i16, to: i16| u16::try_from(i32::from(to) - i32::from(from) + 1).ok();
    Size::new(length(seen.Left, seen.Right)?, length(seen.Top, seen.Bottom)?).ok()
}

/// A terminal in raw mode; it is put back when this is dropped.
#[derive(Debug)]
pub struct Raw {
    terminal: Standard,
    before: CONSOLE_MODE,
    /// The same of the screen, if that is where the output goes.
    screen: Option<CONSOLE_MODE>,
}

impl Raw {
    /// Every key goes through as it is, the terminal's own signals included. Keys without a character come as the
    /// sequences that other terminals send, and a new size of the window is a signal.
    pub fn enter(terminal: Standard) -> io::Result<Self> {
        let raw = terminal.raw();
        let before = mode(raw).ok_or_else(|| io::Error::other("this is no console"))?;
        let cooked = ENABLE_LINE_INPUT | ENABLE_ECHO_INPUT | ENABLE_PROCESSED_INPUT | ENABLE_MOUSE_INPUT;
        let bare = before & !cooked | ENABLE_WINDOW_INPUT;
        // Older consoles have no such sequences; letters can be typed there.
        set_mode(raw, bare | ENABLE_VIRTUAL_TERMINAL_INPUT).or_else(|_| set_mode(raw, bare))?;
        let stdout = stdout().raw();
        let screen = mode(stdout);
        if let Some(before) = screen {
            let _ = set_mode(stdout, before | DISABLE_NEWLINE_AUTO_RETURN);
        }
        typed::set_raw(true);
        Ok(Self { terminal, before, screen })
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        typed::set_raw(false);
        // A terminal that is gone needs no putting back.
        let _ = set_mode(self.terminal.raw(), self.before);
        if let Some(before) = self.screen {
            let _ = set_mode(stdout().raw(), before);
        }
    }
}

/// What standard input is, if it is anything.
pub(crate) fn input() -> Option<BorrowedHandle<'static>> {
    let raw = stdin().raw();
    // SAFETY: it is this process's for as long as that lives.
    (!raw.is_null()).then(|| unsafe { BorrowedHandle::borrow_raw(raw) })
}

/// Puts the console in the places of standard input and output: Wine puts nothing there.
#[cfg(test)]
pub(crate) fn use_console() -> io::Result<()> {
    use std::os::windows::io::IntoRawHandle;
    use windows_sys::Win32::System::Console::SetStdHandle;
    for (place, name) in [(STD_INPUT_HANDLE, "CONIN$"), (STD_OUTPUT_HANDLE, "CONOUT$")] {
        // SAFETY: the handle is open, and stays so.
        check(unsafe { SetStdHandle(place, console(name)?.into_raw_handle()) })?;
    }
    Ok(())
}
