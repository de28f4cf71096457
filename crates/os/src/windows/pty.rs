//! A pseudo-console. The root is born attached to it; what it and those below it show comes out of one pipe, as a
//! terminal would be told it.

use super::pipe::{Sink, Source, inbound, outbound};
use crate::flow::{Got, Put};
use crate::poll::{Awaited, Waitable};
use std::io;
use std::os::windows::io::AsRawHandle;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tenure_core::spec::Size;
use windows_sys::Win32::System::Console::{
    COORD, ClosePseudoConsole, CreatePseudoConsole, HPCON, ResizePseudoConsole,
};

/// Our side of it. The pipes go first, so that the console is never closed while it waits for somebody who reads.
#[derive(Debug)]
pub struct Pty {
    output: Source,
    input: Sink,
    console: Arc<Console>,
}

/// The console itself; none once it is closed, because its handle is memory that the system gives back then.
#[derive(Debug)]
pub(crate) struct Console(Mutex<Option<HPCON>>);

impl Pty {
    /// Opens a terminal of this size. Without flags: one that asks where the cursor is would keep its programs waiting
    /// for an answer.
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

    /// What to wait on until something can be typed.
    pub fn keyboard(&self) -> Waitable<'_> {
        self.input.waitable()
    }

    /// What to wait on for output.
    pub fn shown(&self) -> Waitable<'_> {
        self.output.waitable()
    }

    /// Reads what the run's processes show.
    pub fn read(&self, buffer: &mut [u8]) -> Got {
        self.output.read(buffer)
    }

    /// Types what fits now.
    pub fn write(&self, bytes: &[u8]) -> Put {
        self.input.write(bytes)
    }

    /// Gives the terminal another size.
    pub fn resize(&self, size: Size) -> io::Result<()> {
        let console = self.console.open()?;
        // SAFETY: the console is open, and nobody closes it as long as it is locked.
        match unsafe { ResizePseudoConsole(console.1, place(size)) } {
            failed if failed < 0 => Err(io::Error::other(format!("it cannot be resized: {failed:#x}"))),
            _ => Ok(()),
        }
    }

    /// The keys that mean end-of-file to a program reading lines: only at the beginning of one, and with its end.
    pub fn end_of_input(&self, within_line: bool) -> Vec<u8> {
        if within_line { b"\r\x1a\r".to_vec() } else { b"\x1a\r".to_vec() }
    }

    /// A console is there until it is closed, so nobody opens it again.
    pub fn wait_for_reopening(&self) -> io::Result<()> {
        Ok(())
    }

    /// The run's processes are gone: what was shown is still to be read, and then the output ends.
    pub fn hang_up(&self) {
        self.console.hang_up();
    }

    pub(crate) fn console(&self) -> &Arc<Console> {
        &self.console
    }
}

impl Console {
    /// Its handle, which stays good as long as this is kept.
    pub(crate) fn open(&self) -> io::Result<(MutexGuard<'_, Option<HPCON>>, HPCON)> {
        let open = self.lock();
        let handle = *open;
        let handle = handle.ok_or_else(|| io::Error::other("the terminal is closed"))?;
        Ok((open, handle))
    }

    fn lock(&self) -> MutexGuard<'_, Option<HPCON>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells everybody in it that it goes, and closes it. This waits until somebody has read what was shown, so it is done
    /// beside us.
    pub(crate) fn hang_up(self: &Arc<Self>) {
        let console = Arc::clone(self);
        // Without a thread to be had it is closed when it is dropped.
        let _ = std::thread::Builder::new().name("console".to_owned()).spawn(move || console.close());
    }

    fn close(&self) {
        let open = self.lock().take();
        if let Some(handle) = open {
            // SAFETY: it was opened, and nobody else has its handle any more.
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
