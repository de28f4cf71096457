//! A job around one run, which is the whole boundary. Nothing leaves it, and when the last handle is closed,
//! however its holder died, everything in it is killed. The keeper holds the lasting handle; others open the job by
//! its name to look, or to end what a dead keeper left.

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

/// The job of one run.
#[derive(Debug)]
pub struct Enclosure {
    pub(crate) job: Arc<JobObject>,
    name: String,
}

/// Returns the boundary of a run without a job. There is no such run: a root is not started without one.
pub fn without(why: String) -> Boundary {
    Boundary::Subreaper { why: Some(why) }
}

/// Does nothing: keepers need nothing looked up.
pub fn cache_facts() {}

/// Returns no groups: nothing that encloses a run outlives it here.
pub fn all_of(_: &InstanceId) -> Vec<(RunId, Enclosure)> {
    Vec::new()
}

/// Returns `None`: no group has a run's name here.
pub fn run_of(_: i32) -> Option<(InstanceId, RunId)> {
    None
}

impl Enclosure {
    /// The detail of a run that needed more memory than its limit.
    pub const OUT_OF_MEMORY: &'static str = "the memory that it may have was used up";

    /// Makes a run's job. Every run has one, wanted or not.
    pub fn make(_: bool, instance: &InstanceId, run: &RunId) -> Result<Self, String> {
        let name = name(instance, run);
        match JobObject::make(&name) {
            Ok(job) => Ok(Self { job: Arc::new(job), name }),
            Err(error) => Err(format!("no job can be had: {error}")),
        }
    }

    /// Finds the job that a run would have; `None` if there is none.
    pub fn find(instance: &InstanceId, run: &RunId) -> io::Result<Option<Self>> {
        Self::named(name(instance, run))
    }

    /// Opens the recorded job; `None` if none is recorded, or it is gone.
    pub fn open(recorded: &Boundary) -> io::Result<Option<Self>> {
        match recorded {
            Boundary::Job { name } => Self::named(name.clone()),
            Boundary::Cgroup { .. } | Boundary::Subreaper { .. } | Boundary::Group => Ok(None),
        }
    }

    fn named(name: String) -> io::Result<Option<Self>> {
        Ok(JobObject::open(&name)?.map(|job| Self { job: Arc::new(job), name }))
    }

    /// Limits the processes that will be in the job. The error says, for people, why that is impossible.
    pub fn bound(&self, resources: &Resources) -> Result<(), String> {
        let memory = resources.memory_bytes.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        let bounds = Bounds { memory, processes: resources.processes, milli_cpus: resources.milli_cpus };
        self.job.limit(bounds).map_err(|error| format!("the job cannot be bounded: {error}"))
    }

    /// Returns true if a process in the job needed more memory than the limit.
    pub fn ran_out_of_memory(&self) -> bool {
        self.job.ran_out_of_memory()
    }

    /// Returns the boundary to record.
    pub fn boundary(&self) -> Boundary {
        Boundary::Job { name: self.name.clone() }
    }

    /// Returns the job as the target of a signal, and the proof that it may be signalled.
    pub fn target(&self) -> (Target, Proof) {
        (Target::Job { name: self.name.clone() }, Proof::RunJob)
    }

    /// Returns the processes in the job. They come and go meanwhile: a list only provides targets.
    pub fn pids(&self) -> io::Result<Vec<i32>> {
        Ok(self.job.pids()?.into_iter().map(u32::cast_signed).collect())
    }

    /// Returns the way in which a process in the job belongs to the run.
    pub fn via(&self) -> Via {
        Via::Job
    }

    /// Returns true if a process is in the job; one that cannot be examined counts as not.
    pub fn holds(&self, pid: i32) -> bool {
        Process::open(pid).is_ok_and(|process| process.is_some_and(|process| self.holds_this(&process)))
    }

    pub(crate) fn holds_this(&self, process: &Process) -> bool {
        self.job.holds(process.handle.as_handle()).unwrap_or(false)
    }

    /// Returns true if any process is in the job, or if that is unknown (I6).
    pub fn is_occupied(&self) -> bool {
        self.job.is_occupied().unwrap_or(true)
    }

    /// Kills all processes in the job at once; no process started meanwhile escapes that.
    pub fn kill(&self) -> io::Result<()> {
        self.job.terminate()
    }

    /// Does nothing: the job goes with its last handle.
    pub fn remove(&self) -> io::Result<()> {
        Ok(())
    }
}

impl std::fmt::Display for Enclosure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

/// Returns the job's name, which is visible in every session of the user: a daemon may run in another one than the
/// keeper.
fn name(instance: &InstanceId, run: &RunId) -> String {
    format!("Global\\tenure-{instance}-{run}")
}

/// Returns the resources used by all processes that were ever in a job: CPU time, and bytes read and written by any
/// call, if they are counted.
pub(crate) fn used(job: &JobObject) -> (Duration, u64) {
    let ticks = job.accounts().map_or(0, |accounts| accounts.cpu_ticks);
    (Duration::from_millis(ticks / TICKS_PER_MS), job.io_bytes().unwrap_or(0))
}
