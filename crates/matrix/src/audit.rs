//! What must be true of the records of an installation whose runs have all ended, by what Tenure itself tells of them.

use crate::home::Home;
use crate::eventually;
use serde_json::Value;

impl Home {
    /// Every run there ever was.
    #[track_caller]
    pub fn runs(&self) -> Vec<Value> {
        serde_json::from_str(&self.says(&["ps", "--all", "--json"])).expect("a list of runs")
    }

    /// Everything that was told, the oldest first.
    #[track_caller]
    pub fn events(&self) -> Vec<Value> {
        let text = self.says(&["events", "--since", "0", "--json"]);
        serde_json::Deserializer::from_str(&text).into_iter().map(|event| event.expect("JSON")).collect()
    }

    /// What was told of one run under this name.
    #[track_caller]
    pub fn told(&self, run: &str, kind: &str) -> Vec<Value> {
        let is = |event: &Value| event["runId"] == run && event["kind"] == kind;
        self.events().into_iter().filter(is).collect()
    }

    /// One value of the metrics.
    #[track_caller]
    pub fn metric(&self, name: &str) -> u64 {
        let text = self.says(&["metrics"]);
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.and_then(|value| value.trim().parse().ok()).unwrap_or_else(|| panic!("no {name} in {text}"))
    }

    /// Every run has ended, was told of once, is closed, and is counted.
    #[track_caller]
    pub fn audit(&self) {
        let runs = eventually("that every run is recorded as ended", || {
            let runs = self.runs();
            runs.iter().all(|run| run["state"] == "exited").then_some(runs)
        });
        let events = self.events();
        let reasons: Vec<&str> = runs.iter().filter_map(|run| run["termination"]["reason"].as_str()).collect();
        assert_eq!(reasons.len(), runs.len(), "each has an ending: {runs:?}");
        for run in &runs {
            let told = |kind: &str| {
                events.iter().filter(|event| event["runId"] == run["runId"] && event["kind"] == kind).count()
            };
            let executed = usize::from(run["termination"]["reason"] != "spawn-error");
            assert_eq!((told("run-created"), told("run-ended")), (1, 1), "{run}");
            assert_eq!(told("run-started"), executed, "{run}");
            assert!(told("run-leaving") <= 1, "{run}");
        }
        for reason in reasons.iter().copied() {
            let counted = self.metric(&format!("tenure_run_exit_total{{reason=\"{reason}\"}}"));
            let ended = reasons.iter().filter(|one| **one == reason).count();
            assert_eq!(counted, ended as u64, "{reason}");
        }
        for (kind, reason) in [("no_output", "no-output-timeout"), ("overall", "overall-timeout")] {
            let counted = self.metric(&format!("tenure_run_timeout_total{{type=\"{kind}\"}}"));
            assert_eq!(counted, reasons.iter().filter(|one| **one == reason).count() as u64, "{reason}");
        }
    }
}
