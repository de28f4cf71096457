//! Detects a silent agent: some never answer when their model fails. Silence ends a turn only if no process of the
//! session works meanwhile and no permission question is open.

use super::adapter::Adapter;
use crate::Agents;
use crate::sessions::query;
use std::collections::HashSet;
use std::time::Duration;
use tenure_core::session::SessionKey;
use tenure_core::watch::{Usage, worked};
use tokio::time::{Instant, sleep_until};

/// Maximum number of runs to measure in a session: its adapter and its terminals.
const MEASURED_RUNS: usize = 50;

/// Measurement of a session's processes.
struct Measurement {
    at: Instant,
    usage: Usage,
    /// Pid and start time of each process.
    processes: HashSet<(i32, u64)>,
}

/// Waits until an agent has been silent and idle for its limit; returns the limit. The session is measured at half the
/// limit and at the limit.
pub(crate) async fn until_silent(
    agents: &Agents,
    key: &SessionKey,
    adapter: &Adapter,
    limit: Option<Duration>,
) -> Duration {
    let Some(limit) = limit else { return std::future::pending().await };
    let mut begun = Instant::now();
    loop {
        let since = begun.max(adapter.last_output_at());
        sleep_until(since + limit / 2).await;
        if adapter.last_output_at() > since {
            continue;
        }
        let first = measure(agents, key).await;
        // Even after a slow measurement, there must be some time between the two.
        sleep_until((since + limit).max(Instant::now() + limit / 4)).await;
        if adapter.last_output_at() > since {
            continue;
        }
        let last = measure(agents, key).await;
        let is_idle = matches!((&first, &last), (Some(first), Some(last)) if is_idle(first, last));
        if is_idle && agents.approvals.questions_of(key).await.is_ok_and(|questions| questions.is_empty()) {
            return limit;
        }
        begun = Instant::now();
    }
}

/// Measures the processes of a session; `None` if they cannot be read.
async fn measure(agents: &Agents, key: &SessionKey) -> Option<Measurement> {
    let mut measured = Measurement {
        at: Instant::now(),
        usage: Usage { cpu: Duration::ZERO, io_bytes: 0 },
        processes: HashSet::new(),
    };
    for run in query::live_runs_of(agents, key, MEASURED_RUNS).await.ok()? {
        let row = agents.supervisor.registry.run(run).await.ok()??;
        for process in agents.supervisor.tree(&row).await.ok()? {
            measured.usage.cpu += Duration::from_millis(process.cpu_ms);
            measured.processes.insert((process.note.pid, process.started_at_ms));
        }
    }
    Some(measured)
}

/// Returns true if nothing worked between two measurements. A process that was started meanwhile counts as work, because
/// the totals do not include processes that have ended.
fn is_idle(first: &Measurement, last: &Measurement) -> bool {
    let within = last.at.saturating_duration_since(first.at);
    last.processes.is_subset(&first.processes) && !worked(first.usage, last.usage, within)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(at: Instant, cpu_ms: u64, pids: &[i32]) -> Measurement {
        let usage = Usage { cpu: Duration::from_millis(cpu_ms), io_bytes: 0 };
        Measurement { at, usage, processes: pids.iter().map(|&pid| (pid, 0)).collect() }
    }

    #[test]
    fn cpu_time_and_new_processes_are_work_and_processes_that_end_are_not() {
        let begin = Instant::now();
        let end = begin + Duration::from_mins(1);
        let first = measured(begin, 5_000, &[1, 2]);
        for (cpu_ms, pids, idle) in [
            (5_000, &[1, 2][..], true),
            (5_500, &[1, 2], true),
            (5_600, &[1, 2], false),
            (1_000, &[1], true),
            (1_000, &[1, 3], false),
        ] {
            assert_eq!(is_idle(&first, &measured(end, cpu_ms, pids)), idle, "{cpu_ms} {pids:?}");
        }
    }
}
