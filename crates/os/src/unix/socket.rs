//! Local sockets: between processes of one user on one machine. Addresses are names in an open directory, so
//! the length of the directory's path does not matter.

use crate::file::Dir;
pub use crate::flow::Got;
use crate::stdio::PassedInput;
use crate::terminal::Standard;
use crate::{process, system};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, chmodat};
use rustix::net::{self, RecvFlags};
use std::{fmt, io};

/// One end of a connection. Reading and writing never wait.
#[derive(Debug)]
pub struct Conn {
    fd: OwnedFd,
}

impl Conn {
    /// Two connected ends.
    pub fn pair() -> io::Result<(Self, Self)> {
        let (a, b) = system::socket_pair()?;
        Ok((Self { fd: a }, Self { fd: b }))
    }

    /// Connects to the socket `name` in `dir`. This does not wait either: a listener that has too many callers
    /// waiting is an error of the kind `WouldBlock`.
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

    /// A connection that was inherited or received.
    pub fn from_fd(fd: OwnedFd) -> io::Result<Self> {
        system::take_over(&fd)?;
        Ok(Self { fd })
    }

    /// Reads what is there, up to the buffer's length.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Got> {
        match net::recv(&self.fd, buffer, RecvFlags::empty()) {
            Ok((0, _)) | Err(rustix::io::Errno::CONNRESET) => Ok(Got::End),
            Ok((n, _)) => Ok(Got::Bytes(n)),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(Got::Nothing),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes what fits now; zero is "nothing fits". A gone reader is an error, never a signal.
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        match net::send(&self.fd, bytes, system::SEND) {
            Ok(n) => Ok(n),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes what fits now, and passes a copy of standard input along with the first byte. Zero is "nothing fits": both
    /// are to be sent again.
    pub fn write_with_input(&self, bytes: &[u8], input: Standard) -> io::Result<usize> {
        system::send_with_fd(self.fd.as_fd(), bytes, input.as_fd())
    }

    /// Reads what is there, and the input that came along, if one did.
    pub fn read_with_input(&self, buffer: &mut [u8]) -> io::Result<(Got, Option<PassedInput>)> {
        let (got, passed) = system::receive_with_fd(self.fd.as_fd(), buffer)?;
        Ok((got, passed.map(PassedInput::new)))
    }

    /// The user on the other side.
    pub fn peer_uid(&self) -> io::Result<u32> {
        Ok(system::peer_of(self.fd.as_fd())?.0)
    }

    /// Gives up the connection's descriptor.
    pub fn into_fd(self) -> OwnedFd {
        self.fd
    }
}

impl AsFd for Conn {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// A connection on which connections are passed along.
#[derive(Debug)]
pub struct Passing {
    conn: Conn,
}

impl Passing {
    /// To the process at the other end, which has this number.
    pub fn to(conn: Conn, _: i32) -> Self {
        Self { conn }
    }

    /// From whoever is at the other end.
    pub fn from(conn: Conn) -> Self {
        Self { conn }
    }

    /// What the bytes go over.
    pub fn conn(&self) -> &Conn {
        &self.conn
    }

    /// Writes what fits now, and passes a connection along with the first byte. What did not fit is to be sent again as
    /// it was, and the connection with it as long as nothing fitted.
    pub fn send(&self, bytes: &[u8], passed: Option<&Conn>) -> io::Result<usize> {
        match passed {
            Some(passed) => system::send_with_fd(self.conn.as_fd(), bytes, passed.as_fd()),
            None => self.conn.write(bytes),
        }
    }

    /// Reads what is there, and the connection that came along, if one did.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<(Got, Option<Conn>)> {
        let (got, passed) = system::receive_with_fd(self.conn.as_fd(), buffer)?;
        Ok((got, passed.map(Conn::from_fd).transpose()?))
    }
}

/// Error texts for a process at the other end that cannot be identified.
const RESTLESS_PEER: &str = "got other parents while the daemon identified it: connect again";
const GONE_PEER: &str = "exited before the daemon could identify it: connect again";

/// Who is at the other end of a local connection, as it was when the connection was made.
#[derive(Debug)]
pub struct Peer {
    uid: u32,
    /// Its process, where that is in our sight.
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
    /// Its user, by the name that this system has for users.
    pub fn user(&self) -> String {
        self.uid.to_string()
    }

    /// Whether it is neither this user's nor the superuser's.
    pub fn is_foreign(&self) -> bool {
        self.uid != 0 && self.uid != rustix::process::geteuid().as_raw()
    }

    /// Returns the peer's process and those above it. The error says why they are unknown: the process cannot be seen
    /// from here, or it is gone, so that its pid may be another's by now.
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

/// Who is at the other end.
pub fn peer(conn: BorrowedFd<'_>) -> io::Result<Peer> {
    let (uid, pid) = system::peer_of(conn)?;
    Ok(Peer { uid, pid: (pid > 0).then_some(pid), process: system::peer_process(conn, pid) })
}

/// Maximum number of connections that wait to be accepted; the kernel's own limit may be lower (`somaxconn`).
const BACKLOG: i32 = 4096;

/// A socket that others connect to.
#[derive(Debug)]
pub struct Listener {
    fd: OwnedFd,
}

impl Listener {
    /// Makes the socket `name` in `dir`, for its owner alone.
    pub fn bind(dir: &Dir, name: &str) -> io::Result<Self> {
        let fd = system::socket()?;
        system::at_address(dir, name, |address| net::bind(&fd, address))?;
        chmodat(dir, name, Mode::RUSR | Mode::WUSR, AtFlags::empty())?;
        net::listen(&fd, BACKLOG)?;
        Ok(Self { fd })
    }

    /// As the standard library's.
    pub fn into_std(self) -> std::os::unix::net::UnixListener {
        self.fd.into()
    }

    /// The next waiting connection of this user (or of root); others are turned away.
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
