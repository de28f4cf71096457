//! Job objects: a child of a process in a job is in the job, and nothing leaves it.

use super::private::Descriptor;
use super::{check, length_of, number, own, signals, wide};
use crate::process::Process;
use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, OwnedHandle};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use windows_sys::Win32::Foundation::{
    ERROR_ALREADY_EXISTS, ERROR_FILE_NOT_FOUND, ERROR_MORE_DATA, GetLastError, INVALID_HANDLE_VALUE,
    SetLastError,
};
use windows_sys::Win32::System::IO::{
    CreateIoCompletionPort, GetQueuedCompletionStatus, PostQueuedCompletionStatus,
};
use windows_sys::Win32::System::JobObjects::{
    CreateJobObjectW, IsProcessInJob, JOB_OBJECT_CPU_RATE_CONTROL_ENABLE,
    JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP, JOB_OBJECT_LIMIT_ACTIVE_PROCESS,
    JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION, JOB_OBJECT_LIMIT_JOB_MEMORY,
    JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE, JOBOBJECT_ASSOCIATE_COMPLETION_PORT,
    JOBOBJECT_BASIC_ACCOUNTING_INFORMATION, JOBOBJECT_BASIC_AND_IO_ACCOUNTING_INFORMATION,
    JOBOBJECT_CPU_RATE_CONTROL_INFORMATION, JOBOBJECT_CPU_RATE_CONTROL_INFORMATION_0,
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JOBOBJECTINFOCLASS, JobObjectAssociateCompletionPortInformation,
    JobObjectBasicAccountingInformation, JobObjectBasicAndIoAccountingInformation,
    JobObjectBasicProcessIdList, JobObjectCpuRateControlInformation, JobObjectExtendedLimitInformation,
    OpenJobObjectW, QueryInformationJobObject, SetInformationJobObject, TerminateJobObject,
};
use windows_sys::Win32::System::SystemServices::{
    JOB_OBJECT_MSG_ABNORMAL_EXIT_PROCESS, JOB_OBJECT_MSG_ACTIVE_PROCESS_ZERO, JOB_OBJECT_MSG_EXIT_PROCESS,
    JOB_OBJECT_MSG_JOB_MEMORY_LIMIT, JOB_OBJECT_QUERY, JOB_OBJECT_SET_ATTRIBUTES, JOB_OBJECT_TERMINATE,
};
use windows_sys::Win32::System::Threading::INFINITE;

/// The exit code of processes that we kill. It is no success, and no program's own: it spells "ten" and SIGKILL's
/// number.
pub(crate) const KILLED: u32 = 0x7465_6e09;

/// The common limits of all processes in a job.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Bounds {
    pub(crate) memory: Option<usize>,
    pub(crate) processes: Option<u32>,
    /// Thousandths of a CPU.
    pub(crate) milli_cpus: Option<u32>,
}

/// The counters of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Accounts {
    active: u32,
    pub(crate) cpu_ticks: u64,
}

/// A job, with a name that nobody can guess. Closing the last handle kills everything in it.
#[derive(Debug)]
pub(crate) struct JobObject {
    job: OwnedHandle,
    /// The listener for events of the job; only its maker has one.
    ear: Option<Ear>,
    /// The processes that were in the job when it was killed. The system stops counting them at once, however long
    /// they take to go.
    killed: Mutex<Vec<Process>>,
}

impl JobObject {
    /// Makes a job; from now on the end of a process in it is reported like the end of a child.
    pub(crate) fn make(name: &str) -> io::Result<Self> {
        let (name, alone) = (wide(name), Descriptor::of_this_user()?);
        let attributes = alone.attributes();
        // SAFETY: the name ends in a zero, and the descriptor outlives the call. The last error, read at once,
        // tells if the name was taken.
        let (made, was_there) = unsafe {
            SetLastError(0);
            let made = CreateJobObjectW(&raw const attributes, name.as_ptr());
            (made, GetLastError() == ERROR_ALREADY_EXISTS)
        };
        let job = own(made)?;
        if was_there {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let ear = Ear::open()?;
        let told = JOBOBJECT_ASSOCIATE_COMPLETION_PORT {
            CompletionKey: null_mut(),
            CompletionPort: ear.port.as_raw_handle(),
        };
        let made = Self { job, ear: Some(ear), killed: Mutex::default() };
        made.limit(Bounds::default())?;
        made.set(JobObjectAssociateCompletionPortInformation, &told)?;
        Ok(made)
    }

    /// Opens the job of this name; `None` if it is gone.
    pub(crate) fn open(name: &str) -> io::Result<Option<Self>> {
        const RIGHTS: u32 = JOB_OBJECT_QUERY | JOB_OBJECT_SET_ATTRIBUTES | JOB_OBJECT_TERMINATE;
        let name = wide(name);
        // SAFETY: the name ends in a zero.
        match own(unsafe { OpenJobObjectW(RIGHTS, 0, name.as_ptr()) }) {
            Ok(job) => Ok(Some(Self { job, ear: None, killed: Mutex::default() })),
            Err(error) if number(&error) == ERROR_FILE_NOT_FOUND => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns true if a process in the job needed more memory than the limit.
    pub(crate) fn ran_out_of_memory(&self) -> bool {
        self.ear.as_ref().is_some_and(|ear| ear.out_of_memory.load(Ordering::Relaxed))
    }

    /// Sets the limits. Breaking away stays forbidden, since that is the purpose of the job. A crash shows no
    /// dialog.
    pub(crate) fn limit(&self, bounds: Bounds) -> io::Result<()> {
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
        self.set(JobObjectExtendedLimitInformation, &limits)?;
        bounds.milli_cpus.map_or(Ok(()), |share| self.limit_cpu(share))
    }

    /// Limits the CPU; the system counts in ten-thousandths of all processors together.
    fn limit_cpu(&self, milli_cpus: u32) -> io::Result<()> {
        let all = std::thread::available_parallelism().map_or(1, usize::from);
        let whole = u64::try_from(all).unwrap_or(1) * 1000;
        let rate = (u64::from(milli_cpus) * 10_000 / whole).clamp(1, 10_000);
        let control = JOBOBJECT_CPU_RATE_CONTROL_INFORMATION {
            ControlFlags: JOB_OBJECT_CPU_RATE_CONTROL_ENABLE | JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP,
            Anonymous: JOBOBJECT_CPU_RATE_CONTROL_INFORMATION_0 {
                CpuRate: u32::try_from(rate).unwrap_or(10_000),
            },
        };
        self.set(JobObjectCpuRateControlInformation, &control)
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

    /// Returns the bytes read and written by any call. Wine does not count them.
    pub(crate) fn io_bytes(&self) -> io::Result<u64> {
        let all: JOBOBJECT_BASIC_AND_IO_ACCOUNTING_INFORMATION =
            self.get(JobObjectBasicAndIoAccountingInformation)?;
        Ok(all.IoInfo.ReadTransferCount + all.IoInfo.WriteTransferCount + all.IoInfo.OtherTransferCount)
    }

    /// Returns true if any process is in the job, or was killed in it and is not gone yet.
    pub(crate) fn is_occupied(&self) -> io::Result<bool> {
        Ok(self.accounts()?.active > 0 || !self.not_gone().is_empty())
    }

    /// Returns the processes in the job, and those killed in it that are not gone yet. They come and go meanwhile:
    /// a list only provides targets.
    pub(crate) fn pids(&self) -> io::Result<Vec<u32>> {
        let mut pids = self.listed()?;
        let killed = self.not_gone();
        pids.extend(killed.into_iter().filter(|pid| !pids.contains(pid)).collect::<Vec<_>>());
        Ok(pids)
    }

    /// Returns the processes in the job, each held, so that no other process can get its pid.
    pub(crate) fn members(&self) -> io::Result<Vec<Process>> {
        let held = |pid: u32| Process::open(pid.cast_signed()).ok().flatten();
        let is_in = |process: &Process| self.holds(process.handle.as_handle()).unwrap_or(false);
        Ok(self.listed()?.into_iter().filter_map(held).filter(is_in).collect())
    }

    /// Returns the pids of processes killed in the job that are not gone yet.
    fn not_gone(&self) -> Vec<u32> {
        let mut killed = self.killed.lock().unwrap_or_else(PoisonError::into_inner);
        killed.retain(Process::is_alive);
        killed.iter().map(|process| process.identity().pid.cast_unsigned()).collect()
    }

    fn listed(&self) -> io::Result<Vec<u32>> {
        const HEAD: usize = 1;
        let mut room = 64;
        loop {
            // The list has two counts of 32 bits, then one word per process.
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
                Err(error) if number(&error) == ERROR_MORE_DATA => room *= 4,
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

    /// Kills all processes in the job at once; no process started meanwhile escapes that. The job first stops
    /// admitting new processes, so those held are all. A process that cannot be held is killed all the same.
    pub(crate) fn terminate(&self) -> io::Result<()> {
        let _ = self.close_to_the_unborn();
        let members = self.members().unwrap_or_default();
        let mut killed = self.killed.lock().unwrap_or_else(PoisonError::into_inner);
        killed.retain(|one| members.iter().all(|other| other.identity() != one.identity()));
        killed.extend(members);
        drop(killed);
        // SAFETY: the handle is open; no memory is passed.
        check(unsafe { TerminateJobObject(self.job.as_raw_handle(), KILLED) })
    }

    fn close_to_the_unborn(&self) -> io::Result<()> {
        let mut limits: JOBOBJECT_EXTENDED_LIMIT_INFORMATION = self.get(JobObjectExtendedLimitInformation)?;
        limits.BasicLimitInformation.LimitFlags |= JOB_OBJECT_LIMIT_ACTIVE_PROCESS;
        limits.BasicLimitInformation.ActiveProcessLimit = 1;
        self.set(JobObjectExtendedLimitInformation, &limits)
    }

    pub(crate) fn raw(&self) -> BorrowedHandle<'_> {
        self.job.as_handle()
    }
}

/// Listens to a job's completion port on a thread of its own, because a port cannot be waited for together with
/// other things. Its messages are hints, since their delivery is not guaranteed: a woken waiter counts the
/// processes in the job.
#[derive(Debug)]
struct Ear {
    port: Arc<OwnedHandle>,
    out_of_memory: Arc<AtomicBool>,
}

/// The key of our own message that ends the thread; no message of a job has it.
const EXIT_KEY: usize = 1;

impl Ear {
    fn open() -> io::Result<Self> {
        // SAFETY: no file is passed, so this makes a port.
        let port = own(unsafe { CreateIoCompletionPort(INVALID_HANDLE_VALUE, null_mut(), 0, 1) })?;
        let ear = Self { port: Arc::new(port), out_of_memory: Arc::default() };
        let (port, out_of_memory) = (Arc::clone(&ear.port), Arc::clone(&ear.out_of_memory));
        std::thread::Builder::new().name("job".to_owned()).spawn(move || listen(&port, &out_of_memory))?;
        Ok(ear)
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        // SAFETY: the port is open; no memory is passed.
        unsafe { PostQueuedCompletionStatus(self.port.as_raw_handle(), 0, EXIT_KEY, null()) };
    }
}

fn listen(port: &OwnedHandle, out_of_memory: &AtomicBool) {
    loop {
        let (mut message, mut key, mut about) = (0, 0, null_mut());
        let raw = port.as_raw_handle();
        // SAFETY: the three places are ours, and written by the call.
        let got = unsafe {
            GetQueuedCompletionStatus(raw, &raw mut message, &raw mut key, &raw mut about, INFINITE)
        };
        if got == 0 || key == EXIT_KEY {
            return;
        }
        match message {
            JOB_OBJECT_MSG_JOB_MEMORY_LIMIT => out_of_memory.store(true, Ordering::Relaxed),
            JOB_OBJECT_MSG_ACTIVE_PROCESS_ZERO
            | JOB_OBJECT_MSG_EXIT_PROCESS
            | JOB_OBJECT_MSG_ABNORMAL_EXIT_PROCESS => {
                signals::raise(signals::CHILD);
            }
            _ => {}
        }
    }
}
