//! An end of a duplex pipe, with non-blocking reads and writes. Nothing is read before it is asked for, because the
//! end may be handed to another process at any time: a read of zero bytes tells that there is something to read.

#[cfg(feature = "async")]
mod posted;

use super::{Event, check, number};
use crate::io_result::Got;
use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, OwnedHandle};
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::{Mutex, MutexGuard, PoisonError};
use windows_sys::Wdk::Storage::FileSystem::{
    FILE_PIPE_CONNECTED_STATE, FILE_PIPE_LOCAL_INFORMATION, FilePipeLocalInformation, NtQueryInformationFile,
};
use windows_sys::Win32::Foundation::{
    ERROR_BROKEN_PIPE, ERROR_IO_INCOMPLETE, ERROR_IO_PENDING, ERROR_NO_DATA, ERROR_OPERATION_ABORTED,
    ERROR_PIPE_NOT_CONNECTED, HANDLE,
};
use windows_sys::Win32::Storage::FileSystem::{ReadFile, WriteFile};
use windows_sys::Win32::System::IO::{CancelIoEx, GetOverlappedResult, IO_STATUS_BLOCK, OVERLAPPED};
use windows_sys::Win32::System::Pipes::PeekNamedPipe;

/// Capacity of a pipe, and maximum length of one write.
pub(crate) const PIPE_SIZE: u32 = 64 * 1024;

/// An overlapped operation of the system, and its structure.
#[derive(Debug)]
pub(crate) struct Work {
    /// Set when the operation is over, and before the first one.
    over: Event,
    place: Box<Place>,
    begun: bool,
}

struct Place(OVERLAPPED);

// SAFETY: its pointers are an event's handle and the system's own data; neither belongs to a thread.
unsafe impl Send for Place {}

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Place")
    }
}

impl Work {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self::with(Event::new(true)?))
    }

    /// Makes an operation that shares an event with others. Starting it resets the event, so a waiter must check
    /// all of them.
    pub(crate) fn telling(event: &Event) -> io::Result<Self> {
        event.share().map(Self::with)
    }

    fn with(over: Event) -> Self {
        let place = Place(OVERLAPPED { hEvent: over.for_work(), ..Default::default() });
        Self { over, place: Box::new(place), begun: false }
    }

    /// Starts the operation. `begin` gets a structure that does not move until the operation is over.
    pub(crate) fn begin(&mut self, begin: impl FnOnce(*mut OVERLAPPED) -> i32) -> io::Result<()> {
        debug_assert!(!self.begun, "one piece of work at a time");
        match check(begin(&raw mut self.place.0)) {
            Err(error) if number(&error) != ERROR_IO_PENDING => {
                // An operation that failed at once is over, and the system does not signal that.
                self.over.set();
                Err(error)
            }
            _ => {
                self.begun = true;
                Ok(())
            }
        }
    }

    pub(crate) fn is_begun(&self) -> bool {
        self.begun
    }

    /// Returns the result; `None` while it is in progress.
    pub(crate) fn look(&mut self, pipe: BorrowedHandle<'_>) -> Option<io::Result<usize>> {
        let result = self.result(pipe);
        if result.as_ref().is_err_and(|error| number(error) == ERROR_IO_INCOMPLETE) {
            return None;
        }
        self.begun = false;
        Some(result)
    }

    /// Cancels the operation and returns its result up to then.
    pub(crate) fn cancel(&mut self, pipe: BorrowedHandle<'_>) -> io::Result<usize> {
        // SAFETY: the structure is that of an operation on this pipe.
        unsafe { CancelIoEx(pipe.as_raw_handle(), &raw const self.place.0) };
        // The system releases the memory only when it reports this very operation as over: its event may be shared,
        // and set for another one.
        loop {
            if let Some(result) = self.look(pipe) {
                return result;
            }
            std::thread::yield_now();
        }
    }

    fn result(&mut self, pipe: BorrowedHandle<'_>) -> io::Result<usize> {
        let mut len = 0;
        // SAFETY: the structure is that of an operation on this pipe; the length is ours.
        check(unsafe {
            GetOverlappedResult(pipe.as_raw_handle(), &raw const self.place.0, &raw mut len, 0)
        })?;
        Ok(len as usize)
    }
}

/// An end of a pipe. Dropping it cancels its operations.
#[derive(Debug)]
pub(crate) struct End {
    pipe: OwnedHandle,
    reading: Mutex<Reading>,
    writing: Mutex<Writing>,
    /// The events of both directions, which outlive their operations.
    events: [OwnedHandle; 2],
}

#[derive(Debug)]
struct Reading {
    /// A read of zero bytes. Its event is set while there may be something to read.
    look: Work,
    /// A read of bytes that are available, which completes at once.
    take: Work,
}

#[derive(Debug)]
struct Writing {
    work: Work,
    memory: Vec<u8>,
}

impl Writing {
    fn begin(&mut self, pipe: BorrowedHandle<'_>, bytes: &[u8]) -> io::Result<usize> {
        self.memory.clear();
        self.memory.extend_from_slice(&bytes[..bytes.len().min(PIPE_SIZE as usize)]);
        let (raw, start) = (pipe.as_raw_handle(), self.memory.as_ptr());
        let len = u32::try_from(self.memory.len()).unwrap_or(PIPE_SIZE);
        // SAFETY: the memory is neither changed nor freed before the operation is over.
        self.work.begin(|place| unsafe { WriteFile(raw, start, len, null_mut(), place) })?;
        Ok(self.memory.len())
    }

    fn look(&mut self, pipe: BorrowedHandle<'_>) -> Option<io::Result<usize>> {
        let written = self.work.look(pipe)?;
        // An idle connection holds no memory.
        self.memory = Vec::new();
        Some(written)
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_end(error: &io::Error) -> bool {
    matches!(number(error), ERROR_BROKEN_PIPE | ERROR_PIPE_NOT_CONNECTED | ERROR_NO_DATA)
}

impl End {
    /// Takes an end that was made for overlapped operations.
    pub(crate) fn new(pipe: OwnedHandle) -> io::Result<Self> {
        let (look, take, work) = (Work::new()?, Work::new()?, Work::new()?);
        let copy = |work: &Work| work.over.as_handle().try_clone_to_owned();
        let events = [copy(&look)?, copy(&work)?];
        let reading = Mutex::new(Reading { look, take });
        let writing = Mutex::new(Writing { work, memory: Vec::new() });
        Ok(Self { pipe, reading, writing, events })
    }

    pub(crate) fn handle(&self) -> BorrowedHandle<'_> {
        self.pipe.as_handle()
    }

    /// Returns the number of available bytes; an error if there will be no more.
    fn available(&self) -> io::Result<usize> {
        let mut there = 0;
        let raw = self.pipe.as_raw_handle();
        // SAFETY: the count is ours; nothing else is asked for.
        check(unsafe { PeekNamedPipe(raw, null_mut(), 0, null_mut(), &raw mut there, null_mut()) })?;
        Ok(there as usize)
    }

    /// Returns true if the other side is gone. Its last bytes may still be unread.
    pub(crate) fn is_hung_up(&self) -> bool {
        let mut about = FILE_PIPE_LOCAL_INFORMATION::default();
        let mut status = IO_STATUS_BLOCK::default();
        let (raw, place) = (self.pipe.as_raw_handle(), (&raw mut about).cast());
        // SAFETY: both places are ours, of the length that is given, and written by the call, which does not block.
        let failed = unsafe {
            let len = super::length_of::<FILE_PIPE_LOCAL_INFORMATION>();
            NtQueryInformationFile(raw, &raw mut status, place, len, FilePipeLocalInformation)
        };
        failed < 0 || about.NamedPipeState != FILE_PIPE_CONNECTED_STATE
    }

    /// Reads what is available.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<Got> {
        // A single reader at a time, so that the bytes just counted are still there for the read.
        let work = &mut lock(&self.reading).take;
        let there = match self.available() {
            Ok(there) => there.min(buffer.len()),
            Err(error) if is_end(&error) => return Ok(Got::End),
            Err(error) => return Err(error),
        };
        if there == 0 {
            return Ok(Got::Nothing);
        }
        let (raw, memory) = (self.pipe.as_raw_handle(), buffer.as_mut_ptr());
        let len = u32::try_from(there).unwrap_or(u32::MAX);
        // SAFETY: the buffer has this length, and the operation is over or cancelled before this returns.
        let begun = work.begin(|place| unsafe { ReadFile(raw, memory, len, null_mut(), place) });
        // Another process that shares this end may have taken the bytes meanwhile.
        let read =
            begun.and_then(|()| work.look(self.handle()).unwrap_or_else(|| work.cancel(self.handle())));
        match read {
            Ok(0) => Ok(Got::Nothing),
            Ok(n) => Ok(Got::Bytes(n)),
            Err(error) if is_end(&error) => Ok(Got::End),
            Err(error) if number(&error) == ERROR_OPERATION_ABORTED => Ok(Got::Nothing),
            Err(error) => Err(error),
        }
    }

    /// Writes a copy of these bytes and returns how many are in the pipe: zero until the whole copy is. After a
    /// zero, call again with the same bytes in front.
    pub(crate) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let writing = &mut *lock(&self.writing);
        if !writing.work.is_begun() {
            if bytes.is_empty() {
                return Ok(0);
            }
            writing.begin(self.handle(), bytes)?;
        }
        writing.look(self.handle()).unwrap_or(Ok(0))
    }

    /// Returns the event that is set while there may be something to read, after bringing it up to date.
    pub(crate) fn readable(&self) -> BorrowedHandle<'_> {
        let look = &mut lock(&self.reading).look;
        if !look.is_begun() || look.look(self.handle()).is_some() {
            let raw: HANDLE = self.pipe.as_raw_handle();
            let nothing = without_provenance_mut(1);
            // A read that fails at once is over at once, and the next read returns the error. SAFETY: no byte is
            // read, so the address is not used; it is not null, because null would mean no buffer.
            let _ = look.begin(|place| unsafe { ReadFile(raw, nothing, 0, null_mut(), place) });
        }
        self.events[0].as_handle()
    }

    /// Returns the event that is set while nothing is being written.
    pub(crate) fn writable(&self) -> BorrowedHandle<'_> {
        self.events[1].as_handle()
    }
}

impl Drop for End {
    fn drop(&mut self) {
        let pipe = self.pipe.as_handle();
        let reading = self.reading.get_mut().unwrap_or_else(PoisonError::into_inner);
        let writing = self.writing.get_mut().unwrap_or_else(PoisonError::into_inner);
        for work in [&mut reading.look, &mut writing.work] {
            if work.is_begun() {
                // Nobody is left to take the result.
                let _ = work.cancel(pipe);
            }
        }
    }
}
