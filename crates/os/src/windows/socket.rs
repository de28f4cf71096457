//! Local sockets: between processes of one user on one machine. An address is a name in a directory: the file of that
//! name says which pipe is meant, and nobody can guess that. So whoever may write to the directory says who listens there.

pub use super::passing::Passing;
use super::poll::{Awaited, Waitable};
use super::stdio::PassedInput;
use super::terminal::Standard;
use super::{End, ROOM, Work, check, number, own, private, wide};
use crate::file::Dir;
pub use crate::flow::Got;
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

/// Where every pipe of ours is, and how its name begins.
const PLACE: &str = "\\\\.\\pipe\\tenure-";

/// How many callers may wait to be taken in.
const CALLERS: usize = 8;

/// How long a caller waits for a place among them.
const PATIENCE: Duration = Duration::from_millis(200);

/// One end of a connection. Reading and writing never wait.
#[derive(Debug)]
pub struct Conn {
    pub(crate) end: End,
}

impl Conn {
    /// Two connected ends.
    pub fn pair() -> io::Result<(Self, Self)> {
        let name = new_name()?;
        let near = instance(&name, true, ROOM)?;
        let far = open(&name, FILE_FLAG_OVERLAPPED)?;
        Ok((Self::from_handle(near)?, Self::from_handle(far)?))
    }

    /// Connects to the socket `name` in `dir`. This hardly waits: a listener that has too many callers waiting is an
    /// error of the kind `WouldBlock`.
    pub fn connect(dir: &Dir, name: &str) -> io::Result<Self> {
        let address = dir.read(name)?.ok_or(io::ErrorKind::NotFound)?;
        let pipe = String::from_utf8(address).ok().filter(|pipe| pipe.starts_with(PLACE));
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
            // SAFETY: the name ends in a zero. Whether it was worth waiting is seen by trying again.
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

    /// Gives up the connection's handle.
    pub fn into_handle(self) -> io::Result<OwnedHandle> {
        // What is under way is ended with the old one.
        self.as_handle().try_clone_to_owned()
    }

    /// A connection that was inherited or received.
    pub fn from_handle(handle: OwnedHandle) -> io::Result<Self> {
        Ok(Self { end: End::new(handle)? })
    }

    /// Reads what is there, up to the buffer's length.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Got> {
        self.end.read(buffer)
    }

    /// Writes what fits now; zero is "nothing fits", and whoever is told so comes back with the same bytes in front. What
    /// is counted as written has arrived. A gone reader is an error.
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.end.write(bytes)
    }

    /// Passes standard input along with bytes. Here it is copied instead ([`Standard::is_passable`]).
    pub fn write_with_input(&self, _: &[u8], _: Standard) -> io::Result<usize> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "standard input cannot be passed on this system"))
    }

    /// Reads what is there. Here no input comes along.
    pub fn read_with_input(&self, buffer: &mut [u8]) -> io::Result<(Got, Option<PassedInput>)> {
        self.read(buffer).map(|got| (got, None))
    }
}

impl AsHandle for Conn {
    fn as_handle(&self) -> BorrowedHandle<'_> {
        self.end.handle()
    }
}

impl Awaited for Conn {
    fn waitable(&self) -> Waitable<'_> {
        Waitable { read: Some(self.end.readable()), write: Some(self.end.writable()) }
    }
}

pub(crate) fn new_name() -> io::Result<String> {
    let random: String = random::bytes::<16>()?.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{PLACE}{random}"))
}

/// One more end of a pipe for somebody to connect to, which only this user and the system can. The first must find that
/// nobody else has made a pipe of this name.
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

/// Whoever is at the other end may learn who we are, and not act as us.
pub(crate) fn open(name: &str, flags: u32) -> io::Result<OwnedHandle> {
    let name = wide(name);
    let flags = flags | SECURITY_SQOS_PRESENT | SECURITY_IDENTIFICATION;
    let access = GENERIC_READ | GENERIC_WRITE;
    // SAFETY: the name ends in a zero; there are no attributes and no template.
    own(unsafe { CreateFileW(name.as_ptr(), access, 0, null(), OPEN_EXISTING, flags, null_mut()) })
}

/// Who is at the other end of a local connection, as it was when the connection was made.
#[derive(Debug)]
pub struct Peer {
    /// The list of who may connect lets in this user and the system, so one who was gone before it could be asked is
    /// taken for this user.
    user: String,
    /// Its process.
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
    /// Its user, by the name that this system has for users.
    pub fn user(&self) -> String {
        self.user.clone()
    }

    /// Whether it is neither this user's nor the system's nor an administrator's.
    pub fn is_foreign(&self) -> bool {
        self.foreign
    }

    /// Returns the peer's process and those above it. The error says why they are unknown: the process is gone, so that
    /// its pid may be another's by now.
    pub fn ancestors(&self) -> Result<Vec<i32>, &'static str> {
        const GONE_PEER: &str = "exited before the daemon could identify it: connect again";
        let pid = self.pid.ok_or(GONE_PEER)?;
        let above = process::ancestors(pid);
        let lives = self.process.as_ref().is_some_and(system::lives);
        lives.then_some(above).ok_or(GONE_PEER)
    }
}

/// Who is at the other end.
pub fn peer(conn: &Conn) -> io::Result<Peer> {
    let raw = conn.as_handle().as_raw_handle();
    let (mut flags, mut pid) = (0, 0);
    // SAFETY: the handle is open, and what is asked for is ours.
    unsafe {
        check(GetNamedPipeInfo(raw, &raw mut flags, null_mut(), null_mut(), null_mut()))?;
        check(if flags & PIPE_SERVER_END == 0 {
            GetNamedPipeServerProcessId(raw, &raw mut pid)
        } else {
            GetNamedPipeClientProcessId(raw, &raw mut pid)
        })?;
    }
    let pid = pid.cast_signed();
    // While the connection is open its process lives, so what was opened by its number before that was seen is it.
    let process = system::open_process(pid).ok().flatten().filter(|_| !conn.end.is_hung_up());
    let known = process.as_ref().and_then(|process| private::user_of(process.as_handle()).ok());
    let foreign = known.as_deref().map(private::is_trusted).transpose()?.is_some_and(|trusted| !trusted);
    let user = known.map_or_else(private::user, Ok)?;
    Ok(Peer { user, pid: (pid > 0).then_some(pid), process, foreign })
}

/// A socket that others connect to.
#[derive(Debug)]
pub struct Listener {
    pipe: String,
    callers: Mutex<Vec<Caller>>,
    /// Set when a caller has come; that of each is this one.
    came: system::Event,
}

/// An end that waits for a caller. Dropped like this it waits no more.
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
    /// The wait ended without a caller, as all do whose thread ends.
    Never,
}

impl Listener {
    /// Makes the socket `name` in `dir`, for its owner alone.
    pub fn bind(dir: &Dir, name: &str) -> io::Result<Self> {
        let listener =
            Self { pipe: new_name()?, callers: Mutex::default(), came: system::Event::new(false)? };
        let mut callers = Vec::with_capacity(CALLERS);
        for at in 0..CALLERS {
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
        let pipe = instance(&self.pipe, first, ROOM)?;
        let mut work = Work::telling(&self.came)?;
        let raw = pipe.as_raw_handle();
        // SAFETY: the place stays where it is until the work is over.
        let begun = work.begin(|place| unsafe { ConnectNamedPipe(raw, place) });
        let came = match begun {
            Ok(()) => Came::NotYet,
            // Somebody was faster than we, and may have left already.
            Err(error) if matches!(number(&error), ERROR_PIPE_CONNECTED | ERROR_NO_DATA) => Came::Yes,
            Err(error) => return Err(error),
        };
        Ok(Caller { work, pipe: Some(pipe), came })
    }

    /// The next waiting connection of this user (or of the system); others are turned away.
    pub fn accept(&self) -> io::Result<Option<Conn>> {
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            // Whoever comes from here on sets it again.
            self.came.reset();
            let is_over = |caller: &mut Caller| caller.look() != Came::NotYet;
            let Some(at) = callers.iter_mut().position(is_over) else { return Ok(None) };
            // One who comes after this one is not kept waiting; and who comes while there is no place is kept.
            let next = match self.await_caller(false) {
                Ok(next) => next,
                Err(error) => {
                    self.came.set();
                    return Err(error);
                }
            };
            let mut caller = std::mem::replace(&mut callers[at], next);
            // More may have come: the event says so until it was looked at.
            self.came.set();
            let Some(pipe) = caller.pipe.take().filter(|_| caller.came == Came::Yes) else { continue };
            let conn = Conn::from_handle(pipe)?;
            // Who cannot be asked any more was let in by the pipe's own list of users.
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

impl Awaited for Listener {
    fn waitable(&self) -> Waitable<'_> {
        Waitable::reading(self.came.as_handle())
    }
}
