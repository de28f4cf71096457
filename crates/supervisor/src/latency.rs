//! Durations of starts and stops, for the metrics.

use crate::run_handle::RunHandle;
use prometheus_client::metrics::histogram::Histogram;
use std::time::Duration;
use tenure_core::record::Ending;

/// From half a millisecond to a minute.
const BUCKETS: [f64; 13] = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0];

/// The histograms.
#[derive(Debug)]
pub struct Latency {
    pub start: Histogram,
    pub stop: Histogram,
}

impl Default for Latency {
    fn default() -> Self {
        Self { start: Histogram::new(BUCKETS), stop: Histogram::new(BUCKETS) }
    }
}

impl Latency {
    /// Records the duration of a start, which may have failed.
    pub(crate) fn started(&self, took: Duration) {
        self.start.observe(took.as_secs_f64());
    }

    /// Records the duration of a stop.
    pub(crate) fn ended(&self, held: &RunHandle, ending: &Ending) {
        if let Some(since) = held.status().leaving_since_ms {
            #[expect(clippy::cast_precision_loss, reason = "a run is not stopped for aeons")]
            self.stop.observe(ending.ended_at_ms.saturating_sub(since) as f64 / 1000.0);
        }
    }
}
