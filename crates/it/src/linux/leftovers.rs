//! Leftovers of a run after its end: only its records are allowed.

use crate::install::Install;
use std::fs;
use std::path::PathBuf;
use tenure_keeper::{nursery, rundir::RunDir};

/// The live processes that name the state root in their command line or environment: callers, nurseries,
/// keepers and every process of a run that kept its environment.
pub fn processes(install: &Install) -> Vec<i32> {
    let state = install.state().to_str().expect("a path in UTF-8").as_bytes();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let own = std::process::id().cast_signed();
    pids.filter(|&pid| pid != own && crate::proc::runs(pid))
        .filter(|pid| {
            ["cmdline", "environ"].iter().any(|file| {
                let bytes = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
                bytes.windows(state.len()).any(|part| part == state)
            })
        })
        .collect()
}

/// The held locks: of keepers by run, of nurseries by id.
pub fn locks(install: &Install) -> Vec<String> {
    let runs = install.state().join("runs");
    let kept =
        |id: &String| RunDir::open(&runs.join(id)).expect("a run's directory").has_keeper().expect("a lock");
    let mut held: Vec<String> = install.runs().into_iter().filter(kept).collect();
    let nurseries = fs::read_dir(install.state().join("nurseries")).into_iter().flatten().flatten();
    let names = nurseries.filter_map(|entry| entry.file_name().into_string().ok());
    held.extend(names.filter(|name| {
        let id = name.parse().expect("a nursery's id");
        nursery::lives(install.state(), &id).expect("a lock")
    }));
    held
}

/// The control groups of runs.
pub fn groups(install: &Install) -> Vec<PathBuf> {
    let Some(entries) = instance_group(install).and_then(|dir| fs::read_dir(dir).ok()) else {
        return Vec::new();
    };
    entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

/// Removes the installation's own control group, which Tenure keeps for its next run.
pub fn forget(install: &Install) {
    if let Some(dir) = instance_group(install) {
        // A cgroup in use stays for the investigation of the failed test.
        let _ = fs::remove_dir(dir);
    }
}

fn instance_group(install: &Install) -> Option<PathBuf> {
    let instance = fs::read_to_string(install.state().join("instance-id")).ok()?;
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let mount = mounts.lines().find(|line| line.split(' ').nth(2) == Some("cgroup2"))?.split(' ').nth(1)?;
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    Some(PathBuf::from(mount).join(own).join(format!("tenure-{}", instance.lines().next()?)))
}
