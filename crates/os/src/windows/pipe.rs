//! Pipes whose near end never blocks. Windows performs reads and writes while we go on, so each end owns the memory
//! of an operation until it is over.

use super::{check, number, own, wide};
use crate::io_result::{Got, Put};
use crate::poll::{Pollable, Waitable};
use crate::random;
use std::cell::RefCell;
use std::io;
use std::ops::Range;
use std::os::windows::io::{AsHandle, AsRawHandle, OwnedHandle};
use std::ptr::{null, null_mut};
use windows_sys::Win32::Foundation::{ERROR_IO_INCOMPLETE, ERROR_IO_PENDING, GENERIC_READ, GENERIC_WRITE};
use windows_sys::Win32::Storage::FileSystem::{
    CreateFileW, FILE_FLAG_FIRST_PIPE_INSTANCE, FILE_FLAG_OVERLAPPED, OPEN_EXISTING, PIPE_ACCESS_INBOUND,
    PIPE_ACCESS_OUTBOUND, ReadFile, WriteFile,
};
use windows_sys::Win32::System::IO::{CancelIoEx, GetOverlappedResult, OVERLAPPED};
use windows_sys::Win32::System::Pipes::{CreateNamedPipeW, PIPE_REJECT_REMOTE_CLIENTS};
use windows_sys::Win32::System::Threading::CreateEventW;

const PIPE_SIZE: u32 = 64 * 1024;

/// Makes both ends of a pipe: ours, which never blocks, and theirs, which is what any program expects. The pipe has
/// an unguessable name and accepts one connection, which is ours.
fn pair(ours: u32, theirs: u32) -> io::Result<(OwnedHandle, OwnedHandle)> {
    let name: String = random::bytes::<16>()?.iter().map(|byte| format!("{byte:02x}")).collect();
    let name = wide(format!("\\\\.\\pipe\\tenure-{name}"));
    let alone = super::private::Descriptor::of_this_user()?;
    let attributes = alone.attributes();
    let mode = ours | FILE_FLAG_OVERLAPPED | FILE_FLAG_FIRST_PIPE_INSTANCE;
    // SAFETY: the name ends in a zero, and the descriptor outlives the call.
    let near = own(unsafe {
        let attributes = &raw const attributes;
        CreateNamedPipeW(
            name.as_ptr(),
            mode,
            PIPE_REJECT_REMOTE_CLIENTS,
            1,
            PIPE_SIZE,
            PIPE_SIZE,
            0,
            attributes,
        )
    })?;
    // SAFETY: the name ends in a zero; there are no attributes and no template.
    let far = own(unsafe { CreateFileW(name.as_ptr(), theirs, 0, null(), OPEN_EXISTING, 0, null_mut()) })?;
    Ok((near, far))
}

/// Makes the event of an operation: set now, and reset only by the next operation.
pub(crate) fn done() -> io::Result<OwnedHandle> {
    // SAFETY: neither attributes nor a name are passed.
    own(unsafe { CreateEventW(null(), 1, 1, null()) })
}

/// Makes a pipe that the other side writes.
pub(crate) fn inbound() -> io::Result<(Source, OwnedHandle)> {
    let (near, far) = pair(PIPE_ACCESS_INBOUND, GENERIC_WRITE)?;
    let done = done()?;
    Ok((Source { end: RefCell::new(End::new(near, &done)), done }, far))
}

/// Makes a pipe that the other side reads.
pub(crate) fn outbound() -> io::Result<(Sink, OwnedHandle)> {
    let (near, far) = pair(PIPE_ACCESS_OUTBOUND, GENERIC_READ)?;
    let done = done()?;
    Ok((Sink { end: RefCell::new(End::new(near, &done)), done }, far))
}

/// The state of an operation of the system.
enum Work {
    Done(usize),
    Pending,
    Broken,
}

/// An end of a pipe, and its operation.
struct End {
    pipe: OwnedHandle,
    place: Box<OVERLAPPED>,
    memory: Box<[u8]>,
    pending: bool,
    /// The part of the memory that was read and not returned yet.
    unread: Range<usize>,
}

impl End {
    fn new(pipe: OwnedHandle, done: &OwnedHandle) -> Self {
        let place = Box::new(OVERLAPPED { hEvent: done.as_raw_handle(), ..Default::default() });
        let memory = vec![0; PIPE_SIZE as usize].into_boxed_slice();
        Self { pipe, place, memory, pending: false, unread: 0..0 }
    }

    fn begin_reading(&mut self) -> Work {
        let (pipe, memory) = (self.pipe.as_raw_handle(), self.memory.as_mut_ptr());
        // SAFETY: memory and structure are on the heap, and are neither moved nor freed before the operation is
        // over.
        let begun = unsafe { ReadFile(pipe, memory, PIPE_SIZE, null_mut(), &raw mut *self.place) };
        self.begun(begun)
    }

    fn begin_writing(&mut self, bytes: &[u8]) -> Work {
        self.memory[..bytes.len()].copy_from_slice(bytes);
        let (pipe, memory) = (self.pipe.as_raw_handle(), self.memory.as_ptr());
        let len = u32::try_from(bytes.len()).unwrap_or(PIPE_SIZE);
        // SAFETY: memory and structure are on the heap, and are neither moved nor freed before the operation is
        // over.
        let begun = unsafe { WriteFile(pipe, memory, len, null_mut(), &raw mut *self.place) };
        self.begun(begun)
    }

    fn begun(&mut self, result: i32) -> Work {
        match check(result) {
            Err(error) if number(&error) != ERROR_IO_PENDING => Work::Broken,
            _ => {
                self.pending = true;
                self.look()
            }
        }
    }

    /// Returns the state of the operation.
    fn look(&mut self) -> Work {
        match self.result(0) {
            Ok(len) => {
                self.pending = false;
                Work::Done(len)
            }
            Err(error) if number(&error) == ERROR_IO_INCOMPLETE => Work::Pending,
            Err(_) => {
                self.pending = false;
                Work::Broken
            }
        }
    }

    fn result(&mut self, wait: i32) -> io::Result<usize> {
        let mut len = 0;
        let (pipe, place) = (self.pipe.as_raw_handle(), &raw const *self.place);
        // SAFETY: the structure is that of an operation on this pipe; the length is ours.
        check(unsafe { GetOverlappedResult(pipe, place, &raw mut len, wait) })?;
        Ok(len as usize)
    }
}

impl Drop for End {
    fn drop(&mut self) {
        if self.pending {
            // SAFETY: the structure is that of an operation on this pipe.
            unsafe { CancelIoEx(self.pipe.as_raw_handle(), &raw const *self.place) };
            // The system releases the memory only when it reports the operation as over.
            let _ = self.result(1);
        }
    }
}

/// The end of a pipe that we read.
pub struct Source {
    end: RefCell<End>,
    /// Set when the operation is over, and from the start.
    done: OwnedHandle,
}

impl Source {
    /// Reads what is available.
    pub fn read(&self, buffer: &mut [u8]) -> Got {
        let end = &mut *self.end.borrow_mut();
        if buffer.is_empty() {
            return Got::Nothing;
        }
        while end.unread.is_empty() {
            let work = if end.pending { end.look() } else { end.begin_reading() };
            match work {
                // An empty write, which is not the end here.
                Work::Done(len) => end.unread = 0..len,
                Work::Pending => return Got::Nothing,
                Work::Broken => return Got::End,
            }
        }
        let len = end.unread.len().min(buffer.len());
        let from = end.unread.start;
        buffer[..len].copy_from_slice(&end.memory[from..from + len]);
        end.unread.start += len;
        Got::Bytes(len)
    }

    /// Does nothing: a pipe's capacity is fixed here.
    pub fn widen(&self, _: usize) {}
}

/// The end of a pipe that we write.
pub struct Sink {
    end: RefCell<End>,
    /// Set when the operation is over, and from the start.
    done: OwnedHandle,
}

impl Sink {
    /// Writes what fits now. A started write must be repeated with the same bytes until it is taken. So bytes
    /// reported as taken have arrived, and dropping this loses nothing.
    pub fn write(&self, bytes: &[u8]) -> Put {
        let end = &mut *self.end.borrow_mut();
        let offered = &bytes[..bytes.len().min(PIPE_SIZE as usize)];
        if offered.is_empty() {
            return Put::Bytes(0);
        }
        let work = if end.pending { end.look() } else { end.begin_writing(offered) };
        match work {
            Work::Done(taken) => Put::Bytes(taken),
            Work::Pending => Put::Bytes(0),
            Work::Broken => Put::Closed,
        }
    }
}

impl Pollable for Source {
    /// Returns the event that is set while there may be something to read. First read until there is nothing.
    fn waitable(&self) -> Waitable<'_> {
        Waitable { read: Some(self.done.as_handle()), write: None }
    }
}

impl Pollable for Sink {
    /// Returns the event that is set while something may fit.
    fn waitable(&self) -> Waitable<'_> {
        Waitable { read: None, write: Some(self.done.as_handle()) }
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Source")
    }
}

impl std::fmt::Debug for Sink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sink")
    }
}
