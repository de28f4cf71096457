//! The terminal of a person, and the other things that standard input, output and error can be.

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

/// A standard stream of this process. It can be waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standard(Which);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    Input,
    Output,
    Error,
}

/// Returns standard input.
pub fn stdin() -> Standard {
    Standard(Which::Input)
}

/// Does nothing: standard input is never passed here.
pub fn release_stdin() -> io::Result<()> {
    Ok(())
}

/// Returns standard output. From its first use on, a console interprets escape sequences.
pub fn stdout() -> Standard {
    static ONCE: Once = Once::new();
    let stdout = Standard(Which::Output);
    ONCE.call_once(|| stdout.understand());
    stdout
}

/// Returns standard error. From its first use on, a console interprets escape sequences.
pub fn stderr() -> Standard {
    static ONCE: Once = Once::new();
    let stderr = Standard(Which::Error);
    ONCE.call_once(|| stderr.understand());
    stderr
}

impl Standard {
    /// Waits until it is readable. Standard input may be a console, a pipe or a file, and not all of these can be
    /// waited for. So another thread reads it, and no more than this asks for.
    pub fn reading(self) -> Interest<'static> {
        Interest { on: Waitable::reading(TYPED.wanted()), read: true, write: false }
    }

    /// Returns true for a terminal.
    pub fn is_terminal(self) -> bool {
        mode(self.raw()).is_some()
    }

    /// Returns false: standard input is copied here, not passed.
    pub fn is_passable(self) -> bool {
        false
    }

    /// Returns the terminal's size; `None` if it is no terminal, or has no size.
    pub fn size(self) -> Option<Size> {
        if self.0 != Which::Input {
            return size_of(self.raw());
        }
        // A console input belongs to a console that also has a screen.
        let screen = self.is_terminal().then(screen)?.ok()?;
        size_of(screen.as_raw_handle())
    }

    /// Returns true if this process may read from the terminal without being stopped for it: always, here.
    pub fn in_foreground(self) -> bool {
        self.is_terminal()
    }

    /// Discards typed input that was not read.
    pub fn forget_typed(self) {
        // SAFETY: no memory is passed. For other handles the call just fails.
        unsafe { FlushConsoleInputBuffer(self.raw()) };
    }

    /// Reads once, unbuffered.
    pub fn read(self, buffer: &mut [u8]) -> io::Result<usize> {
        TYPED.read(buffer)
    }

    /// Writes everything, unbuffered, however long the reader takes.
    pub fn write_all(self, bytes: &[u8]) -> io::Result<()> {
        let raw = self.raw();
        if raw.is_null() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "there is no standard output"));
        }
        if self.is_terminal() {
            return shown::show(raw, self.0 == Which::Error, bytes);
        }
        // SAFETY: the handle stays open as long as this process lives, and is not closed by this.
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
            // A console that cannot interpret sequences shows them; that cannot be helped.
            let _ = set_mode(raw, before | ENABLE_PROCESSED_OUTPUT | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
        }
    }
}

/// Returns the mode of a console; `None` for other handles.
pub(crate) fn mode(raw: HANDLE) -> Option<CONSOLE_MODE> {
    let mut mode = 0;
    // SAFETY: the place is ours; other handles are refused.
    (unsafe { GetConsoleMode(raw, &raw mut mode) } != 0).then_some(mode)
}

fn set_mode(raw: HANDLE, mode: CONSOLE_MODE) -> io::Result<()> {
    // SAFETY: no memory is passed; other handles are refused.
    check(unsafe { SetConsoleMode(raw, mode) })
}

/// Opens the screen of this process's console.
fn screen() -> io::Result<OwnedHandle> {
    console("CONOUT$")
}

fn console(name: &str) -> io::Result<OwnedHandle> {
    let (name, access) = (wide(name), GENERIC_READ | GENERIC_WRITE);
    let share = FILE_SHARE_READ | FILE_SHARE_WRITE;
    // SAFETY: the name ends in a zero; there are no attributes and no template.
    own(unsafe { CreateFileW(name.as_ptr(), access, share, null(), OPEN_EXISTING, 0, null_mut()) })
}

/// Returns the size of the visible part of the screen.
fn size_of(screen: HANDLE) -> Option<Size> {
    let mut about = CONSOLE_SCREEN_BUFFER_INFO::default();
    // SAFETY: the structure is ours, and written by the call.
    check(unsafe { GetConsoleScreenBufferInfo(screen, &raw mut about) }).ok()?;
    let seen = about.srWindow;
    let length = |from: i16, to: i16| u16::try_from(i32::from(to) - i32::from(from) + 1).ok();
    Size::new(length(seen.Left, seen.Right)?, length(seen.Top, seen.Bottom)?).ok()
}

/// A terminal in raw mode; dropping this restores its mode.
#[derive(Debug)]
pub struct Raw {
    terminal: Standard,
    before: CONSOLE_MODE,
    /// The mode of the screen, if the output goes there.
    screen: Option<CONSOLE_MODE>,
}

impl Raw {
    /// Passes every key through unchanged, including those that would send a signal. Keys without a character come
    /// as the sequences of other terminals, and a new size of the window is a signal.
    pub fn enter(terminal: Standard) -> io::Result<Self> {
        let raw = terminal.raw();
        let before = mode(raw).ok_or_else(|| io::Error::other("this is no console"))?;
        let cooked = ENABLE_LINE_INPUT | ENABLE_ECHO_INPUT | ENABLE_PROCESSED_INPUT | ENABLE_MOUSE_INPUT;
        let bare = before & !cooked | ENABLE_WINDOW_INPUT;
        // Older consoles have no such sequences; letters can still be typed there.
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
        // A terminal that is gone needs no restoring.
        let _ = set_mode(self.terminal.raw(), self.before);
        if let Some(before) = self.screen {
            let _ = set_mode(stdout().raw(), before);
        }
    }
}

/// Returns standard input, if there is one.
pub(crate) fn input() -> Option<BorrowedHandle<'static>> {
    let raw = stdin().raw();
    // SAFETY: it stays open as long as this process lives.
    (!raw.is_null()).then(|| unsafe { BorrowedHandle::borrow_raw(raw) })
}

/// Sets the console as standard input and output, which Wine does not.
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
