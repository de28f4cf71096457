//! Local sockets on macOS, and the process at their other end.

use super::{ProcessHandle, lives, open_process};
use crate::file::Dir;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketType};
use std::io;
use std::mem::MaybeUninit;

/// No flag: each socket is set so that a send to a closed reader is an error, never a signal.
pub(crate) const SEND: SendFlags = SendFlags::empty();
pub(crate) const RECEIVE: RecvFlags = RecvFlags::empty();

/// Sets the flags that other systems set when a socket is made. In between, another thread of this process may
/// fork; the child closes descriptors that it does not know.
fn prepared(fd: OwnedFd) -> Result<OwnedFd, Errno> {
    fcntl_setfd(&fd, FdFlags::CLOEXEC)?;
    take_over(&fd)?;
    Ok(fd)
}

/// Prepares a connection that was inherited or received.
pub(crate) fn take_over(fd: &OwnedFd) -> Result<(), Errno> {
    rustix::io::ioctl_fionbio(fd, true)?;
    match net::sockopt::set_socket_nosigpipe(fd, true) {
        // The result for a connection whose other end is already gone.
        Ok(()) | Err(Errno::INVAL) => Ok(()),
        Err(error) => Err(error),
    }
}

pub(crate) fn socket() -> Result<OwnedFd, Errno> {
    prepared(net::socket(AddressFamily::UNIX, SocketType::STREAM, None)?)
}

pub(crate) fn socket_pair() -> Result<(OwnedFd, OwnedFd), Errno> {
    let (a, b) = net::socketpair(AddressFamily::UNIX, SocketType::STREAM, net::SocketFlags::empty(), None)?;
    Ok((prepared(a)?, prepared(b)?))
}

pub(crate) fn accept(listener: &OwnedFd) -> Result<OwnedFd, Errno> {
    prepared(net::accept(listener)?)
}

/// Closes a received descriptor on exec.
pub(crate) fn for_us_alone(fd: OwnedFd) -> io::Result<OwnedFd> {
    fcntl_setfd(&fd, FdFlags::CLOEXEC)?;
    Ok(fd)
}

unsafe extern "C" {
    /// Gives the calling thread a working directory of its own; minus one removes it.
    fn pthread_fchdir_np(fd: libc::c_int) -> libc::c_int;
}

/// Calls `act` with the address of `name` in a directory, however long the directory's own path is: meanwhile the
/// directory is this thread's working directory.
pub(crate) fn at_address<T>(
    dir: &Dir,
    name: &str,
    act: impl FnOnce(&SocketAddrUnix) -> Result<T, Errno>,
) -> Result<T, Errno> {
    let address = SocketAddrUnix::new(name)?;
    // SAFETY: the descriptor is open; no memory is passed.
    if unsafe { pthread_fchdir_np(dir.as_fd().as_raw_fd()) } != 0 {
        return Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO));
    }
    let done = act(&address);
    // SAFETY: no memory is passed.
    unsafe { pthread_fchdir_np(-1) };
    done
}

/// Reads an option of a local socket.
///
/// # Safety
/// All zeroes must be a valid `T`, and `T` must be the type of this option.
unsafe fn option<T>(socket: BorrowedFd<'_>, name: libc::c_int) -> Result<T, Errno> {
    let mut place = MaybeUninit::<T>::zeroed();
    let mut length = libc::socklen_t::try_from(size_of::<T>()).map_err(|_| Errno::INVAL)?;
    // SAFETY: the place is ours and as long as we say; its value is valid then, as the caller promises.
    unsafe {
        let into = place.as_mut_ptr().cast();
        match libc::getsockopt(socket.as_raw_fd(), libc::SOL_LOCAL, name, into, &raw mut length) {
            0 => Ok(place.assume_init()),
            _ => Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)),
        }
    }
}

/// Error text for a process at the other end that has no pid here.
pub(crate) const UNSEEN_PEER: &str = "exited before the daemon could identify it: connect again";

/// Returns the user at the other end, as of the connection, and the process that used the other end last; zero if
/// there is none any more.
pub(crate) fn peer_of(socket: BorrowedFd<'_>) -> Result<(u32, i32), Errno> {
    // SAFETY: the structure is the option's, of numbers only.
    let credentials: libc::xucred = unsafe { option(socket, libc::LOCAL_PEERCRED)? };
    // SAFETY: the option is one number.
    let pid: libc::pid_t = unsafe { option(socket, libc::LOCAL_PEERPID) }.unwrap_or(0);
    Ok((credentials.cr_uid, pid))
}

/// The process at the other end, held open.
#[derive(Debug)]
pub(crate) struct PeerProcess(ProcessHandle);

impl PeerProcess {
    pub(crate) fn lives(&self) -> bool {
        lives(&self.0)
    }
}

/// Holds the process at the other end of a local connection open; `None` if it is unknown, or gone. Once held, it
/// is checked to be still the peer.
pub(crate) fn peer_process(socket: BorrowedFd<'_>, pid: i32) -> Option<PeerProcess> {
    let held = open_process(pid).ok().flatten()?;
    let (_, again) = peer_of(socket).ok()?;
    (again == pid).then_some(PeerProcess(held))
}
