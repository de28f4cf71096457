//! A pseudo-console. The root is started attached to it; the output of its processes comes out of one pipe, as a
//! terminal would get it.

use super::pipe::{Sink, Source, inbound, outbound};
use crate::io_result::{Got, Put};
use crate::poll::{Pollable, Waitable};
use std::io;
use std::os::windows::io::AsRawHandle;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tenure_core::spec::Size;
use windows_sys::Win32::System::Console::{
    COORD, ClosePseudoConsole, CreatePseudoConsole, HPCON, ResizePseudoConsole,
};

/// Our side of the console. The pipes are dropped first, so that closing the console never waits for a reader.
#[derive(Debug)]
pub struct Pty {
    output: Source,
    input: Sink,
    console: Arc<Console>,
}

/// The console itself; `None` once it is closed, because its handle is memory that the system frees then.
#[derive(Debug)]
pub(crate) struct Console(Mutex<Option<HPCON>>);

impl Pty {
    /// Opens a terminal of this size. No flags: a console that asks for the cursor's position would keep its
    /// programs waiting for an answer.
    pub fn open(size: Size) -> io::Result<Self> {
        let (output, shown) = inbound()?;
        let (input, typed) = outbound()?;
        let mut handle: HPCON = 0;
        let (from, to) = (typed.as_raw_handle(), shown.as_raw_handle());
        // SAFETY: both handles are open for the call, which copies them; the place is ours.
        let failed = unsafe { CreatePseudoConsole(place(size), from, to, 0, &raw mut handle) };
        if failed < 0 {
            return Err(io::Error::other(format!("no pseudo-console can be had: {failed:#x}")));
        }
        Ok(Self { output, input, console: Arc::new(Console(Mutex::new(Some(handle)))) })
    }

    /// Returns what to wait on until input is accepted.
    pub fn keyboard(&self) -> Waitable<'_> {
        self.input.waitable()
    }

    /// Returns what to wait on for output.
    pub fn shown(&self) -> Waitable<'_> {
        self.output.waitable()
    }

    /// Reads the output of the run's processes.
    pub fn read(&self, buffer: &mut [u8]) -> Got {
        self.output.read(buffer)
    }

    /// Writes as much input as is accepted now.
    pub fn write(&self, bytes: &[u8]) -> Put {
        self.input.write(bytes)
    }

    /// Resizes the terminal.
    pub fn resize(&self, size: Size) -> io::Result<()> {
        let console = self.console.open()?;
        // SAFETY: the console is open, and it is not closed as long as it is locked.
        match unsafe { ResizePseudoConsole(console.1, place(size)) } {
            failed if failed < 0 => Err(io::Error::other(format!("it cannot be resized: {failed:#x}"))),
            _ => Ok(()),
        }
    }

    /// Returns the keys that mean end of file to a program that reads lines: only at the beginning of a line, and
    /// with its end.
    pub fn end_of_input(&self, within_line: bool) -> Vec<u8> {
        if within_line { b"\r\x1a\r".to_vec() } else { b"\x1a\r".to_vec() }
    }

    /// Does nothing: a console exists until it is closed, and nobody opens it again.
    pub fn wait_for_reopening(&self) -> io::Result<()> {
        Ok(())
    }

    /// Reports that the run's processes are gone: the rest of the output can still be read, and then it ends.
    pub fn hang_up(&self) {
        self.console.hang_up();
    }

    pub(crate) fn console(&self) -> &Arc<Console> {
        &self.console
    }
}

impl Console {
    /// Returns the handle, which stays valid as long as the guard is kept.
    pub(crate) fn open(&self) -> io::Result<(MutexGuard<'_, Option<HPCON>>, HPCON)> {
        let open = self.lock();
        let handle = *open;
        let handle = handle.ok_or_else(|| io::Error::other("the terminal is closed"))?;
        Ok((open, handle))
    }

    fn lock(&self) -> MutexGuard<'_, Option<HPCON>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the console's programs that it closes, and closes it. Closing waits until the output is read, so it
    /// runs on another thread.
    pub(crate) fn hang_up(self: &Arc<Self>) {
        let console = Arc::clone(self);
        // If no thread can be started, the console is closed when it is dropped.
        let _ = std::thread::Builder::new().name("console".to_owned()).spawn(move || console.close());
    }

    fn close(&self) {
        let open = self.lock().take();
        if let Some(handle) = open {
            // SAFETY: it was opened, and nothing else has its handle any more.
            unsafe { ClosePseudoConsole(handle) };
        }
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        self.close();
    }
}

fn place(size: Size) -> COORD {
    let short = |n: u16| i16::try_from(n).unwrap_or(i16::MAX);
    COORD { X: short(size.cols), Y: short(size.rows) }
}
