//! Starts a suspended process inside a job, with three handles of ours and no others.

use super::stdio::Stdio;
use super::{JobObject, check, own};
use crate::process::Process;
use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle, OwnedHandle};
use std::ptr::{null, null_mut};
use windows_sys::Win32::Foundation::{HANDLE, HANDLE_FLAG_INHERIT, SetHandleInformation};
use windows_sys::Win32::System::Console::HPCON;
use windows_sys::Win32::System::Threading::{
    CREATE_NEW_PROCESS_GROUP, CREATE_SUSPENDED, CREATE_UNICODE_ENVIRONMENT, CreateProcessW,
    DeleteProcThreadAttributeList, EXTENDED_STARTUPINFO_PRESENT, InitializeProcThreadAttributeList,
    LPPROC_THREAD_ATTRIBUTE_LIST, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, PROC_THREAD_ATTRIBUTE_JOB_LIST,
    PROC_THREAD_ATTRIBUTE_PSEUDOCONSOLE, PROCESS_INFORMATION, ResumeThread, STARTF_USESTDHANDLES,
    STARTUPINFOEXW, UpdateProcThreadAttribute,
};

/// The arguments of a start, in the system's form: each text with its closing zero.
#[derive(Debug)]
pub(crate) struct Start {
    /// The file's absolute path: the system's own search would look beside us first.
    pub(crate) program: Vec<u16>,
    pub(crate) line: Vec<u16>,
    /// `NAME=value` and a zero for each variable, and a final zero.
    pub(crate) environment: Vec<u16>,
    pub(crate) directory: Vec<u16>,
}

/// A process that has not run yet. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct Suspended {
    process: OwnedHandle,
    thread: OwnedHandle,
    pid: u32,
    resumed: bool,
}

impl Suspended {
    /// Holds the process.
    pub(crate) fn hold(&self) -> io::Result<Option<Process>> {
        Process::hold(self.process.try_clone()?, self.pid.cast_signed())
    }

    /// Resumes the process.
    pub(crate) fn resume(mut self) -> io::Result<()> {
        // SAFETY: the handle of its one thread is open; no memory is passed.
        if unsafe { ResumeThread(self.thread.as_raw_handle()) } == u32::MAX {
            return Err(io::Error::last_os_error());
        }
        self.resumed = true;
        Ok(())
    }
}

impl Drop for Suspended {
    fn drop(&mut self) {
        if !self.resumed {
            // A process that is already gone needs no kill.
            let _ = super::terminate_process(self.process.as_handle());
        }
    }
}

/// Starts the process inside the job and the console: there is no moment in which it is outside. With pipes it
/// leads a group of its own, for Ctrl-Break.
pub(crate) fn start(start: &Start, stdio: &Stdio, job: &JobObject) -> io::Result<Suspended> {
    let jobs = [job.raw().as_raw_handle()];
    // A console's programs get the console's handles. Ours would replace them unless they are set to null.
    let (mut handles, mut listed) = ([null_mut(); 3], Vec::new());
    if let Some(pipes) = stdio.theirs() {
        handles = pipes.map(|handle| handle.as_raw_handle());
        for handle in handles {
            // SAFETY: the handle is open; only those in the list below are inherited by this child.
            check(unsafe { SetHandleInformation(handle, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT) })?;
        }
        listed = handles.to_vec();
        listed.sort_unstable();
        listed.dedup();
    }
    let mut attributes = Attributes::new(2)?;
    attributes.set(PROC_THREAD_ATTRIBUTE_JOB_LIST, &jobs)?;
    let console = match stdio {
        Stdio::Pty(pty) => Some(pty.console().open()?),
        Stdio::Pipes { .. } => None,
    };
    // The leader of a group does not get Ctrl-C, nor do its children, so a console's root leads none.
    let mut flags = CREATE_SUSPENDED | CREATE_UNICODE_ENVIRONMENT | EXTENDED_STARTUPINFO_PRESENT;
    if let Some((_, console)) = &console {
        attributes.set_console(*console)?;
    } else {
        attributes.set(PROC_THREAD_ATTRIBUTE_HANDLE_LIST, &listed)?;
        flags |= CREATE_NEW_PROCESS_GROUP;
    }
    create(start, handles, attributes, flags)
}

fn create(
    start: &Start,
    stdio: [HANDLE; 3],
    mut attributes: Attributes<'_>,
    flags: u32,
) -> io::Result<Suspended> {
    let mut about = STARTUPINFOEXW::default();
    about.StartupInfo.cb = super::length_of::<STARTUPINFOEXW>();
    about.StartupInfo.dwFlags = STARTF_USESTDHANDLES;
    [about.StartupInfo.hStdInput, about.StartupInfo.hStdOutput, about.StartupInfo.hStdError] = stdio;
    about.lpAttributeList = attributes.list();
    let mut line = start.line.clone();
    let mut made = PROCESS_INFORMATION::default();
    // A console's program inherits no handle.
    let inherit = i32::from(stdio.iter().any(|handle| !handle.is_null()));
    // SAFETY: every text ends in a zero and outlives the call; the line is a copy that the call may write to; the
    // attributes and what they point to outlive the call.
    let started = unsafe {
        CreateProcessW(
            start.program.as_ptr(),
            line.as_mut_ptr(),
            null(),
            null(),
            inherit,
            flags,
            start.environment.as_ptr().cast(),
            start.directory.as_ptr(),
            (&raw const about).cast(),
            &raw mut made,
        )
    };
    check(started)?;
    let (process, thread) = (own(made.hProcess)?, own(made.hThread)?);
    Ok(Suspended { process, thread, pid: made.dwProcessId, resumed: false })
}

/// The list of a new process's attributes. It borrows its values until it is dropped.
pub(crate) struct Attributes<'a> {
    memory: Vec<usize>,
    values: std::marker::PhantomData<&'a [HANDLE]>,
}

impl<'a> Attributes<'a> {
    pub(crate) fn new(count: u32) -> io::Result<Self> {
        let mut bytes = 0;
        // SAFETY: without a list the call only returns the needed length, by failing.
        unsafe { InitializeProcThreadAttributeList(null_mut(), count, 0, &raw mut bytes) };
        let mut memory = vec![0_usize; bytes.div_ceil(size_of::<usize>())];
        let list = memory.as_mut_ptr().cast();
        // SAFETY: the memory has at least the length that was asked for, and is aligned for pointers.
        check(unsafe { InitializeProcThreadAttributeList(list, count, 0, &raw mut bytes) })?;
        Ok(Self { memory, values: std::marker::PhantomData })
    }

    pub(crate) fn list(&mut self) -> LPPROC_THREAD_ATTRIBUTE_LIST {
        self.memory.as_mut_ptr().cast()
    }

    pub(crate) fn set(&mut self, attribute: u32, handles: &'a [HANDLE]) -> io::Result<()> {
        let len = size_of_val(handles);
        let list = self.list();
        // SAFETY: the handles outlive the list, by its type; their length is given.
        check(unsafe {
            UpdateProcThreadAttribute(
                list,
                0,
                attribute as usize,
                handles.as_ptr().cast(),
                len,
                null_mut(),
                null(),
            )
        })
    }
}

impl Attributes<'_> {
    /// Sets the console. Its handle is the value itself, not a pointer to it.
    fn set_console(&mut self, console: HPCON) -> io::Result<()> {
        let list = self.list();
        let value = std::ptr::without_provenance(console.cast_unsigned());
        let attribute = PROC_THREAD_ATTRIBUTE_PSEUDOCONSOLE as usize;
        // SAFETY: the list takes the handle as a number; the console is open until the process is created.
        check(unsafe {
            UpdateProcThreadAttribute(list, 0, attribute, value, size_of_val(&console), null_mut(), null())
        })
    }
}

impl Drop for Attributes<'_> {
    fn drop(&mut self) {
        // SAFETY: the list was initialised, and nothing uses it any more.
        unsafe { DeleteProcThreadAttributeList(self.list()) };
    }
}
