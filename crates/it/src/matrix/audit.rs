//! Invariants of the records of an installation whose runs have all ended, by Tenure's own output.

use super::install::MatrixInstall;
use crate::eventually;
use serde_json::Value;
use tenure_core::ending::Reason;

impl MatrixInstall {
    /// Every run.
    #[track_caller]
    pub fn runs(&self) -> Vec<Value> {
        serde_json::from_str(&self.output_of(&["ps", "--all", "--json"])).expect("a list of runs")
    }

    /// All events, the oldest first.
    #[track_caller]
    pub fn events(&self) -> Vec<Value> {
        let text = self.output_of(&["events", "--since", "0", "--json"]);
        serde_json::Deserializer::from_str(&text).into_iter().map(|event| event.expect("JSON")).collect()
    }

    /// The events of one run of this kind.
    #[track_caller]
    pub fn events_of(&self, run: &str, kind: &str) -> Vec<Value> {
        let is = |event: &Value| event["runId"] == run && event["kind"] == kind;
        self.events().into_iter().filter(is).collect()
    }

    /// Waits for events of one run of this kind.
    #[track_caller]
    pub fn wait_events_of(&self, run: &str, kind: &str) -> Vec<Value> {
        eventually(kind, || Some(self.events_of(run, kind)).filter(|told| !told.is_empty()))
    }

    /// A value of the metrics.
    #[track_caller]
    pub fn metric(&self, name: &str) -> u64 {
        metric(&self.output_of(&["metrics"]), name)
    }

    /// Checks that every run has ended, with one event of its start and end, and is closed; returns the
    /// reason of each ending.
    #[track_caller]
    pub fn audit(&self) -> Vec<String> {
        let runs = eventually("every run is recorded as ended", || {
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

    /// Checks that the counters of the only daemon count these endings, each once.
    #[track_caller]
    pub fn audit_metrics(&self, reasons: &[String]) {
        let text = self.output_of(&["metrics"]);
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
