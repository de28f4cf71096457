//! A pseudo-console. The root is born attached to it; what it and those below it show comes out of one pipe, as a
//! terminal would be told it.

use super::pipe::{Sink, Source, inbound, outbound};
use crate::flow::{Got, Put};
use std::io;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use tenure_core::spec::Size;
use windows_sys::Win32::System::Console::{
    COORD, ClosePseudoConsole, CreatePseudoConsole, HPCON, ResizePseudoConsole,
};

/// Our side of it.
#[derive(Debug)]
pub struct Pty {
    console: HPCON,
    output: Source,
    input: Sink,
}

impl Pty {
    /// Opens a terminal of this size. Without flags: one that asks where the cursor is would keep its programs waiting
    /// for an answer.
    pub fn open(size: Size) -> io::Result<Self> {
        let (output, shown) = inbound()?;
        let (input, typed) = outbound()?;
        let mut console: HPCON = 0;
        let (from, to) = (typed.as_raw_handle(), shown.as_raw_handle());
        // SAFETY: both handles are open for the call, which copies them; the place is ours.
        let failed = unsafe { CreatePseudoConsole(place(size), from, to, 0, &raw mut console) };
        if failed < 0 {
            return Err(io::Error::other(format!("no pseudo-console can be had: {failed:#x}")));
        }
        Ok(Self { console, output, input })
    }

    /// Reads what the run's processes show.
    pub fn read(&self, buffer: &mut [u8]) -> Got {
        self.output.read(buffer)
    }

    /// Types what fits now.
    pub fn write(&self, bytes: &[u8]) -> Put {
        self.input.write(bytes)
    }

    /// What to wait on for output.
    pub fn waitable(&self) -> io::Result<OwnedHandle> {
        self.output.waitable()
    }

    /// Gives the terminal another size.
    pub fn resize(&self, size: Size) -> io::Result<()> {
        // SAFETY: the console is open.
        match unsafe { ResizePseudoConsole(self.console, place(size)) } {
            failed if failed < 0 => Err(io::Error::other(format!("it cannot be resized: {failed:#x}"))),
            _ => Ok(()),
        }
    }

    pub(crate) fn console(&self) -> HPCON {
        self.console
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        // SAFETY: it was opened, and nobody uses it any more.
        unsafe { ClosePseudoConsole(self.console) };
    }
}

fn place(size: Size) -> COORD {
    let short = |n: u16| i16::try_from(n).unwrap_or(i16::MAX);
    COORD { X: short(size.cols), Y: short(size.rows) }
}
