//! The enclosure of a run, which macOS does not have. A run is the root's session and group, and every process that
//! has its lease.

use std::io;
use tenure_core::ids::{InstanceId, RunId};
use tenure_core::journal::{Proof, Target};
use tenure_core::record::Boundary;
use tenure_core::resources::Resources;
use tenure_core::wire::Via;

/// An enclosure; there is never one.
#[derive(Debug)]
pub enum Enclosure {}

/// Returns the boundary of a run.
pub fn without(_: String) -> Boundary {
    Boundary::Group
}

/// Does nothing: there is nothing to find.
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

    /// Fails: there are none.
    pub fn make(_: bool, _: &InstanceId, _: &RunId) -> Result<Self, String> {
        Err("macOS has no control groups".to_owned())
    }

    /// Returns `None`.
    pub fn find(_: &InstanceId, _: &RunId) -> io::Result<Option<Self>> {
        Ok(None)
    }

    /// Returns `None`.
    pub fn open(_: &Boundary) -> io::Result<Option<Self>> {
        Ok(None)
    }

    /// Limits the processes that will be in it.
    pub fn bound(&self, _: &Resources) -> Result<(), String> {
        match *self {}
    }

    /// Returns true if a process in it was killed for lack of memory.
    pub fn ran_out_of_memory(&self) -> bool {
        match *self {}
    }

    /// Returns the boundary to record.
    pub fn boundary(&self) -> Boundary {
        match *self {}
    }

    /// Returns the target of a signal, and the proof that it may be signalled.
    pub fn target(&self) -> (Target, Proof) {
        match *self {}
    }

    /// Returns the processes in it.
    pub fn pids(&self) -> io::Result<Vec<i32>> {
        match *self {}
    }

    /// Returns the way in which a process in it belongs to the run.
    pub fn via(&self) -> Via {
        match *self {}
    }

    /// Returns true if a process is in it.
    pub fn holds(&self, _: i32) -> bool {
        match *self {}
    }

    /// Returns true if any process is in it.
    pub fn is_occupied(&self) -> bool {
        match *self {}
    }

    /// Kills all processes in it at once.
    pub fn kill(&self) -> io::Result<()> {
        match *self {}
    }

    /// Removes it.
    pub fn remove(&self) -> io::Result<()> {
        match *self {}
    }
}

impl std::fmt::Display for Enclosure {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {}
    }
}
