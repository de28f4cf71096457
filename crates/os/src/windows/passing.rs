//! Connections that are passed along with bytes. A pipe carries bytes alone, so a passed handle is first duplicated
//! into the other process, and each piece has its number there.

use super::socket::{Conn, Got};
use super::{check, own};
use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::{Mutex, PoisonError};
use windows_sys::Win32::Foundation::{DUPLICATE_SAME_ACCESS, DuplicateHandle};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcess, PROCESS_DUP_HANDLE};

/// The header of each piece: its length, and the number of the passed handle or zero.
const HEAD: usize = 4 + 8;

/// Maximum length of a piece.
const PIECE: usize = 32 << 10;

/// A connection over which connections are passed.
#[derive(Debug)]
pub struct Passing {
    conn: Conn,
    pid: i32,
    sending: Mutex<Option<Sending>>,
    receiving: Mutex<Receiving>,
}

/// A piece that was not written completely yet.
#[derive(Debug)]
struct Sending {
    frame: Vec<u8>,
    sent: usize,
}

/// The progress of the piece that is being read.
#[derive(Debug, Default)]
struct Receiving {
    head: Vec<u8>,
    left: usize,
    passed: Option<Conn>,
}

impl Passing {
    /// Passes connections to the process at the other end, which has this pid.
    pub fn to(conn: Conn, pid: i32) -> Self {
        Self { conn, pid, sending: Mutex::default(), receiving: Mutex::default() }
    }

    /// Receives connections from the other end.
    pub fn from(conn: Conn) -> Self {
        Self::to(conn, 0)
    }

    /// Returns the underlying connection.
    pub fn conn(&self) -> &Conn {
        &self.conn
    }

    /// Writes what fits now, and passes a connection along with the first byte. Send the rest again unchanged, with
    /// the connection as long as nothing fitted.
    pub fn send(&self, bytes: &[u8], passed: Option<&Conn>) -> io::Result<usize> {
        let mut sending = self.sending.lock().unwrap_or_else(PoisonError::into_inner);
        let piece = match &mut *sending {
            // The handle was duplicated when this piece was first tried.
            Some(piece) => piece,
            None if bytes.is_empty() => return Ok(0),
            None => {
                let number = passed.map_or(Ok(0), |conn| put(conn, self.pid))?;
                sending.insert(Sending::new(&bytes[..bytes.len().min(PIECE)], number))
            }
        };
        while piece.sent < piece.frame.len() {
            match self.conn.write(&piece.frame[piece.sent..])? {
                0 => return Ok(0),
                n => piece.sent += n,
            }
        }
        let taken = piece.frame.len() - HEAD;
        *sending = None;
        Ok(taken)
    }

    /// Reads what is available, and the connection that was passed along, if any.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<(Got, Option<Conn>)> {
        let receiving = &mut *self.receiving.lock().unwrap_or_else(PoisonError::into_inner);
        if buffer.is_empty() {
            return Ok((Got::Nothing, None));
        }
        while receiving.left == 0 {
            let mut head = [0; HEAD];
            let wanted = HEAD - receiving.head.len();
            match self.conn.read(&mut head[..wanted])? {
                Got::Bytes(n) => receiving.take_head(&head[..n])?,
                other => return Ok((other, None)),
            }
        }
        let most = receiving.left.min(buffer.len());
        match self.conn.read(&mut buffer[..most])? {
            Got::Bytes(n) => {
                receiving.left -= n;
                Ok((Got::Bytes(n), receiving.passed.take()))
            }
            other => Ok((other, None)),
        }
    }
}

impl Sending {
    fn new(bytes: &[u8], number: u64) -> Self {
        let len = u32::try_from(bytes.len()).expect("a piece is short");
        let mut frame = Vec::with_capacity(HEAD + bytes.len());
        frame.extend_from_slice(&len.to_le_bytes());
        frame.extend_from_slice(&number.to_le_bytes());
        frame.extend_from_slice(bytes);
        Self { frame, sent: 0 }
    }
}

impl Receiving {
    fn take_head(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.head.extend_from_slice(bytes);
        let Some((len, number)) = self.head.split_first_chunk::<4>() else { return Ok(()) };
        let Ok(number) = <[u8; 8]>::try_from(number) else { return Ok(()) };
        let (len, number) = (u32::from_le_bytes(*len), u64::from_le_bytes(number));
        self.head.clear();
        if !(1..=PIECE).contains(&(len as usize)) {
            return Err(io::Error::other(format!("a piece of {len} bytes, which nobody sends")));
        }
        self.left = len as usize;
        let number = usize::try_from(number).map_err(io::Error::other)?;
        self.passed = (number != 0).then(|| taken(number)).transpose()?;
        Ok(())
    }
}

/// Takes a handle that the other end has put into this process.
pub(crate) fn taken(number: usize) -> io::Result<Conn> {
    // SAFETY: the other end belongs to this user, and has made this handle here for us alone.
    Conn::from_handle(unsafe { OwnedHandle::from_raw_handle(without_provenance_mut(number)) })
}

/// Duplicates a connection into another process; returns its number there.
pub(crate) fn put(conn: &Conn, pid: i32) -> io::Result<u64> {
    // SAFETY: no memory is passed.
    let process = own(unsafe { OpenProcess(PROCESS_DUP_HANDLE, 0, pid.cast_unsigned()) })?;
    let mut there = null_mut();
    let (from, to) = (conn.as_handle().as_raw_handle(), process.as_raw_handle());
    // SAFETY: all handles are open for the call's length, and the place is ours.
    check(unsafe {
        DuplicateHandle(GetCurrentProcess(), from, to, &raw mut there, 0, 0, DUPLICATE_SAME_ACCESS)
    })?;
    Ok(there.addr() as u64)
}
