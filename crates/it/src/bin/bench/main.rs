//! What Tenure costs, as ratios to the same thing done raw in the same run: each raw sample is followed by a
//! kept one, so that a busy machine burdens both. Speed never fails: a row over its bar says so.
//!
//! `bench [start|pipe|pty|stop|memory]…`; without a name, all of them.

mod kept;
mod memory;
mod output;
mod raw;
mod samples;
mod start;
mod stop;
mod subject;
mod table;

use std::io;
use std::process::ExitCode;
use subject::Subject;
use table::Row;

/// One of the measurements.
struct Bench {
    name: &'static str,
    measure: fn(&Subject) -> io::Result<Vec<Row>>,
    /// Whether it may keep everybody else waiting: latencies are short, and a neighbour in between is not ours.
    ahead: bool,
}

const BENCHES: [Bench; 5] = [
    Bench { name: "start", measure: start::measure, ahead: true },
    Bench { name: "pipe", measure: output::measure_pipe, ahead: false },
    Bench { name: "pty", measure: output::measure_pty, ahead: false },
    Bench { name: "stop", measure: stop::measure, ahead: true },
    Bench { name: "memory", measure: memory::measure, ahead: false },
];

fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).collect();
    // The nursery is this program executed again, and so is the command line that one row goes through.
    if names.first().is_some_and(|name| name == "nursery" || name == "run") {
        return tenure_cli::main();
    }
    match measure(&names) {
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
