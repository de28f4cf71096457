//! Messages on local sockets that carry a descriptor.

use crate::socket::Got;
use crate::system;
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::io::Errno;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;

pub(crate) fn send_with_fd(socket: BorrowedFd<'_>, bytes: &[u8], fd: BorrowedFd<'_>) -> io::Result<usize> {
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, sendmsg};
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fds = [fd];
    if !control.push(SendAncillaryMessage::ScmRights(&fds)) {
        return Err(io::Error::other("no room for one descriptor"));
    }
    match sendmsg(socket, &[IoSlice::new(bytes)], &mut control, system::SEND) {
        Ok(n) => Ok(n),
        Err(Errno::AGAIN | Errno::INTR) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

pub(crate) fn receive_with_fd(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
) -> io::Result<(Got, Option<OwnedFd>)> {
    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, recvmsg};
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let got = match recvmsg(socket, &mut [IoSliceMut::new(buffer)], &mut control, system::RECEIVE) {
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
    Ok((got, received.map(system::for_us_alone).transpose()?))
}
