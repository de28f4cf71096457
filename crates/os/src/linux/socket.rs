//! Local sockets on Linux, and the process at their other end.

use super::is_alive;
use crate::file::Dir;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType};
use std::io;

const FLAGS: SocketFlags = SocketFlags::CLOEXEC.union(SocketFlags::NONBLOCK);

/// A send to a closed reader is an error, never a signal.
pub(crate) const SEND: SendFlags = SendFlags::NOSIGNAL;
/// A received descriptor is closed on exec.
pub(crate) const RECEIVE: RecvFlags = RecvFlags::CMSG_CLOEXEC;

pub(crate) fn socket() -> Result<OwnedFd, Errno> {
    net::socket_with(AddressFamily::UNIX, SocketType::STREAM, FLAGS, None)
}

pub(crate) fn socket_pair() -> Result<(OwnedFd, OwnedFd), Errno> {
    net::socketpair(AddressFamily::UNIX, SocketType::STREAM, FLAGS, None)
}

pub(crate) fn accept(listener: &OwnedFd) -> Result<OwnedFd, Errno> {
    net::accept_with(listener, FLAGS)
}

/// Closes a received descriptor on exec; here it already is.
#[expect(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
pub(crate) fn for_us_alone(fd: OwnedFd) -> io::Result<OwnedFd> {
    Ok(fd)
}

/// Prepares a connection that was inherited or received.
pub(crate) fn take_over(fd: &OwnedFd) -> Result<(), Errno> {
    rustix::io::ioctl_fionbio(fd, true)
}

/// Calls `act` with the address of `name` in a directory, however long the directory's own path is.
pub(crate) fn at_address<T>(
    dir: &Dir,
    name: &str,
    act: impl FnOnce(&SocketAddrUnix) -> Result<T, Errno>,
) -> Result<T, Errno> {
    act(&SocketAddrUnix::new(format!("/proc/self/fd/{}/{name}", dir.as_fd().as_raw_fd()))?)
}

/// Error text for a process at the other end that has no pid here.
pub(crate) const UNSEEN_PEER: &str = "is in another pid namespace, so the daemon cannot tell which process it is: \
                                      use tenure in the pid namespace that the daemon runs in";

/// Reads an option of a socket.
///
/// # Safety
/// `T` is the option's own type, and any bytes are a valid value.
unsafe fn option<T>(socket: BorrowedFd<'_>, name: libc::c_int) -> Result<T, Errno> {
    let mut value = std::mem::MaybeUninit::<T>::zeroed();
    let mut length = libc::socklen_t::try_from(size_of::<T>()).map_err(|_| Errno::INVAL)?;
    let into = value.as_mut_ptr().cast();
    // SAFETY: the buffer is ours and as long as we say; bytes that the kernel does not write are zero.
    unsafe {
        match libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, name, into, &raw mut length) {
            0 => Ok(value.assume_init()),
            _ => Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)),
        }
    }
}

/// Returns the user and the process at the other end, as they were when the connection was made. The process is zero if
/// it is in a pid namespace that cannot be seen from here, which no type for pids can hold.
pub(crate) fn peer_of(socket: BorrowedFd<'_>) -> Result<(u32, i32), Errno> {
    // SAFETY: the structure is the option's, of numbers only.
    let credentials: libc::ucred = unsafe { option(socket, libc::SO_PEERCRED)? };
    Ok((credentials.uid, credentials.pid))
}

/// The process at the other end, held open.
#[derive(Debug)]
pub(crate) struct PeerProcess(OwnedFd);

impl PeerProcess {
    pub(crate) fn lives(&self) -> bool {
        is_alive(self.0.as_fd())
    }
}

/// Holds the process at the other end of a local connection open; `None` if the kernel cannot, or the process is
/// gone.
pub(crate) fn peer_process(socket: BorrowedFd<'_>, _: i32) -> Option<PeerProcess> {
    /// The option's number, which not every C library has yet.
    const SO_PEERPIDFD: libc::c_int = 77;
    // SAFETY: the option is one number.
    let fd: libc::c_int = unsafe { option(socket, SO_PEERPIDFD) }.ok()?;
    // SAFETY: the kernel has just made this descriptor for us, and nobody else knows it.
    (fd >= 0).then(|| PeerProcess(unsafe { OwnedFd::from_raw_fd(fd) }))
}
