//! The metrics. Counters come from the registry, which raises each in the transaction that records the counted change, so
//! they are exact and outlive the daemon. Gauges and durations are the daemon's own.

use crate::daemon::Daemon;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use std::fmt::{self, Write};
use tenure_core::ending::Reason;
use tenure_store::{Backlog, Count};
use tenure_supervisor::Refusal;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabel {
    reason: ReasonValue,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TypeLabel {
    r#type: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ModeLabel {
    mode: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ReasonValue(Reason);

impl EncodeLabelValue for ReasonValue {
    fn encode(&self, encoder: &mut LabelValueEncoder) -> fmt::Result {
        write!(encoder, "{}", self.0)
    }
}

/// The metrics as text.
pub(crate) async fn text(daemon: &Daemon) -> Result<String, Refusal> {
    let known = daemon.supervisor.registry.counts(daemon.supervisor.instance.clone()).await?;
    let of = |count: Count| known.iter().find(|(it, _)| *it == count).map_or(0, |(_, n)| *n);
    let mut registry = Registry::with_prefix("tenure");
    let simple = |n: u64| {
        let counter: Counter = Counter::default();
        counter.inc_by(n);
        counter
    };
    registry.register("run_spawn", "Commands executed", simple(of(Count::Spawn)));
    registry.register(
        "run_reconcile_orphans",
        "Runs found without a keeper and closed",
        simple(of(Count::Orphan)),
    );
    registry.register("run_lease_steal", "Leases taken from lost owners", simple(of(Count::Steal)));
    registry.register(
        "run_ownership_escape",
        "Runs out of which a process escaped",
        simple(of(Count::Escape)),
    );
    let exits = Family::<ReasonLabel, Counter>::default();
    // A reason that never occurred is exported as zero.
    for reason in Reason::ALL {
        exits.get_or_create(&ReasonLabel { reason: ReasonValue(reason) }).inc_by(of(Count::Exit(reason)));
    }
    registry.register("run_exit", "Runs ended, by reason", exits);
    let timeouts = Family::<TypeLabel, Counter>::default();
    for (r#type, count) in [("no_output", Count::TimeoutNoOutput), ("overall", Count::TimeoutOverall)] {
        timeouts.get_or_create(&TypeLabel { r#type }).inc_by(of(count));
    }
    registry.register("run_timeout", "Runs ended by a time limit", timeouts);
    let kills = Family::<ModeLabel, Counter>::default();
    let modes = [
        ("pid", Count::KillPid),
        ("pgid", Count::KillGroup),
        ("cgroup", Count::KillCgroup),
        ("job", Count::KillJob),
    ];
    for (mode, count) in modes {
        kills.get_or_create(&ModeLabel { mode }).inc_by(of(count));
    }
    registry.register("run_cleanup_kill", "Kills during cleanup", kills);
    register_present(daemon, &mut registry);
    register_backlog(daemon.supervisor.registry.backlog().await?, &mut registry);
    let mut text = String::new();
    encode(&mut text, &registry).map_err(Refusal::internal)?;
    Ok(text)
}

/// Registers the current numbers, and the durations since the daemon started.
fn register_present(daemon: &Daemon, registry: &mut Registry) {
    let now = |n: usize| {
        let gauge: Gauge = Gauge::default();
        gauge.set(i64::try_from(n).unwrap_or(i64::MAX));
        gauge
    };
    registry.register("runs_live", "Runs that this daemon holds", now(daemon.supervisor.runs.count()));
    registry.register(
        "runs_queued",
        "Runs that wait for a place",
        now(daemon.supervisor.starts.admission.queued()),
    );
    registry.register(
        "run_start_seconds",
        "From the request to the command's execution",
        daemon.supervisor.starts.latency.start.clone(),
    );
    registry.register(
        "run_stop_seconds",
        "From the cause to the recorded end",
        daemon.supervisor.starts.latency.stop.clone(),
    );
}

/// Registers the numbers of unfinished tasks and notices.
fn register_backlog(backlog: Backlog, registry: &mut Registry) {
    let now = |n: u64| {
        let gauge: Gauge = Gauge::default();
        gauge.set(i64::try_from(n).unwrap_or(i64::MAX));
        gauge
    };
    registry.register("tasks_queued", "Tasks that have not begun", now(backlog.tasks_queued));
    registry.register("tasks_running", "Tasks that are running", now(backlog.tasks_running));
    registry.register(
        "outbox_depth",
        "Notices that wait for delivery to a channel",
        now(backlog.notices_due),
    );
    registry.register(
        "notices_queued",
        "Notices that wait for a session's next turn",
        now(backlog.notices_queued),
    );
    registry.register("notices_failed", "Notices that could not be delivered", now(backlog.notices_failed));
}
