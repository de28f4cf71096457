//! Processes held by handle: who they are, whether they live, how they ended.

use super::{check, number, own, wide};
use std::io;
use std::os::windows::io::{AsRawHandle, BorrowedHandle, OwnedHandle};
use std::sync::OnceLock;
use tenure_core::identity::Place;
use windows_sys::Win32::Foundation::{
    ERROR_ACCESS_DENIED, ERROR_INVALID_PARAMETER, FILETIME, WAIT_FAILED, WAIT_OBJECT_0, WAIT_TIMEOUT,
};
use windows_sys::Win32::System::Registry::{
    HKEY_LOCAL_MACHINE, RRF_RT_REG_SZ, RRF_SUBKEY_WOW6464KEY, RegGetValueW,
};
use windows_sys::Win32::System::Threading::{
    GetExitCodeProcess, GetProcessTimes, OpenProcess, PROCESS_NAME_WIN32, PROCESS_QUERY_LIMITED_INFORMATION,
    PROCESS_SYNCHRONIZE, PROCESS_TERMINATE, QueryFullProcessImageNameW, TerminateProcess, WaitForSingleObject,
};

/// Windows counts a process's start from a day in 1601, not from its boot, so a record needs no boot to be told apart
/// from what has the same number after the next one.
const ANY_BOOT: &str = "windows";

pub(crate) fn here() -> &'static Place {
    static HERE: OnceLock<Place> = OnceLock::new();
    HERE.get_or_init(|| Place { machine_id: machine_id(), boot_id: ANY_BOOT.to_owned(), pid_namespace: 0 })
}

fn machine_id() -> Option<String> {
    let (key, name) = (wide("SOFTWARE\\Microsoft\\Cryptography"), wide("MachineGuid"));
    let mut text = [0_u16; 64];
    let mut len = u32::try_from(size_of_val(&text)).ok()?;
    let flags = RRF_RT_REG_SZ | RRF_SUBKEY_WOW6464KEY;
    // SAFETY: the names end in zeroes; the text is ours, of the length that is given.
    let failed = unsafe {
        RegGetValueW(
            HKEY_LOCAL_MACHINE,
            key.as_ptr(),
            name.as_ptr(),
            flags,
            std::ptr::null_mut(),
            text.as_mut_ptr().cast(),
            &raw mut len,
        )
    };
    let text = String::from_utf16_lossy(text.split(|&unit| unit == 0).next()?);
    (failed == 0 && !text.is_empty()).then_some(text)
}

/// `None`: no such process. One that we may look at but not end is opened all the same.
pub(crate) fn open_process(pid: u32) -> io::Result<Option<OwnedHandle>> {
    const LOOK: u32 = PROCESS_QUERY_LIMITED_INFORMATION | PROCESS_SYNCHRONIZE;
    // Zero is the processor's idleness; four, the system itself, is there but never ours.
    if pid == 0 {
        return Ok(None);
    }
    let open = |rights| {
        // SAFETY: no memory is passed.
        own(unsafe { OpenProcess(rights, 0, pid) })
    };
    let opened = open(LOOK | PROCESS_TERMINATE).or_else(|error| match number(&error) {
        ERROR_ACCESS_DENIED => open(LOOK),
        _ => Err(error),
    });
    match opened {
        Ok(process) => Ok(Some(process)),
        Err(error) if number(&error) == ERROR_INVALID_PARAMETER => Ok(None),
        Err(error) => Err(error),
    }
}

/// When a process was made, in steps of 100 ns since 1601.
pub(crate) fn creation_time(process: BorrowedHandle<'_>) -> io::Result<u64> {
    let [mut made, mut ended, mut kernel, mut user] = [FILETIME::default(); 4];
    let raw = process.as_raw_handle();
    // SAFETY: the four times are ours, and written by the call.
    check(unsafe { GetProcessTimes(raw, &raw mut made, &raw mut ended, &raw mut kernel, &raw mut user) })?;
    Ok(u64::from(made.dwHighDateTime) << 32 | u64::from(made.dwLowDateTime))
}

/// Waits for a process's end; `false` if it has not come in so many milliseconds.
pub(crate) fn wait_for_end(process: BorrowedHandle<'_>, ms: u32) -> io::Result<bool> {
    // SAFETY: the handle is open for the call's length.
    match unsafe { WaitForSingleObject(process.as_raw_handle(), ms) } {
        WAIT_OBJECT_0 => Ok(true),
        WAIT_TIMEOUT => Ok(false),
        WAIT_FAILED => Err(io::Error::last_os_error()),
        other => Err(io::Error::other(format!("a wait for a process came back with {other}"))),
    }
}

/// The code that a process ended with; `None` if it lives. The code of one that lives would be 259, which is as good a
/// code as any, so the end is asked for first.
pub(crate) fn exit_code(process: BorrowedHandle<'_>) -> io::Result<Option<u32>> {
    if !wait_for_end(process, 0)? {
        return Ok(None);
    }
    let mut code = 0;
    // SAFETY: the handle is open, and the code is ours.
    check(unsafe { GetExitCodeProcess(process.as_raw_handle(), &raw mut code) })?;
    Ok(Some(code))
}

/// Ends this very process; the code says that we did.
pub(crate) fn terminate_process(process: BorrowedHandle<'_>) -> io::Result<()> {
    // SAFETY: the handle is open for the call's length, and pins the process.
    check(unsafe { TerminateProcess(process.as_raw_handle(), super::KILLED) })
}

/// The path of its executable.
pub(crate) fn exe_path(process: BorrowedHandle<'_>) -> Option<String> {
    let mut path = vec![0_u16; 32_768];
    let mut len = u32::try_from(path.len()).ok()?;
    let raw = process.as_raw_handle();
    // SAFETY: the path is ours, of the length that is given, and written by the call.
    check(unsafe { QueryFullProcessImageNameW(raw, PROCESS_NAME_WIN32, path.as_mut_ptr(), &raw mut len) }).ok()?;
    String::from_utf16(path.get(..len as usize)?).ok()
}
