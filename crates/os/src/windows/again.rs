//! Starts this program once more, with exactly the intended handles, none of our environment except what Windows
//! itself needs, and an invisible console of its own.

use super::{Attributes, check, children, length_of, own, wide};
use crate::command_line;
use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, OwnedHandle};
use std::path::PathBuf;
use std::ptr::{null, null_mut};
use windows_sys::Win32::Foundation::{DUPLICATE_SAME_ACCESS, DuplicateHandle, ERROR_ACCESS_DENIED, HANDLE};
use windows_sys::Win32::System::Threading::{
    CREATE_BREAKAWAY_FROM_JOB, CREATE_NO_WINDOW, CREATE_UNICODE_ENVIRONMENT, CreateProcessW,
    EXTENDED_STARTUPINFO_PRESENT, GetCurrentProcess, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, PROCESS_INFORMATION,
    STARTF_USESTDHANDLES, STARTUPINFOEXW,
};

/// Variables without which programs do not start, or not as this user's.
const NEEDED: [&str; 11] = [
    "SystemRoot",
    "SystemDrive",
    "windir",
    "PATH",
    "TEMP",
    "TMP",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "ProgramData",
    "ComSpec",
];

/// Makes a copy of a handle that a child inherits. It must be open as briefly as possible: no child with a list of
/// handles inherits others, but other parts of a program may start children without a list.
pub(crate) fn inheritable(handle: BorrowedHandle<'_>) -> io::Result<OwnedHandle> {
    let mut copy = null_mut();
    let raw = handle.as_raw_handle();
    // SAFETY: the handle is open, that of this process needs no closing, and the place is ours.
    check(unsafe {
        let own = GetCurrentProcess();
        DuplicateHandle(own, raw, own, &raw mut copy, 0, 1, DUPLICATE_SAME_ACCESS)
    })?;
    own(copy)
}

/// Opens the null device.
pub(crate) fn nowhere() -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open("NUL")
}

/// The start of this program.
pub(crate) struct Again<'a> {
    pub(crate) words: &'a [&'a OsStr],
    /// Variables in addition to those that Windows needs.
    pub(crate) env: Vec<(OsString, OsString)>,
    /// Standard input, output and error, each from [`inheritable`].
    pub(crate) stdio: [&'a OwnedHandle; 3],
}

impl Again<'_> {
    /// Starts the program. Its end is a signal, and it stays a child of this process until it is reaped.
    pub(crate) fn start(&self) -> io::Result<i32> {
        // Our parent may have put us into a job that ends with its last handle: a child leaves it, if that is
        // allowed.
        match self.create(CREATE_BREAKAWAY_FROM_JOB) {
            Err(error) if super::number(&error) == ERROR_ACCESS_DENIED => self.create(0),
            other => other,
        }
    }

    fn create(&self, more_flags: u32) -> io::Result<i32> {
        let exe = wide(std::env::current_exe()?);
        let mut line = self.line(&exe[..exe.len() - 1])?;
        let environment = self.environment();
        let directory = wide(root_directory());
        let mut handles: Vec<HANDLE> = self.stdio.into_iter().map(AsRawHandle::as_raw_handle).collect();
        handles.sort_unstable();
        handles.dedup();
        let mut attributes = Attributes::new(1)?;
        attributes.set(PROC_THREAD_ATTRIBUTE_HANDLE_LIST, &handles)?;
        let mut about = STARTUPINFOEXW::default();
        about.StartupInfo.cb = length_of::<STARTUPINFOEXW>();
        about.StartupInfo.dwFlags = STARTF_USESTDHANDLES;
        let [stdin, stdout, stderr] = self.stdio.map(AsRawHandle::as_raw_handle);
        about.StartupInfo.hStdInput = stdin;
        about.StartupInfo.hStdOutput = stdout;
        about.StartupInfo.hStdError = stderr;
        about.lpAttributeList = attributes.list();
        let mut made = PROCESS_INFORMATION::default();
        let flags = CREATE_UNICODE_ENVIRONMENT | EXTENDED_STARTUPINFO_PRESENT | CREATE_NO_WINDOW | more_flags;
        // SAFETY: every text ends in a zero and outlives the call; the line is a copy that the call may write to; the
        // attributes and what they point to outlive the call.
        check(unsafe {
            CreateProcessW(
                exe.as_ptr(),
                line.as_mut_ptr(),
                null(),
                null(),
                1,
                flags,
                environment.as_ptr().cast(),
                directory.as_ptr(),
                (&raw const about).cast(),
                &raw mut made,
            )
        })?;
        let (process, thread) = (own(made.hProcess)?, own(made.hThread)?);
        drop(thread);
        let pid = made.dwProcessId.cast_signed();
        children::adopt(pid, process)?;
        Ok(pid)
    }

    fn line(&self, exe: &[u16]) -> io::Result<Vec<u16>> {
        let words: Vec<Vec<u16>> = self.words.iter().map(|word| word.encode_wide().collect()).collect();
        let mut line = command_line::join(exe, &words).map_err(io::Error::other)?;
        line.push(0);
        Ok(line)
    }

    fn environment(&self) -> Vec<u16> {
        let needed = NEEDED.iter().filter_map(|&name| Some((OsString::from(name), std::env::var_os(name)?)));
        let pause = cfg!(debug_assertions)
            .then(|| std::env::var_os("TENURE_PAUSE").map(|name| (OsString::from("TENURE_PAUSE"), name)))
            .flatten();
        let all = needed.chain(pause).chain(self.env.iter().cloned());
        let entries: Vec<String> =
            all.map(|(name, value)| format!("{}={}", name.display(), value.display())).collect();
        super::spawn::block(&entries)
    }
}

/// Returns a directory that always exists, and that nobody wants to remove.
fn root_directory() -> PathBuf {
    std::env::var_os("SystemRoot").map_or_else(|| PathBuf::from("C:\\"), PathBuf::from)
}

/// Returns this process's standard error for its children; the null device if there is none.
pub(crate) fn own_stderr() -> io::Result<OwnedHandle> {
    let stderr = std::io::stderr();
    let handle = stderr.as_handle();
    if handle.as_raw_handle().is_null() {
        return inheritable(nowhere()?.as_handle());
    }
    inheritable(handle).or_else(|_| inheritable(nowhere()?.as_handle()))
}
