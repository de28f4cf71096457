//! A job around one run: what a control group is to Linux, and all of the boundary. Nothing leaves it, and when the last
//! handle is closed, by whatever death of whoever held it, everything in it is ended. The keeper holds the only one.

use crate::system::{Bounds, JobObject, TICKS_PER_MS, Told};
use crate::{clock, process};
use std::io;
use std::time::Duration;
use tenure_core::resources::Resources;

/// One run's job.
#[derive(Debug)]
pub struct Job {
    pub(crate) object: JobObject,
}

/// What everything that was ever in a job has used of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// CPU time.
    pub cpu: Duration,
    /// Bytes read and written, by any call; `None` where no such account is kept.
    pub io_bytes: Option<u64>,
}

impl Job {
    /// Makes a job whose processes may use so much together. The error says, for people, why that cannot be.
    pub fn make(resources: &Resources) -> Result<Self, String> {
        if resources.milli_cpus.is_some() {
            return Err("a share of the CPU cannot be given to a run on Windows yet".to_owned());
        }
        let memory = resources.memory_bytes.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        let bounds = Bounds { memory, processes: resources.processes };
        let object = JobObject::make(bounds).map_err(|error| format!("no job can be had: {error}"))?;
        Ok(Self { object })
    }

    /// The processes in it. They come and go meanwhile: a list is a list of targets.
    pub fn pids(&self) -> io::Result<Vec<i32>> {
        Ok(self.object.pids()?.into_iter().map(u32::cast_signed).collect())
    }

    /// Whether a process is in it; an error is "that cannot be told" (I6).
    pub fn holds(&self, process: &process::Process) -> io::Result<bool> {
        use std::os::windows::io::AsHandle;
        self.object.holds(process.handle.as_handle())
    }

    /// Whether anybody is in it, or that cannot be told (I6).
    pub fn is_occupied(&self) -> bool {
        self.object.accounts().map_or(true, |accounts| accounts.active > 0)
    }

    /// Kills everything in it at once; nothing that is started meanwhile escapes that.
    pub fn kill(&self) -> io::Result<()> {
        self.object.terminate()
    }

    /// Waits until nobody is in it; `false` if that has not come in time. Those in it are not asked for again and again:
    /// the system tells. As it does not promise to, they are counted once more at the end.
    pub fn wait_until_empty(&self, patience: Duration) -> io::Result<bool> {
        let deadline = clock::awake() + patience;
        while self.is_occupied() {
            let left = deadline.saturating_sub(clock::awake());
            if left.is_zero() {
                return Ok(!self.is_occupied());
            }
            let ms = u32::try_from(left.as_millis().max(1)).unwrap_or(u32::MAX - 1);
            // Whatever was told, whoever is left is counted next.
            let _: Option<Told> = self.object.told(ms)?;
        }
        Ok(true)
    }

    /// What all that were ever in it have used.
    pub fn usage(&self) -> io::Result<Usage> {
        let accounts = self.object.accounts()?;
        let cpu = Duration::from_millis(accounts.cpu_ticks / TICKS_PER_MS);
        Ok(Usage { cpu, io_bytes: self.object.io_bytes().ok() })
    }
}
