//! Open handles. A child inherits only the listed ones, so there is nothing to close, and the system has no limit
//! that a program would reach.

use super::check;
use crate::socket::Conn;
use std::io;
use std::os::windows::io::IntoRawHandle;
use windows_sys::Win32::System::Console::{STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, SetStdHandle};

/// Does nothing: only this connection was inherited.
pub fn close_all_but(_: &Conn) -> io::Result<()> {
    Ok(())
}

/// Puts standard input and output on `NUL`; standard error stays, for the log.
pub fn null_stdio() -> io::Result<()> {
    for place in [STD_INPUT_HANDLE, STD_OUTPUT_HANDLE] {
        // The standard stream owns the handle from here on, until this process ends.
        let null = super::nowhere()?.into_raw_handle();
        // SAFETY: the handle is open and stays so.
        check(unsafe { SetStdHandle(place, null) })?;
    }
    Ok(())
}

/// Returns the soft and hard limits of open descriptors: there are none.
pub fn limit() -> (u64, u64) {
    (u64::MAX, u64::MAX)
}

/// Does nothing: there is no limit to raise.
pub fn raise_limit() {}
