//! Local sockets, between processes of one user on one machine. An address is a name in a directory: the file of
//! that name contains the pipe's name, which nobody can guess. So the users who may write to the directory decide
//! who listens there.

pub use super::passing::Passing;
use super::poll::{Pollable, Waitable};
use super::stdio::PassedInput;
use super::terminal::Standard;
use super::{End, PIPE_SIZE, Work, check, number, own, private, wide};
use crate::file::Dir;
pub use crate::io_result::Got;
use crate::{clock, process, random, system};
use std::fmt;
use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, OwnedHandle};
use std::ptr::{null, null_mut};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use windows_sys::Win32::Foundation::{
    ERROR_FILE_NOT_FOUND, ERROR_NO_DATA, ERROR_PIPE_BUSY, ERROR_PIPE_CONNECTED, GENERIC_READ, GENERIC_WRITE,
};
use windows_sys::Win32::Storage::FileSystem::{
    CreateFileW, FILE_FLAG_FIRST_PIPE_INSTANCE, FILE_FLAG_OVERLAPPED, OPEN_EXISTING, PIPE_ACCESS_DUPLEX,
    SECURITY_IDENTIFICATION, SECURITY_SQOS_PRESENT,
};
use windows_sys::Win32::System::Pipes::{
    ConnectNamedPipe, CreateNamedPipeW, GetNamedPipeClientProcessId, GetNamedPipeInfo,
    GetNamedPipeServerProcessId, PIPE_REJECT_REMOTE_CLIENTS, PIPE_SERVER_END, PIPE_UNLIMITED_INSTANCES,
    WaitNamedPipeW,
};

/// The prefix of the names of our pipes.
const PIPE_PREFIX: &str = "\\\\.\\pipe\\tenure-";

/// Maximum number of connections that wait to be accepted.
const BACKLOG: usize = 8;

/// Time that a client waits for a place among them.
const PATIENCE: Duration = Duration::from_millis(200);

/// An end of a connection. Reads and writes never block.
#[derive(Debug)]
pub struct Conn {
    pub(crate) end: End,
}

impl Conn {
    /// Makes two connected ends.
    pub fn pair() -> io::Result<(Self, Self)> {
        let name = new_name()?;
        let near = instance(&name, true, PIPE_SIZE)?;
        let far = open(&name, FILE_FLAG_OVERLAPPED)?;
        Ok((Self::from_handle(near)?, Self::from_handle(far)?))
    }

    /// Connects to the socket `name` in `dir`. This hardly blocks: a listener with a full queue is an error of the
    /// kind `WouldBlock`.
    pub fn connect(dir: &Dir, name: &str) -> io::Result<Self> {
        let address = dir.read(name)?.ok_or(io::ErrorKind::NotFound)?;
        let pipe = String::from_utf8(address).ok().filter(|pipe| pipe.starts_with(PIPE_PREFIX));
        let pipe = pipe.ok_or_else(|| io::Error::other(format!("{name} is no socket of Tenure's")))?;
        let until = clock::awake() + PATIENCE;
        let opened = loop {
            match open(&pipe, FILE_FLAG_OVERLAPPED) {
                Err(error) if number(&error) == ERROR_PIPE_BUSY => {}
                other => break other,
            }
            if clock::awake() >= until {
                let why = format!("{name} does not answer: too many callers wait there already");
                return Err(io::Error::new(io::ErrorKind::WouldBlock, why));
            }
            let text = wide(&pipe);
            // SAFETY: the name ends in a zero. The result does not matter, because the loop tries again.
            unsafe { WaitNamedPipeW(text.as_ptr(), 20) };
        };
        let opened = opened.map_err(|error| match number(&error) {
            ERROR_FILE_NOT_FOUND => io::Error::new(io::ErrorKind::ConnectionRefused, error),
            _ => error,
        })?;
        let owner = private::owner_of(opened.as_handle())?;
        if !private::is_trusted(&owner)? {
            let why = format!("another user listens at {name}: {owner}");
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        Self::from_handle(opened)
    }

    /// Returns the connection's handle.
    pub fn into_handle(self) -> io::Result<OwnedHandle> {
        // The operations of the old handle end with it.
        self.as_handle().try_clone_to_owned()
    }

    /// Takes a connection that was inherited or received.
    pub fn from_handle(handle: OwnedHandle) -> io::Result<Self> {
        Ok(Self { end: End::new(handle)? })
    }

    /// Reads what is available, up to the buffer's length.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Got> {
        self.end.read(buffer)
    }

    /// Writes what fits now; zero is "nothing fits": then call again with the same bytes in front. Bytes reported
    /// as written have arrived. A closed reader is an error.
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.end.write(bytes)
    }

    /// Fails: standard input is copied here, not passed ([`Standard::is_passable`]).
    pub fn write_with_input(&self, _: &[u8], _: Standard) -> io::Result<usize> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "standard input cannot be passed on this system"))
    }

    /// Reads what is available. No input is passed along here.
    pub fn read_with_input(&self, buffer: &mut [u8]) -> io::Result<(Got, Option<PassedInput>)> {
        self.read(buffer).map(|got| (got, None))
    }
}

impl AsHandle for Conn {
    fn as_handle(&self) -> BorrowedHandle<'_> {
        self.end.handle()
    }
}

impl Pollable for Conn {
    fn waitable(&self) -> Waitable<'_> {
        Waitable { read: Some(self.end.readable()), write: Some(self.end.writable()) }
    }
}

pub(crate) fn new_name() -> io::Result<String> {
    let random: String = random::bytes::<16>()?.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{PIPE_PREFIX}{random}"))
}

/// Makes another server end of a pipe, to which only this user and the system can connect. The first one fails if
/// the name is already in use.
pub(crate) fn instance(name: &str, first: bool, room: u32) -> io::Result<OwnedHandle> {
    let name = wide(name);
    let alone = private::Descriptor::owned_by_this_user()?;
    let attributes = alone.attributes();
    let first = if first { FILE_FLAG_FIRST_PIPE_INSTANCE } else { 0 };
    let mode = PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED | first;
    let most = PIPE_UNLIMITED_INSTANCES;
    // SAFETY: the name ends in a zero, and the descriptor outlives the call.
    own(unsafe {
        let attributes = &raw const attributes;
        CreateNamedPipeW(name.as_ptr(), mode, PIPE_REJECT_REMOTE_CLIENTS, most, room, room, 0, attributes)
    })
}

/// Opens a client end. The server may learn who we are, but not act as us.
pub(crate) fn open(name: &str, flags: u32) -> io::Result<OwnedHandle> {
    let name = wide(name);
    let flags = flags | SECURITY_SQOS_PRESENT | SECURITY_IDENTIFICATION;
    let access = GENERIC_READ | GENERIC_WRITE;
    // SAFETY: the name ends in a zero; there are no attributes and no template.
    own(unsafe { CreateFileW(name.as_ptr(), access, 0, null(), OPEN_EXISTING, flags, null_mut()) })
}

/// The process at the other end of a local connection, as of the moment of connecting.
#[derive(Debug)]
pub struct Peer {
    /// The user. The pipe's access list admits only this user and the system, so a peer that was gone before it
    /// could be identified is taken for this user.
    user: String,
    /// The pid.
    pub pid: Option<i32>,
    process: Option<OwnedHandle>,
    foreign: bool,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "user {}", self.user)?;
        self.pid.map_or(Ok(()), |pid| write!(f, ", pid {pid}"))
    }
}

impl Peer {
    /// Returns the user, in the form that this system has for users.
    pub fn user(&self) -> String {
        self.user.clone()
    }

    /// Returns true if the peer belongs neither to this user nor to the system nor to an administrator.
    pub fn is_foreign(&self) -> bool {
        self.foreign
    }

    /// Returns the peer's process and those above it. The error says why they are unknown: the process is gone, so
    /// that another process may have its pid.
    pub fn ancestors(&self) -> Result<Vec<i32>, &'static str> {
        const GONE_PEER: &str = "exited before the daemon could identify it: connect again";
        let pid = self.pid.ok_or(GONE_PEER)?;
        let above = process::ancestors(pid);
        let lives = self.process.as_ref().is_some_and(system::lives);
        lives.then_some(above).ok_or(GONE_PEER)
    }
}

/// Returns the process at the other end.
pub fn peer(conn: &Conn) -> io::Result<Peer> {
    let raw = conn.as_handle().as_raw_handle();
    let (mut flags, mut pid) = (0, 0);
    // SAFETY: the handle is open, and the places for the results are ours.
    unsafe {
        check(GetNamedPipeInfo(raw, &raw mut flags, null_mut(), null_mut(), null_mut()))?;
        check(if flags & PIPE_SERVER_END == 0 {
            GetNamedPipeServerProcessId(raw, &raw mut pid)
        } else {
            GetNamedPipeClientProcessId(raw, &raw mut pid)
        })?;
    }
    let pid = pid.cast_signed();
    // While the connection is open its process lives. So if the connection is still open after the process was
    // opened by its pid, it is the right one.
    let process = system::open_process(pid).ok().flatten().filter(|_| !conn.end.is_hung_up());
    let known = process.as_ref().and_then(|process| private::user_of(process.as_handle()).ok());
    let foreign = known.as_deref().map(private::is_trusted).transpose()?.is_some_and(|trusted| !trusted);
    let user = known.map_or_else(private::user, Ok)?;
    Ok(Peer { user, pid: (pid > 0).then_some(pid), process, foreign })
}

/// A socket that accepts connections.
#[derive(Debug)]
pub struct Listener {
    pipe: String,
    callers: Mutex<Vec<Caller>>,
    /// Set when a client has connected; all callers share this event.
    came: system::Event,
}

/// A server end that waits for a client. Dropping it ends the wait.
#[derive(Debug)]
struct Caller {
    work: Work,
    pipe: Option<OwnedHandle>,
    came: Came,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Came {
    NotYet,
    Yes,
    /// The wait ended without a client, as when its thread ends.
    Never,
}

impl Listener {
    /// Creates the socket `name` in `dir`, for its owner alone.
    pub fn bind(dir: &Dir, name: &str) -> io::Result<Self> {
        let listener =
            Self { pipe: new_name()?, callers: Mutex::default(), came: system::Event::new(false)? };
        let mut callers = Vec::with_capacity(BACKLOG);
        for at in 0..BACKLOG {
            callers.push(listener.await_caller(at == 0)?);
        }
        let listener = Self { callers: Mutex::new(callers), ..listener };
        dir.write_new(name, listener.pipe.as_bytes()).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => io::Error::new(io::ErrorKind::AddrInUse, error),
            _ => error,
        })?;
        Ok(listener)
    }

    fn await_caller(&self, first: bool) -> io::Result<Caller> {
        let pipe = instance(&self.pipe, first, PIPE_SIZE)?;
        let mut work = Work::telling(&self.came)?;
        let raw = pipe.as_raw_handle();
        // SAFETY: the structure does not move until the operation is over.
        let begun = work.begin(|place| unsafe { ConnectNamedPipe(raw, place) });
        let came = match begun {
            Ok(()) => Came::NotYet,
            // A client was faster than we, and may have left already.
            Err(error) if matches!(number(&error), ERROR_PIPE_CONNECTED | ERROR_NO_DATA) => Came::Yes,
            Err(error) => return Err(error),
        };
        Ok(Caller { work, pipe: Some(pipe), came })
    }

    /// Accepts the next waiting connection of this user or the system; others are refused.
    pub fn accept(&self) -> io::Result<Option<Conn>> {
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            // A client that connects from here on sets it again.
            self.came.reset();
            let is_over = |caller: &mut Caller| caller.look() != Came::NotYet;
            let Some(at) = callers.iter_mut().position(is_over) else { return Ok(None) };
            // The next client must not wait for this one; and if there is no new server end, this client stays
            // queued.
            let next = match self.await_caller(false) {
                Ok(next) => next,
                Err(error) => {
                    self.came.set();
                    return Err(error);
                }
            };
            let mut caller = std::mem::replace(&mut callers[at], next);
            // More may have connected: the event stays set until all were checked.
            self.came.set();
            let Some(pipe) = caller.pipe.take().filter(|_| caller.came == Came::Yes) else { continue };
            let conn = Conn::from_handle(pipe)?;
            // A peer that cannot be identified any more was admitted by the pipe's own access list.
            if !peer(&conn).is_ok_and(|peer| peer.is_foreign()) {
                return Ok(Some(conn));
            }
        }
    }
}

impl Caller {
    fn look(&mut self) -> Came {
        if self.came == Came::NotYet
            && let Some(pipe) = &self.pipe
        {
            self.came = match self.work.look(pipe.as_handle()) {
                None => Came::NotYet,
                Some(Ok(_)) => Came::Yes,
                Some(Err(_)) => Came::Never,
            };
        }
        self.came
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        if let Some(pipe) = &self.pipe
            && self.work.is_begun()
        {
            let _ = self.work.cancel(pipe.as_handle());
        }
    }
}

impl Pollable for Listener {
    fn waitable(&self) -> Waitable<'_> {
        Waitable::reading(self.came.as_handle())
    }
}
