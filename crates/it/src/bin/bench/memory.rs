//! Memory and CPU time of keepers while their runs are idle.

use crate::subject::Subject;
use crate::table::Row;
use crate::tenure_runs::{self, LaunchOptions, Run, TenureRuns};
use std::fs;
use std::io;
use std::time::Duration;

const RUNS: usize = 1000;
/// Time until the keepers are idle, and then the time of the measurement.
const SETTLE: Duration = Duration::from_secs(2);
const WATCH: Duration = Duration::from_secs(5);

pub(crate) fn measure(subject: &Subject) -> io::Result<Vec<Row>> {
    // Each run needs one connection of ours.
    tenure_os::descriptors::raise_limit();
    let nursery = TenureRuns::open(&subject.dir().join("memory"))?;
    let spec = tenure_runs::spec(subject, &["idle"], LaunchOptions::plain())?;
    let mut runs = Vec::new();
    let mut keepers = Vec::new();
    for _ in 0..RUNS {
        let mut run = nursery.launch(&spec)?;
        keepers.push(run.started()?.keeper.pid);
        runs.push(run);
    }
    let found = look(&keepers, nursery.nursery());
    // Without this, the connections would end with this program, and the runs a second later.
    runs.iter_mut().for_each(Run::cancel);
    for mut run in runs {
        run.wait()?;
    }
    found
}

fn look(keepers: &[i32], nursery: i32) -> io::Result<Vec<Row>> {
    wait(SETTLE);
    let before: Vec<ResourceUse> =
        keepers.iter().map(|&pid| ResourceUse::by(pid)).collect::<io::Result<_>>()?;
    wait(WATCH);
    let after: Vec<ResourceUse> =
        keepers.iter().map(|&pid| ResourceUse::by(pid)).collect::<io::Result<_>>()?;
    let pairs = || before.iter().zip(&after);
    let ticks: u64 = pairs().map(|(before, after)| after.ticks - before.ticks).sum();
    let switches: u64 = pairs().map(|(before, after)| after.switches - before.switches).sum();
    let sizes: Vec<u64> = keepers.iter().map(|&pid| pss_kib(pid)).collect::<io::Result<_>>()?;
    let mean = sizes.iter().sum::<u64>().div_ceil(sizes.len() as u64);
    let most = sizes.iter().max().copied().unwrap_or(0);
    Ok(vec![
        Row::amount(&format!("PSS of a keeper, mean of {}", keepers.len()), mean, "KiB", Some(64)),
        Row::amount("PSS of the largest keeper", most, "KiB", None),
        Row::amount("PSS of the nursery", pss_kib(nursery)?, "KiB", None),
        Row::amount("CPU of all idle keepers in 5 s", ticks, "ticks", Some(0)),
        Row::amount("context switches of all, in 5 s", switches, "switches", Some(0)),
    ])
}

/// Resource use of a process so far.
struct ResourceUse {
    ticks: u64,
    switches: u64,
}

impl ResourceUse {
    fn by(pid: i32) -> io::Result<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        let after_name = stat.rsplit(')').next().unwrap_or_default();
        // proc(5) numbers these fields 14 and 15; the third comes first here.
        let times = after_name.split_ascii_whitespace().skip(11).take(2);
        let ticks = times.filter_map(|field| field.parse::<u64>().ok()).sum();
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let switches =
            field(&status, "voluntary_ctxt_switches") + field(&status, "nonvoluntary_ctxt_switches");
        Ok(Self { ticks, switches })
    }
}

pub(crate) fn pss_kib(pid: i32) -> io::Result<u64> {
    fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).map(|text| field(&text, "Pss"))
}

/// The number of a line like `Name:   12 kB`.
pub(crate) fn field(text: &str, name: &str) -> u64 {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let mut values = lines.filter(|(found, _)| *found == name).map(|(_, value)| value);
    values.next().and_then(|value| value.split_ascii_whitespace().next()?.parse().ok()).unwrap_or(0)
}

pub(crate) fn wait(length: Duration) {
    let until = std::time::Instant::now() + length;
    while let left = until.saturating_duration_since(std::time::Instant::now())
        && !left.is_zero()
    {
        std::thread::park_timeout(left);
    }
}
