//! Processes held by handle: their identity, state and exit.

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

/// The facts about a process when it was opened.
#[derive(Debug)]
pub(crate) struct Facts {
    created: u64,
}

/// The boot id in identities. Windows counts a process's start from 1601, not from its boot, so an identity is
/// unique without a boot id.
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
    // SAFETY: the names end in zeroes; the text is ours and has the given length.
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

/// The access rights to try, from most to least. Wine requires the full query right where Windows is content with the
/// limited one.
const RIGHTS: [u32; 3] = [
    PROCESS_QUERY_INFORMATION | PROCESS_SYNCHRONIZE | PROCESS_TERMINATE,
    PROCESS_QUERY_LIMITED_INFORMATION | PROCESS_SYNCHRONIZE | PROCESS_TERMINATE,
    PROCESS_QUERY_LIMITED_INFORMATION | PROCESS_SYNCHRONIZE,
];

/// Opens a process; `None` if there is none. A process that may be queried but not killed is opened, too. One
/// that may not even be queried is an error, not a process that is gone (I6).
pub(crate) fn open_process(pid: i32) -> io::Result<Option<OwnedHandle>> {
    // Zero is the system's idle process.
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

/// Returns the time when a process was created, in units of 100 ns since 1601.
pub(crate) fn creation_time(process: BorrowedHandle<'_>) -> io::Result<u64> {
    let [mut created, mut ended, mut kernel, mut user] = [FILETIME::default(); 4];
    let raw = process.as_raw_handle();
    // SAFETY: the four times are ours, and written by the call.
    check(unsafe { GetProcessTimes(raw, &raw mut created, &raw mut ended, &raw mut kernel, &raw mut user) })?;
    Ok(u64::from(created.dwHighDateTime) << 32 | u64::from(created.dwLowDateTime))
}

/// Waits for a process to exit; returns false after `ms` milliseconds.
pub(crate) fn wait_for_end(process: BorrowedHandle<'_>, ms: u32) -> io::Result<bool> {
    // SAFETY: the handle is open for the call's length.
    match unsafe { WaitForSingleObject(process.as_raw_handle(), ms) } {
        WAIT_OBJECT_0 => Ok(true),
        WAIT_TIMEOUT => Ok(false),
        WAIT_FAILED => Err(io::Error::last_os_error()),
        other => Err(io::Error::other(format!("WaitForSingleObject returned {other}"))),
    }
}

/// Returns the exit code; `None` if the process lives. The code of a live process would be 259, which a program can
/// also exit with, so the end is checked first.
pub(crate) fn exit_code(process: BorrowedHandle<'_>) -> io::Result<Option<u32>> {
    if !wait_for_end(process, 0)? {
        return Ok(None);
    }
    let mut code = 0;
    // SAFETY: the handle is open, and the code is ours.
    check(unsafe { GetExitCodeProcess(process.as_raw_handle(), &raw mut code) })?;
    Ok(Some(code))
}

/// Kills the process; its exit code says that Tenure did.
pub(crate) fn terminate_process(process: BorrowedHandle<'_>) -> io::Result<()> {
    // SAFETY: the handle is open for the call's length, and pins the process.
    check(unsafe { TerminateProcess(process.as_raw_handle(), super::KILLED) })
}

/// Returns the identity of the process of a handle. The handle pins the pid, so the facts are about it and no
/// other.
pub(crate) fn identify(process: &OwnedHandle, pid: i32) -> io::Result<Option<(Identity, Facts)>> {
    const TRIES: usize = 200;
    for _ in 0..TRIES {
        let created = creation_time(process.as_handle())?;
        // Wine sets the time only once the process has started.
        if created != UNFILLED {
            let identity = Identity { place: here().clone(), pid, start_time: created, pidfs_inode: None };
            return Ok(Some((identity, Facts { created })));
        }
        if wait_for_end(process.as_handle(), 5)? {
            return Ok(None);
        }
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, format!("process {pid} has no creation time")))
}

/// The creation time that Wine reports until it has set the real one.
const UNFILLED: u64 = 0x5555_5555_5555_5555;

pub(crate) fn lives(process: &OwnedHandle) -> bool {
    wait_for_end(process.as_handle(), 0).is_ok_and(|ended| !ended)
}

/// Signals a process. Windows has only one signal to a process: its end.
pub(crate) fn signal_process(process: &OwnedHandle, signal: Signal) -> Sent {
    if signal != Signal::KILL {
        return Sent::Denied;
    }
    if !lives(process) {
        return Sent::Gone;
    }
    match terminate_process(process.as_handle()) {
        Ok(()) => Sent::Yes,
        // A process that ended meanwhile cannot be ended again.
        Err(_) if !lives(process) => Sent::Gone,
        Err(_) => Sent::Denied,
    }
}

pub(crate) fn started_at_ms(facts: &Facts) -> u64 {
    const UNIX_EPOCH: u64 = 116_444_736_000_000_000;
    facts.created.saturating_sub(UNIX_EPOCH) / TICKS_PER_MS
}

/// Fails: the command line could be read, but only its own program can split it into arguments.
pub(crate) fn words_of(_: &OwnedHandle, _: i32) -> io::Result<Vec<String>> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "Windows records a command line, not its separate arguments",
    ))
}

pub(crate) fn exe_shown(process: &OwnedHandle, pid: i32) -> Option<String> {
    exe_of(process, pid)
}

/// Returns the parent, as a hint only. A parent that is younger than its child is another process with the parent's
/// pid.
pub(crate) fn parent_of(pid: i32) -> Option<i32> {
    let born = |pid: i32| creation_time(open_process(pid).ok()??.as_handle()).ok();
    let parent = super::listed_parent(pid)?;
    (born(parent)? <= born(pid)?).then_some(parent)
}

/// Returns the path of the executable.
pub(crate) fn exe_of(process: &OwnedHandle, _: i32) -> Option<String> {
    let mut path = vec![0_u16; 32_768];
    let mut len = u32::try_from(path.len()).ok()?;
    let raw = process.as_raw_handle();
    // SAFETY: the path is ours, has the given length, and is written by the call.
    check(unsafe { QueryFullProcessImageNameW(raw, PROCESS_NAME_WIN32, path.as_mut_ptr(), &raw mut len) })
        .ok()?;
    String::from_utf16(path.get(..len as usize)?).ok()
}

#[link(name = "ntdll")]
unsafe extern "system" {
    fn NtSuspendProcess(process: HANDLE) -> i32;
}

/// Suspends this process until another one resumes it.
pub(crate) fn stop_self() {
    // SAFETY: the handle of this process is always open; no memory is passed.
    unsafe { NtSuspendProcess(GetCurrentProcess()) };
}

/// Returns `None`: the environment of another process cannot be read here.
pub(crate) fn environment_value(_: i32, _: &str) -> Option<Vec<u8>> {
    None
}
