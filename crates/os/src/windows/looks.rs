//! Facts about a process to show.

use super::{TICKS_PER_MS, length_of};
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::ptr::null_mut;
use windows_sys::Wdk::System::Threading::{NtQueryInformationProcess, ProcessCommandLineInformation};
use windows_sys::Win32::Foundation::{FILETIME, UNICODE_STRING};
use windows_sys::Win32::System::ProcessStatus::{K32GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS};
use windows_sys::Win32::System::Threading::GetProcessTimes;

/// The resources used by one process.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ProcessUse {
    pub(crate) cpu_ms: u64,
    pub(crate) rss_bytes: u64,
}

/// Returns the resources used by a process; zeroes if it cannot be read.
pub(crate) fn process_use(process: &OwnedHandle) -> ProcessUse {
    let [mut made, mut ended, mut kernel, mut user] = [FILETIME::default(); 4];
    let raw = process.as_raw_handle();
    let mut memory = PROCESS_MEMORY_COUNTERS::default();
    // SAFETY: the four times and the counters are ours, of the length that is given, and written by the calls.
    unsafe {
        GetProcessTimes(raw, &raw mut made, &raw mut ended, &raw mut kernel, &raw mut user);
        K32GetProcessMemoryInfo(raw, &raw mut memory, length_of::<PROCESS_MEMORY_COUNTERS>());
    }
    let ticks = |time: FILETIME| u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime);
    ProcessUse {
        cpu_ms: (ticks(kernel) + ticks(user)) / TICKS_PER_MS,
        rss_bytes: memory.WorkingSetSize as u64,
    }
}

/// Returns the command line of a process, if it can be read.
pub(crate) fn command_line_of(process: &OwnedHandle) -> Option<String> {
    // Room for the longest line, after the structure that describes it.
    let mut room = vec![0_usize; (size_of::<UNICODE_STRING>() + 2 * 32_768) / size_of::<usize>()];
    let len = u32::try_from(size_of_val(&room[..])).ok()?;
    let place = room.as_mut_ptr();
    // SAFETY: the room is ours, of the length that is given, and aligned for the structure.
    let failed = unsafe {
        NtQueryInformationProcess(
            process.as_raw_handle(),
            ProcessCommandLineInformation,
            place.cast(),
            len,
            null_mut(),
        )
    };
    if failed < 0 {
        return None;
    }
    // SAFETY: the call has written the structure, whose text is in the same room.
    let text = unsafe {
        let line = place.cast::<UNICODE_STRING>().read();
        std::slice::from_raw_parts(line.Buffer, usize::from(line.Length) / 2)
    };
    Some(String::from_utf16_lossy(text))
}
