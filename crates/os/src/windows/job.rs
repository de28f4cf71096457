//! Job objects: everything that is born of a process in a job is in the job, and nothing leaves it.

use super::{check, length_of, own};
use std::io;
use std::os::windows::io::{AsRawHandle, BorrowedHandle, OwnedHandle};
use std::ptr::{null, null_mut};
use windows_sys::Win32::Foundation::{ERROR_MORE_DATA, INVALID_HANDLE_VALUE, WAIT_TIMEOUT};
use windows_sys::Win32::System::IO::{CreateIoCompletionPort, GetQueuedCompletionStatus};
use windows_sys::Win32::System::JobObjects::{
    CreateJobObjectW, IsProcessInJob, JOB_OBJECT_LIMIT_ACTIVE_PROCESS,
    JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION, JOB_OBJECT_LIMIT_JOB_MEMORY,
    JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE, JOBOBJECT_ASSOCIATE_COMPLETION_PORT,
    JOBOBJECT_BASIC_ACCOUNTING_INFORMATION, JOBOBJECT_BASIC_AND_IO_ACCOUNTING_INFORMATION,
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JOBOBJECTINFOCLASS, JobObjectAssociateCompletionPortInformation,
    JobObjectBasicAccountingInformation, JobObjectBasicAndIoAccountingInformation,
    JobObjectBasicProcessIdList, JobObjectExtendedLimitInformation, QueryInformationJobObject,
    SetInformationJobObject, TerminateJobObject,
};
use windows_sys::Win32::System::SystemServices::{
    JOB_OBJECT_MSG_ABNORMAL_EXIT_PROCESS, JOB_OBJECT_MSG_ACTIVE_PROCESS_ZERO, JOB_OBJECT_MSG_EXIT_PROCESS,
    JOB_OBJECT_MSG_JOB_MEMORY_LIMIT, JOB_OBJECT_MSG_NEW_PROCESS,
};

/// The code with which those end whom we kill. It is no success, and no program's own: it says "ten" and SIGKILL's number.
pub(crate) const KILLED: u32 = 0x7465_6e09;

/// What may be used by all that are in a job together.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Bounds {
    pub(crate) memory: Option<usize>,
    pub(crate) processes: Option<u32>,
}

/// What a job's port tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    /// Nobody is in it any more.
    Empty,
    /// Somebody came.
    Came(u32),
    /// Somebody left.
    Left(u32),
    /// Somebody wanted more memory than there is.
    OutOfMemory,
    /// Something else.
    Other,
}

/// What a job has used of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Accounts {
    pub(crate) active: u32,
    pub(crate) cpu_ticks: u64,
}

/// A job without a name: nobody can open it, and with the last handle goes everything in it.
#[derive(Debug)]
pub(crate) struct JobObject {
    job: OwnedHandle,
    port: OwnedHandle,
}

impl JobObject {
    pub(crate) fn make(bounds: Bounds) -> io::Result<Self> {
        // SAFETY: neither attributes nor a name are passed.
        let job = own(unsafe { CreateJobObjectW(null(), null()) })?;
        // SAFETY: no file is passed, so this makes a port.
        let port = own(unsafe { CreateIoCompletionPort(INVALID_HANDLE_VALUE, null_mut(), 0, 1) })?;
        let made = Self { job, port };
        made.limit(bounds)?;
        let told = JOBOBJECT_ASSOCIATE_COMPLETION_PORT {
            CompletionKey: null_mut(),
            CompletionPort: made.port.as_raw_handle(),
        };
        made.set(JobObjectAssociateCompletionPortInformation, &told)?;
        Ok(made)
    }

    /// Breaking away stays forbidden: it is what a job is for. A crash shows nobody a dialog.
    fn limit(&self, bounds: Bounds) -> io::Result<()> {
        let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        let basic = &mut limits.BasicLimitInformation;
        basic.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION;
        if let Some(processes) = bounds.processes {
            basic.LimitFlags |= JOB_OBJECT_LIMIT_ACTIVE_PROCESS;
            basic.ActiveProcessLimit = processes;
        }
        if let Some(memory) = bounds.memory {
            basic.LimitFlags |= JOB_OBJECT_LIMIT_JOB_MEMORY;
            limits.JobMemoryLimit = memory;
        }
        self.set(JobObjectExtendedLimitInformation, &limits)
    }

    fn set<T>(&self, class: JOBOBJECTINFOCLASS, value: &T) -> io::Result<()> {
        let raw = self.job.as_raw_handle();
        // SAFETY: the value is read only by the call, and has the length that is given.
        check(unsafe {
            SetInformationJobObject(raw, class, std::ptr::from_ref(value).cast(), length_of::<T>())
        })
    }

    fn get<T: Default>(&self, class: JOBOBJECTINFOCLASS) -> io::Result<T> {
        let mut value = T::default();
        let (raw, place) = (self.job.as_raw_handle(), (&raw mut value).cast());
        // SAFETY: the structure is ours, of the length that is given, and written by the call.
        check(unsafe { QueryInformationJobObject(raw, class, place, length_of::<T>(), null_mut()) })?;
        Ok(value)
    }

    pub(crate) fn accounts(&self) -> io::Result<Accounts> {
        let basic: JOBOBJECT_BASIC_ACCOUNTING_INFORMATION = self.get(JobObjectBasicAccountingInformation)?;
        let ticks = |n: i64| u64::try_from(n).unwrap_or(0);
        let cpu_ticks = ticks(basic.TotalUserTime) + ticks(basic.TotalKernelTime);
        Ok(Accounts { active: basic.ActiveProcesses, cpu_ticks })
    }

    /// Bytes read and written by any call. Wine keeps no such account.
    pub(crate) fn io_bytes(&self) -> io::Result<u64> {
        let all: JOBOBJECT_BASIC_AND_IO_ACCOUNTING_INFORMATION =
            self.get(JobObjectBasicAndIoAccountingInformation)?;
        Ok(all.IoInfo.ReadTransferCount + all.IoInfo.WriteTransferCount + all.IoInfo.OtherTransferCount)
    }

    /// The processes in it. They may come and go meanwhile: a list is a list of targets.
    pub(crate) fn pids(&self) -> io::Result<Vec<u32>> {
        const HEAD: usize = 1;
        let mut room = 64;
        loop {
            // Two counts of 32 bits, then one word for each process.
            let mut words = vec![0_usize; HEAD + room];
            let len = u32::try_from(words.len() * size_of::<usize>()).map_err(io::Error::other)?;
            let raw = self.job.as_raw_handle();
            let list = words.as_mut_ptr().cast();
            // SAFETY: the words are ours, of the length that is given, aligned for the list, and written by the call.
            let read = check(unsafe {
                QueryInformationJobObject(raw, JobObjectBasicProcessIdList, list, len, null_mut())
            });
            match read {
                Ok(()) => {
                    let listed = words[0] >> 32;
                    let pids = words[HEAD..].iter().take(listed);
                    return Ok(pids.filter_map(|&pid| u32::try_from(pid).ok()).collect());
                }
                Err(error) if super::number(&error) == ERROR_MORE_DATA => room *= 4,
                Err(error) => return Err(error),
            }
        }
    }

    pub(crate) fn holds(&self, process: BorrowedHandle<'_>) -> io::Result<bool> {
        let mut is = 0;
        let (process, job) = (process.as_raw_handle(), self.job.as_raw_handle());
        // SAFETY: both handles are open, and the answer is ours.
        check(unsafe { IsProcessInJob(process, job, &raw mut is) })?;
        Ok(is != 0)
    }

    /// Kills everything in it at once; nothing that it starts meanwhile escapes that.
    pub(crate) fn terminate(&self) -> io::Result<()> {
        // SAFETY: the handle is open; no memory is passed.
        check(unsafe { TerminateJobObject(self.job.as_raw_handle(), KILLED) })
    }

    /// What the port tells next; `None` if that is nothing in so many milliseconds. The system promises no delivery, so
    /// whoever acts on what was told asks the accounts as well.
    pub(crate) fn told(&self, ms: u32) -> io::Result<Option<Told>> {
        let (mut message, mut key, mut about) = (0, 0, null_mut());
        let port = self.port.as_raw_handle();
        // SAFETY: the three places are ours, and written by the call.
        let got =
            unsafe { GetQueuedCompletionStatus(port, &raw mut message, &raw mut key, &raw mut about, ms) };
        match check(got) {
            Ok(()) => Ok(Some(told(message, about.addr()))),
            Err(error) if super::number(&error) == WAIT_TIMEOUT => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn raw(&self) -> BorrowedHandle<'_> {
        use std::os::windows::io::AsHandle;
        self.job.as_handle()
    }
}

/// The pointer of a message is a pid.
fn told(message: u32, about: usize) -> Told {
    let pid = u32::try_from(about).unwrap_or(0);
    match message {
        JOB_OBJECT_MSG_ACTIVE_PROCESS_ZERO => Told::Empty,
        JOB_OBJECT_MSG_NEW_PROCESS => Told::Came(pid),
        JOB_OBJECT_MSG_EXIT_PROCESS | JOB_OBJECT_MSG_ABNORMAL_EXIT_PROCESS => Told::Left(pid),
        JOB_OBJECT_MSG_JOB_MEMORY_LIMIT => Told::OutOfMemory,
        _ => Told::Other,
    }
}
