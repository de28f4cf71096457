//! Assertions about a run after its end: no process is left, and the record says so.

use crate::install::Install;
use crate::{eventually, proc};
use serde_json::Value;
use std::path::Path;

impl Install {
    /// Asserts that a run has ended with nothing left of it, and returns its `termination`.
    #[track_caller]
    pub fn assert_ended_cleanly(&self, id: &str) -> Value {
        let record = self.show(id);
        assert_eq!(record["state"], "exited", "{record}");
        let ending = record["termination"].clone();
        assert_eq!(ending["confirmed"], true, "{ending}");
        assert_eq!(ending["survivors"], serde_json::json!([]), "{ending}");
        if let Some(path) = record["boundary"]["path"].as_str() {
            eventually("the run's cgroup is removed", || (!Path::new(path).exists()).then_some(()));
        }
        self.assert_no_process_left();
        ending
    }

    /// Asserts that no process of this installation is alive: no keeper, no nursery, and no process with one
    /// of its paths. Keepers and nurseries exit just after the ending.
    #[track_caller]
    pub fn assert_no_process_left(&self) {
        eventually("every process of the installation is gone", || self.processes().is_empty().then_some(()));
        assert_eq!(self.nursery_log(), "", "nurseries and keepers complained");
    }

    /// Asserts that a run has the boundary that this installation must use.
    #[track_caller]
    pub fn assert_boundary(&self, record: &Value) {
        let kind = &record["boundary"]["kind"];
        match self.expects_cgroup() {
            Some(true) => assert_eq!(kind, "cgroup", "{record}"),
            Some(false) => assert_eq!(kind, "subreaper", "{record}"),
            // Depends on delegation.
            None => {}
        }
    }

    /// Every process whose command line or environment names this installation's directory.
    pub fn processes(&self) -> Vec<i32> {
        let own = std::process::id().cast_signed();
        proc::naming(self.dir().to_str().expect("a path in UTF-8"))
            .into_iter()
            .filter(|&pid| pid != own)
            .collect()
    }
}
