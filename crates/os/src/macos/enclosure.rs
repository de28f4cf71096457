//! What would enclose a run: macOS has nothing like it, so there never is one. A run is the root's session and group, and
//! whoever carries its lease.

use std::io;
use tenure_core::ids::{InstanceId, RunId};
use tenure_core::journal::{Proof, Target};
use tenure_core::record::Boundary;
use tenure_core::resources::Resources;
use tenure_core::wire::Via;

/// An enclosure, of which there is none.
#[derive(Debug)]
pub enum Enclosure {}

/// What encloses a run that has none.
pub fn without(_: String) -> Boundary {
    Boundary::Group
}

/// There is nothing to look up.
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

    /// There is none.
    pub fn make(_: bool, _: &InstanceId, _: &RunId) -> Result<Self, String> {
        Err("macOS has no control groups".to_owned())
    }

    /// There is none.
    pub fn find(_: &InstanceId, _: &RunId) -> io::Result<Option<Self>> {
        Ok(None)
    }

    /// There is none.
    pub fn open(_: &Boundary) -> io::Result<Option<Self>> {
        Ok(None)
    }

    /// Bounds what those who will be in it may use.
    pub fn bound(&self, _: &Resources) -> Result<(), String> {
        match *self {}
    }

    /// Whether somebody in it was killed for want of memory.
    pub fn ran_out_of_memory(&self) -> bool {
        match *self {}
    }

    /// As it is recorded.
    pub fn boundary(&self) -> Boundary {
        match *self {}
    }

    /// As whoever strikes at it says, and what proves that it may.
    pub fn target(&self) -> (Target, Proof) {
        match *self {}
    }

    /// The processes in it.
    pub fn pids(&self) -> io::Result<Vec<i32>> {
        match *self {}
    }

    /// How those belong to a run who are in it.
    pub fn via(&self) -> Via {
        match *self {}
    }

    /// Whether a process is in it.
    pub fn holds(&self, _: i32) -> bool {
        match *self {}
    }

    /// Whether anybody is in it.
    pub fn is_occupied(&self) -> bool {
        match *self {}
    }

    /// Kills everything in it at once.
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
