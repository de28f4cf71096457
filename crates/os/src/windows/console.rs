//! Asks a console's programs to exit. Only programs in the same console as the sender get the event, so the keeper
//! starts its root in a shared console.

use std::io;
use windows_sys::Win32::System::Console::{CTRL_BREAK_EVENT, GenerateConsoleCtrlEvent};

/// Sends Ctrl-Break to the group that this process leads; the caller pins the leader. A group's members do not get
/// Ctrl-C.
pub(crate) fn break_group(leader: u32) -> io::Result<()> {
    assert!(leader > 4, "group {leader} is everybody's, or the system's");
    // SAFETY: no memory is passed; the number is not zero, so it names one group.
    super::check(unsafe { GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, leader) })
}
