//! Checks of the kernel's features.

use super::{Check, Verdict};
use tenure_os::host::Kernel;
use tenure_os::platform::Family;

pub(super) fn checks(family: Family, kernel: &Kernel, is_root: bool) -> Vec<Check> {
    match family {
        Family::Linux => vec![
            pidfd(kernel),
            identity(kernel),
            subreaper(kernel),
            children(kernel),
            hidepid(kernel, is_root),
            pid_max(kernel),
        ],
        Family::MacOs => vec![
            inspection(kernel, "processes are identified by pid and start time"),
            Check::new(
                "orphans",
                Verdict::Note,
                "orphans are not reparented to the keeper: it finds them by session and by the lease in their environment",
                "nothing to do: one that drops both is named as an escapee if it can be seen, but not ended",
            ),
        ],
        Family::Windows => vec![inspection(
            kernel,
            "processes are identified by open handles, which keep their pids from being reused",
        )],
    }
}

/// Checks that this process can be identified.
fn inspection(kernel: &Kernel, how: &str) -> Check {
    match &kernel.pidfd {
        Ok(()) => Check::ok("identity", how),
        Err(why) => Check::new(
            "identity",
            Verdict::Problem,
            format!("Tenure cannot inspect even its own process: {why}"),
            "let this machine's security policy allow programs to inspect their own processes",
        ),
    }
}

fn pidfd(kernel: &Kernel) -> Check {
    match &kernel.pidfd {
        Ok(()) => {
            Check::ok("pidfd", format!("processes are identified by pidfds (Linux {})", kernel.release))
        }
        Err(why) => Check::new(
            "pidfd",
            Verdict::Problem,
            format!("pidfds do not work on Linux {}: {why}", kernel.release),
            "use Linux 5.3 or newer, and let a container's seccomp profile allow pidfd_open",
        ),
    }
}

fn identity(kernel: &Kernel) -> Check {
    if kernel.pidfs {
        return Check::ok("pidfs", "each process has a pidfs inode, which is never reused");
    }
    let finding =
        "processes are identified by pid and start time, which collide if a pid is reused within a tick";
    Check::new("pidfs", Verdict::Note, finding, "Linux 6.9 or newer gives each process an inode of its own")
}

fn subreaper(kernel: &Kernel) -> Check {
    if kernel.subreaper {
        return Check::ok("subreaper", "orphans of a run are reparented to its keeper");
    }
    Check::new(
        "subreaper",
        Verdict::Problem,
        "orphans of a run are not reparented to its keeper",
        "use Linux 3.4 or newer",
    )
}

fn children(kernel: &Kernel) -> Check {
    if kernel.child_lists {
        return Check::ok("child-lists", "the kernel lists the children of a process");
    }
    let finding = "the kernel does not list children: each stop searches all processes";
    Check::new("child-lists", Verdict::Note, finding, "a kernel with CONFIG_PROC_CHILDREN is faster")
}

fn hidepid(kernel: &Kernel, is_root: bool) -> Check {
    match &kernel.hidepid {
        Some(how) if !is_root => Check::new(
            "hidepid",
            Verdict::Note,
            format!("/proc is mounted with hidepid={how}: a run's processes of another user cannot be seen"),
            "nothing to do unless runs use setuid programs: the ending names only processes that can be seen",
        ),
        Some(how) => {
            Check::ok("hidepid", format!("/proc hides processes (hidepid={how}), but not from root"))
        }
        None => Check::ok("hidepid", "/proc shows all processes"),
    }
}

fn pid_max(kernel: &Kernel) -> Check {
    const MIN_PID_MAX: u64 = 65_536;
    match kernel.pid_max {
        Some(most) if most >= MIN_PID_MAX => Check::ok("pid-max", format!("pids go up to {most}")),
        Some(most) => Check::new(
            "pid-max",
            Verdict::Note,
            format!("pids go up to {most} only: they are reused soon"),
            "`sysctl kernel.pid_max=4194304`",
        ),
        None => Check::new("pid-max", Verdict::Note, "the largest pid cannot be read", "mount /proc/sys"),
    }
}

/// Returns all findings, for the snapshot.
#[cfg(test)]
#[cfg(unix)]
pub(super) fn samples() -> Vec<Check> {
    let good = Kernel {
        release: "6.12".into(),
        pidfd: Ok(()),
        pidfs: true,
        subreaper: true,
        child_lists: true,
        hidepid: None,
        pid_max: Some(4_194_304),
    };
    let bad = Kernel {
        release: "4.19".into(),
        pidfd: Err("function not implemented".into()),
        pidfs: false,
        subreaper: false,
        child_lists: false,
        hidepid: Some("invisible".into()),
        pid_max: Some(32_768),
    };
    let hidden = Kernel { pid_max: None, hidepid: bad.hidepid.clone(), ..good.clone() };
    let mut samples = Vec::new();
    for (family, kernel, is_root) in [
        (Family::Linux, &good, false),
        (Family::Linux, &bad, false),
        (Family::Linux, &hidden, true),
        (Family::MacOs, &good, false),
        (Family::Windows, &good, false),
        (Family::Windows, &bad, false),
    ] {
        samples.extend(checks(family, kernel, is_root));
    }
    samples
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Kernel {
        Kernel {
            release: "6.12".into(),
            pidfd: Ok(()),
            pidfs: true,
            subreaper: true,
            child_lists: true,
            hidepid: None,
            pid_max: Some(4_194_304),
        }
    }

    fn worst(kernel: &Kernel, is_root: bool) -> (Verdict, Vec<&'static str>) {
        let checks = checks(Family::Linux, kernel, is_root);
        let worst = checks.iter().map(|check| check.verdict).max().unwrap();
        (worst, checks.iter().filter(|check| check.verdict != Verdict::Ok).map(|check| check.name).collect())
    }

    #[test]
    fn a_new_kernel_has_all() {
        assert_eq!(worst(&good(), false), (Verdict::Ok, vec![]));
    }

    #[test]
    fn a_missing_required_feature_is_a_problem() {
        let kernel = Kernel { pidfd: Err("ENOSYS".into()), ..good() };
        assert_eq!(worst(&kernel, false), (Verdict::Problem, vec!["pidfd"]));
        assert_eq!(
            worst(&Kernel { subreaper: false, ..good() }, false),
            (Verdict::Problem, vec!["subreaper"])
        );
    }

    #[test]
    fn linux_only_features_are_not_required_elsewhere() {
        let bare = Kernel { pidfs: false, subreaper: false, child_lists: false, pid_max: None, ..good() };
        for family in [Family::MacOs, Family::Windows] {
            let checks = checks(family, &bare, false);
            assert!(checks.iter().all(|check| check.verdict <= Verdict::Note), "{checks:?}");
            let blind = Kernel { pidfd: Err("refused".into()), ..bare.clone() };
            assert_eq!(super::checks(family, &blind, false)[0].verdict, Verdict::Problem);
        }
    }

    #[test]
    fn a_missing_optional_feature_is_a_note() {
        let kernel = Kernel { pidfs: false, child_lists: false, pid_max: Some(32_768), ..good() };
        assert_eq!(worst(&kernel, false), (Verdict::Note, vec!["pidfs", "child-lists", "pid-max"]));
    }

    #[test]
    fn nothing_is_hidden_from_root() {
        let kernel = Kernel { hidepid: Some("invisible".into()), ..good() };
        assert_eq!(worst(&kernel, false), (Verdict::Note, vec!["hidepid"]));
        assert_eq!(worst(&kernel, true), (Verdict::Ok, vec![]));
    }
}
