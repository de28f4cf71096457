//! What must be true when a run has ended, however it ended: nobody is left, and the record says so.

use crate::install::Install;
use crate::{eventually, proc};
use serde_json::Value;
use std::path::Path;

impl Install {
    /// Asserts that a run has ended with nothing left of it, and returns its `termination`.
    #[track_caller]
    pub fn assert_ended_whole(&self, id: &str) -> Value {
        let record = self.show(id);
        assert_eq!(record["state"], "exited", "{record}");
        let ending = record["termination"].clone();
        assert_eq!(ending["confirmed"], true, "{ending}");
        assert_eq!(ending["survivors"], serde_json::json!([]), "{ending}");
        if let Some(path) = record["boundary"]["path"].as_str() {
            eventually("the run's cgroup is removed", || (!Path::new(path).exists()).then_some(()));
        }
        self.assert_nobody_is_left();
        ending
    }

    /// Asserts that no process of this installation is alive: no keeper, no nursery, and nobody who was started
    /// with a path of it. Keepers and nurseries leave in the moment after the ending.
    #[track_caller]
    pub fn assert_nobody_is_left(&self) {
        eventually("every process of the installation is gone", || self.processes().is_empty().then_some(()));
        assert_eq!(self.complaints(), "", "nurseries and keepers complained");
    }

    /// Asserts that a run is enclosed by what this installation is to use.
    #[track_caller]
    pub fn assert_boundary(&self, record: &Value) {
        let kind = &record["boundary"]["kind"];
        match self.expects_cgroup() {
            Some(true) => assert_eq!(kind, "cgroup", "{record}"),
            Some(false) => assert_eq!(kind, "subreaper", "{record}"),
            // Where one was delegated.
            None => {}
        }
    }

    /// Every process that this installation's directory is named to, by command line or environment.
    pub fn processes(&self) -> Vec<i32> {
        let own = std::process::id().cast_signed();
        proc::naming(self.dir().to_str().expect("a path in UTF-8"))
            .into_iter()
            .filter(|&pid| pid != own)
            .collect()
    }
}
