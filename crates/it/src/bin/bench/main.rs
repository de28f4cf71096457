//! Cost of Tenure, as ratios to the same work done raw in the same benchmark: each raw sample is followed by one under
//! Tenure, so that a busy machine burdens both. Speed never fails: a row over its bar says so.
//!
//! `bench [NAME]…`; without a name, all of them. The names are in the table below.

mod acp;
mod api_cancel;
mod api_client;
mod api_start;
mod bench_daemon;
mod daemon_memory;
mod memory;
mod output;
mod raw;
mod registry;
mod samples;
mod start;
mod stop;
mod subject;
mod table;
mod task_start;
mod tasks;
mod tenure_runs;
mod throughput;

use std::io;
use std::process::ExitCode;
use subject::Subject;
use table::Row;

/// A measurement.
struct Bench {
    name: &'static str,
    measure: fn(&Subject) -> io::Result<Vec<Row>>,
    /// True if it may run ahead of other processes: latencies are short, and a neighbour in between is not
    /// ours.
    ahead: bool,
}

const BENCHES: [Bench; 16] = [
    Bench { name: "start", measure: start::measure, ahead: true },
    Bench { name: "pipe", measure: output::measure_pipe, ahead: false },
    Bench { name: "pty", measure: output::measure_pty, ahead: false },
    Bench { name: "stop", measure: stop::measure, ahead: true },
    Bench { name: "memory", measure: memory::measure, ahead: false },
    Bench { name: "api-start", measure: api_start::measure, ahead: true },
    Bench { name: "api-throughput", measure: throughput::measure, ahead: true },
    Bench { name: "api-cancel", measure: api_cancel::measure, ahead: true },
    Bench { name: "daemon-memory", measure: daemon_memory::measure, ahead: false },
    Bench { name: "ready", measure: registry::measure_ready, ahead: false },
    Bench { name: "page", measure: registry::measure_page, ahead: false },
    Bench { name: "task-start", measure: task_start::measure, ahead: true },
    Bench { name: "tasks", measure: tasks::measure, ahead: false },
    Bench { name: "acp-prompt", measure: acp::measure_prompt, ahead: true },
    Bench { name: "acp-sessions", measure: acp::measure_sessions, ahead: false },
    Bench { name: "acp-entries", measure: acp::measure_entries, ahead: false },
];

fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).collect();
    // Daemons and nurseries are this program executed again, and so is the command line of one row.
    if names.first().is_some_and(|name| ["daemon", "nursery", "run"].contains(&name.as_str())) {
        return tenure_cli::main();
    }
    // So is the agent.
    let done =
        if names.first().is_some_and(|name| name == "agent") { acp::agent::speak() } else { measure(&names) };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(names: &[String]) -> io::Result<()> {
    if let Some(name) = names.iter().find(|name| BENCHES.iter().all(|bench| bench.name != *name)) {
        let known = BENCHES.map(|bench| bench.name).join(", ");
        return Err(io::Error::other(format!("there is no bench {name:?}; there are {known}")));
    }
    let subject = Subject::build()?;
    let mut rows = Vec::new();
    for bench in BENCHES {
        if names.is_empty() || names.iter().any(|wanted| wanted == bench.name) {
            let ahead = raw::ahead_of_neighbours(bench.ahead) && bench.ahead;
            eprintln!("bench: {}{}", bench.name, if ahead { ", ahead of neighbours" } else { "" });
            rows.extend((bench.measure)(&subject)?);
        }
    }
    table::print(&rows);
    Ok(())
}
