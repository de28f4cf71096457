//! The resource limits of a run. Memory, CPU and processes are limited for the whole tree by its cgroup, so they
//! need a cgroup with the right controllers; rlimits apply to each process and need nothing.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The resource limits of a run; `None` is unlimited.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Resources {
    /// Memory of the whole tree, without any swap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// CPU time of the whole tree, in thousandths of one CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub milli_cpus: Option<u32>,
    /// Processes and threads of the whole tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u32>,
    /// Limits of each single process.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rlimits: Vec<(Rlimit, u64)>,
}

/// A limit that the system keeps for each process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rlimit {
    /// Bytes of address space.
    As,
    /// Seconds of CPU time.
    Cpu,
    /// Processes of the user; the superuser is exempt.
    Nproc,
    /// Bytes of a file that is written.
    Fsize,
    /// Open descriptors.
    Nofile,
    /// Bytes of a core dump.
    Core,
    /// Bytes of the main thread's stack.
    Stack,
    /// Bytes of locked memory.
    Memlock,
}

/// A cgroup controller that limits a tree needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Controller {
    /// Limits memory.
    Memory,
    /// Limits CPU time.
    Cpu,
    /// Limits processes.
    Pids,
}

/// A limit of zero, under which nothing could run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a limit of 0 {what} is not possible: use a larger one, or none")]
pub struct NothingLeft {
    what: &'static str,
}

impl Resources {
    /// Returns true if nothing is limited.
    pub fn is_unbounded(&self) -> bool {
        *self == Self::default()
    }

    /// Refuses limits under which nothing could run.
    pub fn check(&self) -> Result<(), NothingLeft> {
        let none = [
            ("memory", self.memory_bytes == Some(0)),
            ("CPU", self.milli_cpus == Some(0)),
            ("processes", self.processes == Some(0)),
        ];
        none.iter().find(|(_, none)| *none).map_or(Ok(()), |&(what, _)| Err(NothingLeft { what }))
    }

    /// Returns the controllers that the run's cgroup must have.
    pub fn controllers(&self) -> Vec<Controller> {
        let wanted = [
            self.memory_bytes.map(|_| Controller::Memory),
            self.milli_cpus.map(|_| Controller::Cpu),
            self.processes.map(|_| Controller::Pids),
        ];
        wanted.into_iter().flatten().collect()
    }
}

impl Controller {
    /// Returns the reason why a run that needs this controller is not started, and an alternative.
    pub fn refusal(self, why: &str) -> String {
        let (limit, instead) = match self {
            Controller::Memory => ("memory", "as"),
            Controller::Cpu => ("CPU", "cpu"),
            Controller::Pids => ("process", "nproc"),
        };
        format!(
            "a {limit} limit for a whole run needs the cgroup controller `{self}`, and there is none: {why}; \
             the rlimit `{instead}` bounds each process without it"
        )
    }
}

impl fmt::Display for Controller {
    /// Formats the controller as `cgroup.controllers` spells it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Controller::Memory => "memory",
            Controller::Cpu => "cpu",
            Controller::Pids => "pids",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_nothing_is_refused() {
        let none = Resources { milli_cpus: Some(0), ..Resources::default() };
        assert!(none.check().is_err_and(|error| error.to_string().contains("CPU")));
        assert_eq!(Resources { memory_bytes: Some(1), ..Resources::default() }.check(), Ok(()));
    }

    #[test]
    fn rlimits_need_no_controller() {
        let each = Resources { rlimits: vec![(Rlimit::As, 1 << 30)], ..Resources::default() };
        assert_eq!((each.controllers(), each.is_unbounded()), (Vec::new(), false));
        let tree = Resources { memory_bytes: Some(1), processes: Some(1), ..Resources::default() };
        assert_eq!(tree.controllers(), [Controller::Memory, Controller::Pids]);
    }

    #[test]
    fn resources_read_back_as_written_and_may_be_left_out() {
        let all = Resources {
            memory_bytes: Some(1 << 29),
            milli_cpus: Some(1500),
            processes: Some(64),
            rlimits: vec![(Rlimit::Nofile, 100)],
        };
        let text = serde_json::to_string(&all).unwrap();
        assert_eq!(
            text,
            r#"{"memoryBytes":536870912,"milliCpus":1500,"processes":64,"rlimits":[["nofile",100]]}"#
        );
        assert_eq!(serde_json::from_str::<Resources>(&text).unwrap(), all);
        assert_eq!(serde_json::from_str::<Resources>("{}").unwrap(), Resources::default());
    }
}
