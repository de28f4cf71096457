//! Pipes whose near end never waits. Windows reads and writes on its own while we go on, so each end owns the memory that
//! this happens in until it is over.

use super::{check, number, own, wide};
use crate::flow::{Got, Put};
use crate::random;
use std::cell::RefCell;
use std::io;
use std::ops::Range;
use std::os::windows::io::{AsRawHandle, BorrowedHandle, OwnedHandle};
use std::ptr::{null, null_mut};
use windows_sys::Win32::Foundation::{
    ERROR_IO_INCOMPLETE, ERROR_IO_PENDING, GENERIC_READ, GENERIC_WRITE, WAIT_FAILED, WAIT_OBJECT_0,
    WAIT_TIMEOUT,
};
use windows_sys::Win32::Storage::FileSystem::{
    CreateFileW, FILE_FLAG_FIRST_PIPE_INSTANCE, FILE_FLAG_OVERLAPPED, OPEN_EXISTING, PIPE_ACCESS_INBOUND,
    PIPE_ACCESS_OUTBOUND, ReadFile, WriteFile,
};
use windows_sys::Win32::System::IO::{CancelIoEx, GetOverlappedResult, OVERLAPPED};
use windows_sys::Win32::System::Pipes::{CreateNamedPipeW, PIPE_REJECT_REMOTE_CLIENTS};
use windows_sys::Win32::System::Threading::{CreateEventW, WaitForMultipleObjects};

const ROOM: u32 = 64 * 1024;

/// Both ends of a pipe: ours, which never waits, and theirs, which is as any program expects it. It has a name that
/// nobody could have guessed, and takes one caller, which is us.
fn pair(ours: u32, theirs: u32) -> io::Result<(OwnedHandle, OwnedHandle)> {
    let name: String = random::bytes::<16>()?.iter().map(|byte| format!("{byte:02x}")).collect();
    let name = wide(format!("\\\\.\\pipe\\tenure-{name}"));
    let alone = super::private::Descriptor::of_this_user()?;
    let attributes = alone.attributes();
    let mode = ours | FILE_FLAG_OVERLAPPED | FILE_FLAG_FIRST_PIPE_INSTANCE;
    // SAFETY: the name ends in a zero, and the descriptor outlives the call.
    let near = own(unsafe {
        let attributes = &raw const attributes;
        CreateNamedPipeW(name.as_ptr(), mode, PIPE_REJECT_REMOTE_CLIENTS, 1, ROOM, ROOM, 0, attributes)
    })?;
    // SAFETY: the name ends in a zero; there are no attributes and no template.
    let far = own(unsafe { CreateFileW(name.as_ptr(), theirs, 0, null(), OPEN_EXISTING, 0, null_mut()) })?;
    Ok((near, far))
}

/// A pipe that the other side writes to.
pub(crate) fn inbound() -> io::Result<(Source, OwnedHandle)> {
    let (near, far) = pair(PIPE_ACCESS_INBOUND, GENERIC_WRITE)?;
    Ok((Source(RefCell::new(End::new(near)?)), far))
}

/// A pipe that the other side reads from.
pub(crate) fn outbound() -> io::Result<(Sink, OwnedHandle)> {
    let (near, far) = pair(PIPE_ACCESS_OUTBOUND, GENERIC_READ)?;
    Ok((Sink(RefCell::new(End::new(near)?)), far))
}

/// How a piece of work of the system's stands.
enum Work {
    Done(usize),
    Pending,
    Broken,
}

/// One end, and what the system is doing with it.
struct End {
    pipe: OwnedHandle,
    /// Set when the work is over, and from the beginning.
    done: OwnedHandle,
    place: Box<OVERLAPPED>,
    memory: Box<[u8]>,
    pending: bool,
    /// What of the memory was read and not yet given on.
    unread: Range<usize>,
}

impl End {
    fn new(pipe: OwnedHandle) -> io::Result<Self> {
        // SAFETY: neither attributes nor a name are passed. It is reset only by the next work, and set now.
        let done = own(unsafe { CreateEventW(null(), 1, 1, null()) })?;
        let place = Box::new(OVERLAPPED { hEvent: done.as_raw_handle(), ..Default::default() });
        let memory = vec![0; ROOM as usize].into_boxed_slice();
        Ok(Self { pipe, done, place, memory, pending: false, unread: 0..0 })
    }

    fn begin_reading(&mut self) -> Work {
        let (pipe, memory) = (self.pipe.as_raw_handle(), self.memory.as_mut_ptr());
        // SAFETY: memory and place are on the heap, and are neither moved nor freed before the work is over.
        let begun = unsafe { ReadFile(pipe, memory, ROOM, null_mut(), &raw mut *self.place) };
        self.begun(begun)
    }

    fn begin_writing(&mut self, bytes: &[u8]) -> Work {
        self.memory[..bytes.len()].copy_from_slice(bytes);
        let (pipe, memory) = (self.pipe.as_raw_handle(), self.memory.as_ptr());
        let len = u32::try_from(bytes.len()).unwrap_or(ROOM);
        // SAFETY: memory and place are on the heap, and are neither moved nor freed before the work is over.
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

    /// How far the work is that was begun.
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
        // SAFETY: the place is that of work that was begun on this pipe; the length is ours.
        check(unsafe { GetOverlappedResult(pipe, place, &raw mut len, wait) })?;
        Ok(len as usize)
    }
}

impl Drop for End {
    fn drop(&mut self) {
        if self.pending {
            // SAFETY: the place is that of work that was begun on this pipe.
            unsafe { CancelIoEx(self.pipe.as_raw_handle(), &raw const *self.place) };
            // The system is done with the memory only when it says so.
            let _ = self.result(1);
        }
    }
}

/// The end of a pipe that we read from.
pub struct Source(RefCell<End>);

impl Source {
    /// Reads what is there.
    pub fn read(&self, buffer: &mut [u8]) -> Got {
        let end = &mut *self.0.borrow_mut();
        if buffer.is_empty() {
            return Got::Nothing;
        }
        while end.unread.is_empty() {
            let work = if end.pending { end.look() } else { end.begin_reading() };
            match work {
                // Somebody wrote nothing, which is no end here.
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

    /// What to wait on: it is set while there may be something to read. Read until there is nothing first.
    pub fn waitable(&self) -> io::Result<OwnedHandle> {
        self.0.borrow().done.try_clone()
    }
}

/// The end of a pipe that we write to.
pub struct Sink(RefCell<End>);

impl Sink {
    /// Takes what fits now. What was taken is on its way: it arrives unless this is dropped before [`Sink::is_idle`].
    pub fn write(&self, bytes: &[u8]) -> Put {
        let end = &mut *self.0.borrow_mut();
        if end.pending {
            match end.look() {
                Work::Done(_) => {}
                Work::Pending => return Put::Bytes(0),
                Work::Broken => return Put::Closed,
            }
        }
        let taken = &bytes[..bytes.len().min(ROOM as usize)];
        if taken.is_empty() {
            return Put::Bytes(0);
        }
        match end.begin_writing(taken) {
            Work::Done(_) | Work::Pending => Put::Bytes(taken.len()),
            Work::Broken => Put::Closed,
        }
    }

    /// Whether everything that was taken has arrived, or never will.
    pub fn is_idle(&self) -> bool {
        let end = &mut *self.0.borrow_mut();
        !end.pending || !matches!(end.look(), Work::Pending)
    }

    /// What to wait on: it is set while something may fit.
    pub fn waitable(&self) -> io::Result<OwnedHandle> {
        self.0.borrow().done.try_clone()
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

/// Waits until one of these is set, or so many milliseconds have passed (`None`).
pub(crate) fn wait_any(handles: &[BorrowedHandle<'_>], ms: u32) -> io::Result<Option<usize>> {
    let raw: Vec<_> = handles.iter().map(AsRawHandle::as_raw_handle).collect();
    let count = u32::try_from(raw.len()).map_err(io::Error::other)?;
    // SAFETY: the handles are open for the call's length, and as many as is said.
    match unsafe { WaitForMultipleObjects(count, raw.as_ptr(), 0, ms) } {
        WAIT_TIMEOUT => Ok(None),
        WAIT_FAILED => Err(io::Error::last_os_error()),
        at => Ok(Some((at - WAIT_OBJECT_0) as usize)),
    }
}
