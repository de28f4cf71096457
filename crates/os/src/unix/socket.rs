//! Local sockets, between processes of one user on one machine. Addresses are names in an open directory, so the
//! length of the directory's path does not matter.

use crate::file::Dir;
pub use crate::io_result::Got;
use crate::stdio::PassedInput;
use crate::terminal::Standard;
use crate::{process, system};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, chmodat};
use rustix::net::{self, RecvFlags};
use std::{fmt, io};

/// An end of a connection. Reads and writes never block.
#[derive(Debug)]
pub struct Conn {
    fd: OwnedFd,
}

impl Conn {
    /// Makes two connected ends.
    pub fn pair() -> io::Result<(Self, Self)> {
        let (a, b) = system::socket_pair()?;
        Ok((Self { fd: a }, Self { fd: b }))
    }

    /// Connects to the socket `name` in `dir`. This does not block either: a listener with a full queue is an error
    /// of the kind `WouldBlock`.
    pub fn connect(dir: &Dir, name: &str) -> io::Result<Self> {
        let fd = system::socket()?;
        match system::at_address(dir, name, |address| net::connect(&fd, address)) {
            Ok(()) => Ok(Self { fd }),
            Err(rustix::io::Errno::AGAIN) => {
                let why = format!("{name} does not answer: too many callers wait there already");
                Err(io::Error::new(io::ErrorKind::WouldBlock, why))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Takes a connection that was inherited or received.
    pub fn from_fd(fd: OwnedFd) -> io::Result<Self> {
        system::take_over(&fd)?;
        Ok(Self { fd })
    }

    /// Reads what is available, up to the buffer's length.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Got> {
        match net::recv(&self.fd, buffer, RecvFlags::empty()) {
            Ok((0, _)) | Err(rustix::io::Errno::CONNRESET) => Ok(Got::End),
            Ok((n, _)) => Ok(Got::Bytes(n)),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(Got::Nothing),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes what fits now; zero is "nothing fits". A closed reader is an error, never a signal.
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        match net::send(&self.fd, bytes, system::SEND) {
            Ok(n) => Ok(n),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes what fits now, and passes a copy of standard input along with the first byte. Zero is "nothing fits":
    /// then send both again.
    pub fn write_with_input(&self, bytes: &[u8], input: Standard) -> io::Result<usize> {
        system::send_with_fd(self.fd.as_fd(), bytes, input.as_fd())
    }

    /// Reads what is available, and the input that was passed along, if any.
    pub fn read_with_input(&self, buffer: &mut [u8]) -> io::Result<(Got, Option<PassedInput>)> {
        let (got, passed) = system::receive_with_fd(self.fd.as_fd(), buffer)?;
        Ok((got, passed.map(PassedInput::new)))
    }

    /// Returns the user on the other side.
    pub fn peer_uid(&self) -> io::Result<u32> {
        Ok(system::peer_of(self.fd.as_fd())?.0)
    }

    /// Returns the connection's descriptor.
    pub fn into_fd(self) -> OwnedFd {
        self.fd
    }
}

impl AsFd for Conn {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// A connection over which connections are passed.
#[derive(Debug)]
pub struct Passing {
    conn: Conn,
}

impl Passing {
    /// Passes connections to the process at the other end, which has this pid.
    pub fn to(conn: Conn, _: i32) -> Self {
        Self { conn }
    }

    /// Receives connections from the other end.
    pub fn from(conn: Conn) -> Self {
        Self { conn }
    }

    /// Returns the underlying connection.
    pub fn conn(&self) -> &Conn {
        &self.conn
    }

    /// Writes what fits now, and passes a connection along with the first byte. Send the rest again unchanged, with
    /// the connection as long as nothing fitted.
    pub fn send(&self, bytes: &[u8], passed: Option<&Conn>) -> io::Result<usize> {
        match passed {
            Some(passed) => system::send_with_fd(self.conn.as_fd(), bytes, passed.as_fd()),
            None => self.conn.write(bytes),
        }
    }

    /// Reads what is available, and the connection that was passed along, if any.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<(Got, Option<Conn>)> {
        let (got, passed) = system::receive_with_fd(self.conn.as_fd(), buffer)?;
        Ok((got, passed.map(Conn::from_fd).transpose()?))
    }
}

/// Error texts for a process at the other end that cannot be identified.
const RESTLESS_PEER: &str = "got other parents while the daemon identified it: connect again";
const GONE_PEER: &str = "exited before the daemon could identify it: connect again";

/// The process at the other end of a local connection, as of the moment of connecting.
#[derive(Debug)]
pub struct Peer {
    uid: u32,
    /// The pid, if the process is visible from here.
    pub pid: Option<i32>,
    process: Option<system::PeerProcess>,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "uid {}", self.uid)?;
        self.pid.map_or(Ok(()), |pid| write!(f, ", pid {pid}"))
    }
}

impl Peer {
    /// Returns the user, in the form that this system has for users.
    pub fn user(&self) -> String {
        self.uid.to_string()
    }

    /// Returns true if the peer belongs neither to this user nor to the superuser.
    pub fn is_foreign(&self) -> bool {
        self.uid != 0 && self.uid != rustix::process::geteuid().as_raw()
    }

    /// Returns the peer's process and those above it. The error says why they are unknown: the process is invisible
    /// from here, or it is gone, so that another process may have its pid.
    pub fn ancestors(&self) -> Result<Vec<i32>, &'static str> {
        let pid = self.pid.ok_or(system::UNSEEN_PEER)?;
        let above = process::settled_ancestors(pid).ok_or(RESTLESS_PEER)?;
        let lives = match &self.process {
            Some(process) => process.lives(),
            None => system::parent_of(pid).is_some(),
        };
        lives.then_some(above).ok_or(GONE_PEER)
    }
}

/// Returns the process at the other end.
pub fn peer(conn: BorrowedFd<'_>) -> io::Result<Peer> {
    let (uid, pid) = system::peer_of(conn)?;
    Ok(Peer { uid, pid: (pid > 0).then_some(pid), process: system::peer_process(conn, pid) })
}

/// Maximum number of connections that wait to be accepted; the kernel's own limit may be lower (`somaxconn`).
const BACKLOG: i32 = 4096;

/// A socket that accepts connections.
#[derive(Debug)]
pub struct Listener {
    fd: OwnedFd,
}

impl Listener {
    /// Creates the socket `name` in `dir`, for its owner alone.
    pub fn bind(dir: &Dir, name: &str) -> io::Result<Self> {
        let fd = system::socket()?;
        system::at_address(dir, name, |address| net::bind(&fd, address))?;
        chmodat(dir, name, Mode::RUSR | Mode::WUSR, AtFlags::empty())?;
        net::listen(&fd, BACKLOG)?;
        Ok(Self { fd })
    }

    /// Converts to the standard library's listener.
    pub fn into_std(self) -> std::os::unix::net::UnixListener {
        self.fd.into()
    }

    /// Accepts the next waiting connection of this user or root; others are refused.
    pub fn accept(&self) -> io::Result<Option<Conn>> {
        loop {
            match system::accept(&self.fd) {
                Ok(fd) => {
                    let conn = Conn { fd };
                    let uid = conn.peer_uid()?;
                    if uid == 0 || uid == rustix::process::geteuid().as_raw() {
                        return Ok(Some(conn));
                    }
                }
                Err(rustix::io::Errno::AGAIN) => return Ok(None),
                Err(rustix::io::Errno::INTR | rustix::io::Errno::CONNABORTED) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
