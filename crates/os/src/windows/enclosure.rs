//! A job around one run: all of the boundary. Nothing leaves it, and when the last handle is closed, by whatever death of
//! whoever held it, everything in it is ended. The keeper holds the one that stays; others open it by its name for a
//! look, or to end what a dead keeper left.

use super::{Bounds, JobObject, TICKS_PER_MS};
use crate::process::Process;
use std::io;
use std::os::windows::io::AsHandle;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::ids::{InstanceId, RunId};
use tenure_core::journal::{Proof, Target};
use tenure_core::record::Boundary;
use tenure_core::resources::Resources;
use tenure_core::wire::Via;

/// One run's job.
#[derive(Debug)]
pub struct Enclosure {
    pub(crate) job: Arc<JobObject>,
    name: String,
}

/// What encloses a run that has none. There is no such run: a root is not started without a job.
pub fn without(why: String) -> Boundary {
    Boundary::Subreaper { why: Some(why) }
}

/// There is nothing that keepers would have to look up.
pub fn look_around() {}

/// Returns no groups: nothing that encloses a run outlives it here.
pub fn all_of(_: &InstanceId) -> Vec<(RunId, Enclosure)> {
    Vec::new()
}

/// Returns `None`: no group has a run's name here.
pub fn run_of(_: i32) -> Option<(InstanceId, RunId)> {
    None
}

impl Enclosure {
    /// What is said of a run that wanted more memory than it may have.
    pub const OUT_OF_MEMORY: &'static str = "the memory that it may have was used up";

    /// Makes a run's job. It is not to be had or not, so it does not matter whether it is wanted.
    pub fn make(_: bool, instance: &InstanceId, run: &RunId) -> Result<Self, String> {
        let name = name(instance, run);
        match JobObject::make(&name) {
            Ok(job) => Ok(Self { job: Arc::new(job), name }),
            Err(error) => Err(format!("no job can be had: {error}")),
        }
    }

    /// The job that a run would have been given; `None` if there is none.
    pub fn find(instance: &InstanceId, run: &RunId) -> io::Result<Option<Self>> {
        Self::named(name(instance, run))
    }

    /// The job that a record names; `None` if it names none, or it is gone.
    pub fn open(recorded: &Boundary) -> io::Result<Option<Self>> {
        match recorded {
            Boundary::Job { name } => Self::named(name.clone()),
            Boundary::Cgroup { .. } | Boundary::Subreaper { .. } | Boundary::Group => Ok(None),
        }
    }

    fn named(name: String) -> io::Result<Option<Self>> {
        Ok(JobObject::open(&name)?.map(|job| Self { job: Arc::new(job), name }))
    }

    /// Bounds what those who will be in it may use. The error says, for people, why that cannot be.
    pub fn bound(&self, resources: &Resources) -> Result<(), String> {
        let memory = resources.memory_bytes.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        let bounds = Bounds { memory, processes: resources.processes, milli_cpus: resources.milli_cpus };
        self.job.limit(bounds).map_err(|error| format!("the job cannot be bounded: {error}"))
    }

    /// Whether somebody in it wanted more memory than it may have.
    pub fn ran_out_of_memory(&self) -> bool {
        self.job.ran_out_of_memory()
    }

    /// As it is recorded.
    pub fn boundary(&self) -> Boundary {
        Boundary::Job { name: self.name.clone() }
    }

    /// As whoever strikes at it says, and what proves that it may.
    pub fn target(&self) -> (Target, Proof) {
        (Target::Job { name: self.name.clone() }, Proof::RunJob)
    }

    /// The processes in it. They come and go meanwhile: a list is a list of targets.
    pub fn pids(&self) -> io::Result<Vec<i32>> {
        Ok(self.job.pids()?.into_iter().map(u32::cast_signed).collect())
    }

    /// How those belong to a run who are in its job.
    pub fn via(&self) -> Via {
        Via::Job
    }

    /// Whether a process is in it; one that cannot be asked about is not, as far as is known.
    pub fn holds(&self, pid: i32) -> bool {
        Process::open(pid).is_ok_and(|process| process.is_some_and(|process| self.holds_this(&process)))
    }

    pub(crate) fn holds_this(&self, process: &Process) -> bool {
        self.job.holds(process.handle.as_handle()).unwrap_or(false)
    }

    /// Whether anybody is in it, or that cannot be told (I6).
    pub fn is_occupied(&self) -> bool {
        self.job.is_occupied().unwrap_or(true)
    }

    /// Kills everything in it at once; nothing that is started meanwhile escapes that.
    pub fn kill(&self) -> io::Result<()> {
        self.job.terminate()
    }

    /// It goes by itself, with the last handle.
    pub fn remove(&self) -> io::Result<()> {
        Ok(())
    }
}

impl std::fmt::Display for Enclosure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

/// It is found from every session of the user: a daemon may run in another than the keeper.
fn name(instance: &InstanceId, run: &RunId) -> String {
    format!("Global\\tenure-{instance}-{run}")
}

/// What all that were ever in a job have used: CPU time, and bytes read and written by any call where that is counted.
pub(crate) fn used(job: &JobObject) -> (Duration, u64) {
    let ticks = job.accounts().map_or(0, |accounts| accounts.cpu_ticks);
    (Duration::from_millis(ticks / TICKS_PER_MS), job.io_bytes().unwrap_or(0))
}
