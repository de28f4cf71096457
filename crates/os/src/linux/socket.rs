//! Local sockets, as Linux makes them, and who is at the other end.

use super::is_alive;
use crate::file::Dir;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType};
use std::io;

const FLAGS: SocketFlags = SocketFlags::CLOEXEC.union(SocketFlags::NONBLOCK);

/// A gone reader is an error, never a signal.
pub(crate) const SEND: SendFlags = SendFlags::NOSIGNAL;
/// What is received is not passed on to what is executed.
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

/// Keeps a received descriptor from what is executed; it came so.
#[expect(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
pub(crate) fn for_us_alone(fd: OwnedFd) -> io::Result<OwnedFd> {
    Ok(fd)
}

/// Prepares a connection that was inherited or received.
pub(crate) fn take_over(fd: &OwnedFd) -> Result<(), Errno> {
    rustix::io::ioctl_fionbio(fd, true)
}

/// Does something at the address of `name` in a directory, however long the directory's own path is.
pub(crate) fn at_address<T>(
    dir: &Dir,
    name: &str,
    act: impl FnOnce(&SocketAddrUnix) -> Result<T, Errno>,
) -> Result<T, Errno> {
    act(&SocketAddrUnix::new(format!("/proc/self/fd/{}/{name}", dir.as_fd().as_raw_fd()))?)
}

/// The user and the process at the other end, as they were when the connection was made.
pub(crate) fn peer_of(socket: BorrowedFd<'_>) -> Result<(u32, i32), Errno> {
    let credentials = net::sockopt::socket_peercred(socket)?;
    Ok((credentials.uid.as_raw(), credentials.pid.as_raw_nonzero().get()))
}

/// The process at the other end, held open.
#[derive(Debug)]
pub(crate) struct PeerProcess(OwnedFd);

impl PeerProcess {
    pub(crate) fn lives(&self) -> bool {
        is_alive(self.0.as_fd())
    }
}

/// The process at the other end of a local connection; `None` where the kernel cannot tell, or it is gone.
pub(crate) fn peer_process(socket: BorrowedFd<'_>, _: i32) -> Option<PeerProcess> {
    /// Not in the C library's headers everywhere yet.
    const SO_PEERPIDFD: libc::c_int = 77;
    let mut fd: libc::c_int = -1;
    let mut len = libc::socklen_t::try_from(size_of::<libc::c_int>()).ok()?;
    // SAFETY: the option's value is one int, which is ours and as long as we say.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_PEERPIDFD,
            (&raw mut fd).cast(),
            &raw mut len,
        )
    };
    // SAFETY: the kernel has just made this descriptor for us, and nobody else knows of it.
    (result == 0 && fd >= 0).then(|| PeerProcess(unsafe { OwnedFd::from_raw_fd(fd) }))
}
