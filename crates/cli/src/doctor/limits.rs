//! Checks of the limits of descriptors and processes.

use super::{Check, Verdict};
use std::path::Path;
use tenure_os::{descriptors, host};

pub(super) fn checks() -> Vec<Check> {
    let (processes, most) = host::user_processes();
    let mut checks =
        vec![descriptor_limit(descriptors::limit()), process_room("processes", "this user", processes, most)];
    checks.extend(host::own_group().ok().and_then(|group| group_room(&group.directory)));
    checks
}

/// Checks the descriptor limit. A keeper holds about a dozen descriptors, a daemon a few per run.
fn descriptor_limit((soft, hard): (u64, u64)) -> Check {
    const MIN_DESCRIPTORS: u64 = 4096;
    if soft == u64::MAX {
        return Check::ok("descriptors", "no limit");
    }
    let finding = format!("{soft} descriptors; a program can raise this to {hard}");
    if hard >= MIN_DESCRIPTORS {
        return Check::ok("descriptors", finding);
    }
    Check::new(
        "descriptors",
        Verdict::Warning,
        finding,
        format!(
            "raise the hard limit to {MIN_DESCRIPTORS} or more (LimitNOFILE=, limits.conf): the daemon needs a few per run"
        ),
    )
}

/// Checks that more processes can be started.
fn process_room(name: &'static str, whose: &str, now: u64, most: Option<u64>) -> Check {
    let Some(most) = most else {
        return Check::ok(name, format!("{whose} has {now}, no limit"));
    };
    let finding = format!("{whose} has {now} of at most {most}");
    let (verdict, what) = if now >= most {
        (Verdict::Problem, "no process can be started")
    } else if now.saturating_mul(5) >= most.saturating_mul(4) {
        (Verdict::Warning, "few more can be started")
    } else {
        return Check::ok(name, finding);
    };
    let advice = "end unneeded processes, or raise the limit (TasksMax= of the unit, `ulimit -u`)";
    Check::new(name, verdict, format!("{finding}: {what}"), advice)
}

/// Checks the cgroup with the least room, of those that this process is in.
fn group_room(directory: &Path) -> Option<Check> {
    let number = |dir: &Path, name| std::fs::read_to_string(dir.join(name)).ok()?.trim().parse::<u64>().ok();
    let limited = directory
        .ancestors()
        .filter_map(|dir| Some((dir, number(dir, "pids.current")?, number(dir, "pids.max")?)));
    let (dir, now, most) = limited.min_by_key(|(_, now, most)| most.saturating_sub(*now))?;
    Some(process_room("cgroup-pids", &format!("the cgroup {}", dir.display()), now, Some(most)))
}

/// Returns all findings, for the snapshot.
#[cfg(test)]
#[cfg(unix)]
pub(super) fn samples() -> Vec<Check> {
    vec![
        descriptor_limit((u64::MAX, u64::MAX)),
        descriptor_limit((1_024, 1_048_576)),
        descriptor_limit((1_024, 1_024)),
        process_room("processes", "this user", 212, None),
        process_room("processes", "this user", 212, Some(31_000)),
        process_room("processes", "this user", 28_000, Some(31_000)),
        process_room("cgroup-pids", "the cgroup /user.slice", 100, Some(100)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_descriptors_are_a_warning() {
        assert_eq!(descriptor_limit((1024, 1_048_576)).verdict, Verdict::Ok);
        assert_eq!(descriptor_limit((1024, 1024)).verdict, Verdict::Warning);
    }

    #[test]
    fn few_remaining_processes_are_a_warning() {
        let verdict = |now, most| process_room("processes", "this user", now, most).verdict;
        assert_eq!(verdict(79, Some(100)), Verdict::Ok);
        assert_eq!(verdict(80, Some(100)), Verdict::Warning);
        assert_eq!(verdict(100, Some(100)), Verdict::Problem);
        assert_eq!(verdict(1_000_000, None), Verdict::Ok);
    }

    #[test]
    fn the_tightest_group_counts() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("a");
        std::fs::create_dir(&inner).unwrap();
        for (dir, now, most) in [(dir.path(), "90", "100"), (&inner, "5", "max")] {
            std::fs::write(dir.join("pids.current"), now).unwrap();
            std::fs::write(dir.join("pids.max"), most).unwrap();
        }
        let check = group_room(&inner).unwrap();
        assert!(
            check.verdict == Verdict::Warning && check.finding.contains("90 of at most 100"),
            "{check:?}"
        );
    }
}
