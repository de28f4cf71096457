//! Processes held by handle: who they are, whether they live, how they ended.

use super::{TICKS_PER_MS, check, number, own, wide};
use crate::process::Sent;
use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, OwnedHandle};
use std::sync::OnceLock;
use tenure_core::identity::{Identity, Place};
use tenure_core::signal::Signal;
use windows_sys::Win32::Foundation::{
    ERROR_ACCESS_DENIED, ERROR_INVALID_PARAMETER, FILETIME, HANDLE, WAIT_FAILED, WAIT_OBJECT_0, WAIT_TIMEOUT,
};
use windows_sys::Win32::System::Registry::{
    HKEY_LOCAL_MACHINE, RRF_RT_REG_SZ, RRF_SUBKEY_WOW6464KEY, RegGetValueW,
};
use windows_sys::Win32::System::Threading::{
    GetCurrentProcess, GetExitCodeProcess, GetProcessTimes, OpenProcess, PROCESS_NAME_WIN32,
    PROCESS_QUERY_INFORMATION, PROCESS_QUERY_LIMITED_INFORMATION, PROCESS_SYNCHRONIZE, PROCESS_TERMINATE,
    QueryFullProcessImageNameW, TerminateProcess, WaitForSingleObject,
};

pub(crate) type ProcessHandle = OwnedHandle;

/// What is known of a process from when it was opened.
#[derive(Debug)]
pub(crate) struct Facts {
    made: u64,
}

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

/// What may be wanted of a process, the most first. Wine asks for the whole right to look where Windows is content with
/// the limited one.
const RIGHTS: [u32; 3] = [
    PROCESS_QUERY_INFORMATION | PROCESS_SYNCHRONIZE | PROCESS_TERMINATE,
    PROCESS_QUERY_LIMITED_INFORMATION | PROCESS_SYNCHRONIZE | PROCESS_TERMINATE,
    PROCESS_QUERY_LIMITED_INFORMATION | PROCESS_SYNCHRONIZE,
];

/// `None`: no such process. One that we may look at but not end is opened all the same; one that we may not even look at
/// is an error, not gone (I6).
pub(crate) fn open_process(pid: i32) -> io::Result<Option<OwnedHandle>> {
    // Zero is the processor's idleness.
    if pid == 0 {
        return Ok(None);
    }
    let mut denied = None;
    for rights in RIGHTS {
        // SAFETY: no memory is passed.
        match own(unsafe { OpenProcess(rights, 0, pid.cast_unsigned()) }) {
            Ok(process) => return Ok(Some(process)),
            Err(error) if number(&error) == ERROR_INVALID_PARAMETER => return Ok(None),
            Err(error) if number(&error) == ERROR_ACCESS_DENIED => denied = Some(error),
            Err(error) => return Err(error),
        }
    }
    denied.map_or(Ok(None), Err)
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

/// Who is behind a handle. The handle pins the number, so what is read is about it and nobody else.
pub(crate) fn identify(process: &OwnedHandle, pid: i32) -> io::Result<Option<(Identity, Facts)>> {
    const TRIES: usize = 200;
    for _ in 0..TRIES {
        let made = creation_time(process.as_handle())?;
        // Wine fills the time in only once the process has begun.
        if made != UNFILLED {
            let identity = Identity { place: here().clone(), pid, start_time: made, pidfs_inode: None };
            return Ok(Some((identity, Facts { made })));
        }
        if wait_for_end(process.as_handle(), 5)? {
            return Ok(None);
        }
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, format!("process {pid} has no time of creation")))
}

const UNFILLED: u64 = 0x5555_5555_5555_5555;

pub(crate) fn lives(process: &OwnedHandle) -> bool {
    wait_for_end(process.as_handle(), 0).is_ok_and(|ended| !ended)
}

/// Windows knows one signal to a process: that it ends.
pub(crate) fn signal_process(process: &OwnedHandle, signal: Signal) -> Sent {
    if signal != Signal::KILL {
        return Sent::Denied;
    }
    if !lives(process) {
        return Sent::Gone;
    }
    match terminate_process(process.as_handle()) {
        Ok(()) => Sent::Yes,
        // One that ended meanwhile refuses to be ended again.
        Err(_) if !lives(process) => Sent::Gone,
        Err(_) => Sent::Denied,
    }
}

pub(crate) fn started_at_ms(facts: &Facts) -> u64 {
    const UNIX_EPOCH: u64 = 116_444_736_000_000_000;
    facts.made.saturating_sub(UNIX_EPOCH) / TICKS_PER_MS
}

/// Its line could be read, but its words are for its own program to make of it.
pub(crate) fn words_of(_: &OwnedHandle, _: i32) -> io::Result<Vec<String>> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "Windows keeps no words of a command, but a line"))
}

pub(crate) fn exe_shown(process: &OwnedHandle, pid: i32) -> Option<String> {
    exe_of(process, pid)
}

/// For hints only. A parent that is younger than its child is somebody else with the parent's number.
pub(crate) fn parent_of(pid: i32) -> Option<i32> {
    let born = |pid: i32| creation_time(open_process(pid).ok()??.as_handle()).ok();
    let parent = super::listed_parent(pid)?;
    (born(parent)? <= born(pid)?).then_some(parent)
}

/// The path of its executable.
pub(crate) fn exe_of(process: &OwnedHandle, _: i32) -> Option<String> {
    let mut path = vec![0_u16; 32_768];
    let mut len = u32::try_from(path.len()).ok()?;
    let raw = process.as_raw_handle();
    // SAFETY: the path is ours, of the length that is given, and written by the call.
    check(unsafe { QueryFullProcessImageNameW(raw, PROCESS_NAME_WIN32, path.as_mut_ptr(), &raw mut len) })
        .ok()?;
    String::from_utf16(path.get(..len as usize)?).ok()
}

#[link(name = "ntdll")]
unsafe extern "system" {
    fn NtSuspendProcess(process: HANDLE) -> i32;
}

/// Stops this process until somebody lets it go on.
pub(crate) fn stop_self() {
    // SAFETY: the handle of this process is always open; no memory is passed.
    unsafe { NtSuspendProcess(GetCurrentProcess()) };
}

/// Returns `None`: the environment of another process cannot be read here.
pub(crate) fn environment_value(_: i32, _: &str) -> Option<Vec<u8>> {
    None
}
