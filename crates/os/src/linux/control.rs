//! The control files of a run's cgroup, which limit its tree and count its OOM kills.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use tenure_core::resources::{Controller, Resources};

/// The period over which a share of CPU is measured, in microseconds.
const PERIOD: u64 = 100_000;

/// Limits a group before any process is in it. The error says, for people, what the group lacks.
pub(crate) fn bound(group: &Path, resources: &Resources) -> Result<(), String> {
    for controller in resources.controllers() {
        enable(group, controller).map_err(|why| controller.refusal(&why))?;
        let written = match controller {
            Controller::Memory => bound_memory(group, resources.memory_bytes),
            Controller::Cpu => bound_cpu(group, resources.milli_cpus),
            Controller::Pids => bound_processes(group, resources.processes),
        };
        written.map_err(|error| controller.refusal(&format!("{}: {error}", group.display())))?;
    }
    Ok(())
}

/// Returns how often the kernel killed a process in the group, or below, for lack of memory.
pub(crate) fn oom_kills(group: &Path) -> u64 {
    let events = fs::read_to_string(group.join("memory.events")).unwrap_or_default();
    events.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok()).unwrap_or(0)
}

/// Makes the instance's group pass a controller on to its runs, unless it already does.
fn enable(group: &Path, controller: Controller) -> Result<(), String> {
    if lists(group, controller) {
        return Ok(());
    }
    let around = group.parent().ok_or("it has no group around it")?;
    if !lists(around, controller) {
        return Err(format!("it was not delegated to {}", around.display()));
    }
    write(around, "cgroup.subtree_control", &format!("+{controller}"))
        .map_err(|error| format!("{} does not pass it on: {error}", around.display()))
}

fn lists(group: &Path, controller: Controller) -> bool {
    let name = controller.to_string();
    let controllers = fs::read_to_string(group.join("cgroup.controllers")).unwrap_or_default();
    controllers.split_whitespace().any(|one| one == name)
}

/// Limits the memory. The whole tree is killed when it needs more, because half a tree is useless.
fn bound_memory(group: &Path, bytes: Option<u64>) -> io::Result<()> {
    let Some(bytes) = bytes else { return Ok(()) };
    write(group, "memory.max", &bytes.to_string())?;
    for (file, value) in [("memory.swap.max", "0"), ("memory.oom.group", "1")] {
        // A machine without swap, or with an older kernel, does not have this file.
        match write(group, file, value) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => other?,
        }
    }
    Ok(())
}

fn bound_cpu(group: &Path, milli_cpus: Option<u32>) -> io::Result<()> {
    let Some(milli_cpus) = milli_cpus else { return Ok(()) };
    // The kernel accepts no share below a millisecond.
    let quota = (u64::from(milli_cpus) * PERIOD / 1000).max(1000);
    write(group, "cpu.max", &format!("{quota} {PERIOD}"))
}

fn bound_processes(group: &Path, processes: Option<u32>) -> io::Result<()> {
    let Some(processes) = processes else { return Ok(()) };
    write(group, "pids.max", &processes.to_string())
}

/// Writes an existing file, in one piece.
fn write(group: &Path, file: &str, value: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(group.join(file))?.write_all(value.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Resources = Resources {
        memory_bytes: Some(1 << 20),
        milli_cpus: Some(1500),
        processes: Some(9),
        rlimits: Vec::new(),
    };
    const FILES: [&str; 5] = ["memory.max", "memory.swap.max", "memory.oom.group", "cpu.max", "pids.max"];

    /// Makes an instance's group with these controllers, and a run's group with all their files.
    fn fake(controllers: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join("cgroup.controllers"), controllers).expect("a file");
        fs::write(dir.path().join("cgroup.subtree_control"), "").expect("a file");
        let group = dir.path().join("run");
        fs::create_dir(&group).expect("a directory");
        for file in FILES {
            fs::write(group.join(file), "").expect("a file");
        }
        (dir, group)
    }

    #[test]
    fn a_group_is_bounded_by_its_control_files() {
        let (dir, group) = fake("cpuset cpu memory pids\n");
        bound(&group, &ALL).expect("bounds");
        let values = FILES.map(|file| fs::read_to_string(group.join(file)).expect("a file"));
        assert_eq!(values, ["1048576", "0", "1", "150000 100000", "9"]);
        let passed = fs::read_to_string(dir.path().join("cgroup.subtree_control")).expect("a file");
        // A plain file, unlike a control file, keeps the last write over the beginning of the one before.
        assert_eq!(passed, "+pidsry");
    }

    #[test]
    fn a_controller_that_is_passed_on_already_is_left_as_it_is() {
        let (dir, group) = fake("pids");
        fs::write(group.join("cgroup.controllers"), "pids\n").expect("a file");
        bound(&group, &Resources { processes: Some(9), ..Resources::default() }).expect("bounds");
        assert_eq!(fs::read(dir.path().join("cgroup.subtree_control")).expect("a file"), b"");
    }

    #[test]
    fn a_machine_without_swap_needs_no_limit_of_it() {
        let (_dir, group) = fake("memory");
        fs::remove_file(group.join("memory.swap.max")).expect("a file");
        bound(&group, &Resources { memory_bytes: Some(7), ..Resources::default() }).expect("bounds");
        assert_eq!(fs::read(group.join("memory.max")).expect("a file"), b"7");
        assert!(!group.join("memory.swap.max").exists());
    }

    #[test]
    fn a_missing_controller_is_named_with_the_reason_and_the_way_round() {
        let (dir, group) = fake("cpu pids");
        let why = bound(&group, &ALL).expect_err("no memory controller");
        for part in ["`memory`", "not delegated", dir.path().to_str().expect("UTF-8"), "rlimit `as`"] {
            assert!(why.contains(part), "{part}: {why}");
        }
        assert_eq!(fs::read(group.join("pids.max")).expect("a file"), b"", "nothing was bounded");
    }

    #[test]
    fn kills_for_want_of_memory_are_counted_and_nothing_else() {
        let (_dir, group) = fake("memory");
        assert_eq!(oom_kills(&group), 0, "no file");
        fs::write(group.join("memory.events"), "low 0\nmax 9\noom 2\noom_kill 0\noom_group_kill 1\n")
            .expect("a file");
        assert_eq!(oom_kills(&group), 0);
        fs::write(group.join("memory.events"), "oom 2\noom_kill 3\noom_group_kill 1\n").expect("a file");
        assert_eq!(oom_kills(&group), 3);
    }
}
