//! What must be true of the records of an installation whose runs have all ended, by what Tenure itself tells of them.

use super::home::Home;
use crate::eventually;
use serde_json::Value;
use tenure_core::ending::Reason;

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

    /// The same once something was.
    #[track_caller]
    pub fn wait_told(&self, run: &str, kind: &str) -> Vec<Value> {
        eventually(kind, || Some(self.told(run, kind)).filter(|told| !told.is_empty()))
    }

    /// One value of the metrics.
    #[track_caller]
    pub fn metric(&self, name: &str) -> u64 {
        metric(&self.says(&["metrics"]), name)
    }

    /// Every run has ended, was told of once, and is closed; returns why each has ended.
    #[track_caller]
    pub fn audit(&self) -> Vec<String> {
        let runs = eventually("that every run is recorded as ended", || {
            let runs = self.runs();
            runs.iter().all(|run| run["state"] == "exited").then_some(runs)
        });
        let events = self.events();
        for run in &runs {
            let told = |kind: &str| {
                events.iter().filter(|event| event["runId"] == run["runId"] && event["kind"] == kind).count()
            };
            let executed = usize::from(run["termination"]["reason"] != "spawn-error");
            assert_eq!((told("run-created"), told("run-ended")), (1, 1), "{run}");
            assert_eq!(told("run-started"), executed, "{run}");
            assert!(told("run-leaving") <= 1, "{run}");
        }
        let reason = |run: &Value| run["termination"]["reason"].as_str().expect("a reason").to_owned();
        runs.iter().map(reason).collect()
    }

    /// The counters of the only daemon that there is count these endings, each once.
    #[track_caller]
    pub fn audit_metrics(&self, reasons: &[String]) {
        let text = self.says(&["metrics"]);
        let ended = |reason: &str| reasons.iter().filter(|one| *one == reason).count() as u64;
        for reason in Reason::ALL.map(|reason| reason.to_string()) {
            let name = format!("tenure_run_exit_total{{reason=\"{reason}\"}}");
            assert_eq!(metric(&text, &name), ended(&reason), "{name}: {text}");
        }
        for (kind, reason) in [("no_output", "no-output-timeout"), ("overall", "overall-timeout")] {
            let name = format!("tenure_run_timeout_total{{type=\"{kind}\"}}");
            assert_eq!(metric(&text, &name), ended(reason), "{name}: {text}");
        }
    }
}

#[track_caller]
fn metric(text: &str, name: &str) -> u64 {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.and_then(|value| value.trim().parse().ok()).unwrap_or_else(|| panic!("no {name} in {text}"))
}
