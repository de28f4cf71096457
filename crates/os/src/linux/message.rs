//! Local sockets: messages that carry a descriptor, and the process at the other end.

use crate::socket::Got;
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::io::Errno;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;

pub(crate) fn send_with_fd(socket: BorrowedFd<'_>, bytes: &[u8], fd: BorrowedFd<'_>) -> io::Result<usize> {
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fds = [fd];
    if !control.push(SendAncillaryMessage::ScmRights(&fds)) {
        return Err(io::Error::other("no room for one descriptor"));
    }
    match sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL) {
        Ok(n) => Ok(n),
        Err(Errno::AGAIN | Errno::INTR) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

pub(crate) fn receive_with_fd(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
) -> io::Result<(Got, Option<OwnedFd>)> {
    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let got = match recvmsg(socket, &mut [IoSliceMut::new(buffer)], &mut control, RecvFlags::CMSG_CLOEXEC) {
        Ok(message) if message.bytes == 0 => Got::End,
        Ok(message) => Got::Bytes(message.bytes),
        Err(Errno::AGAIN | Errno::INTR) => Got::Nothing,
        Err(Errno::CONNRESET) => Got::End,
        Err(error) => return Err(error.into()),
    };
    let mut received = None;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(fds) = message {
            received = fds.last().or(received);
        }
    }
    Ok((got, received))
}

/// The process at the other end of a local connection, held open; `None` where the kernel cannot tell, or it is gone.
pub(crate) fn peer_pidfd(socket: BorrowedFd<'_>) -> Option<OwnedFd> {
    use std::os::fd::{AsRawFd, FromRawFd};
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
    (result == 0 && fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) })
}
