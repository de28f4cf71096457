//! Resource limits: those of each process are set before it executes, and those of the whole tree are enforced or the
//! run is refused before anything of it runs.

use tenure_core::ending::Reason;
use tenure_core::record::Ending;
use tenure_core::resources::{Resources, Rlimit};
use tenure_core::wire::{KeeperMessage, Role};
use tenure_it::install::Install;
use tenure_it::nursery_fixture::{WarmNursery, hear};
use tenure_keeper::rundir::RunDir;

/// Runs a command with these limits to its end.
#[track_caller]
fn run(install: &Install, resources: Resources, cgroup: bool, command: &[&str]) -> (RunDir, Ending) {
    let mut warm = WarmNursery::new(install);
    (warm.resources, warm.cgroup) = (resources, cgroup);
    let (dir, mut peers) = warm.launch(command, &[Role::Holder { epoch: 1 }]);
    let ended = |tell| if let KeeperMessage::Ended { ending } = tell { Some(*ending) } else { None };
    let ending = hear(&mut peers[0], ended);
    (dir, ending)
}

#[test]
fn the_limits_of_each_process_are_set_before_it_executes() {
    let install = Install::new();
    let rlimits = vec![
        (Rlimit::Nofile, 33),
        (Rlimit::Fsize, 4096),
        (Rlimit::Cpu, 77),
        (Rlimit::Core, 0),
        (Rlimit::Stack, 1 << 20),
        (Rlimit::As, 1 << 33),
        (Rlimit::Nproc, 4321),
        (Rlimit::Memlock, 8192),
    ];
    let resources = Resources { rlimits, ..Resources::default() };
    let (dir, ending) = run(&install, resources, false, &["cat", "/proc/self/limits"]);
    assert_eq!(ending.termination.exit_code, Some(0));
    let output = install.logs(&[dir.id().as_str()]);
    let output = String::from_utf8_lossy(&output);
    for (name, value) in [
        ("Max open files", "33"),
        ("Max file size", "4096"),
        ("Max cpu time", "77"),
        ("Max core file size", "0"),
        ("Max stack size", "1048576"),
        ("Max address space", "8589934592"),
        ("Max processes", "4321"),
        ("Max locked memory", "8192"),
    ] {
        let line = output.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        let values: Vec<_> = line[name.len()..].split_whitespace().take(2).collect();
        assert_eq!(values, [value, value], "{line}");
    }
}

#[test]
fn a_limit_that_cannot_be_raised_is_reported_and_nothing_runs() {
    let install = Install::new();
    // More than the kernel allows.
    let resources =
        Resources { rlimits: vec![(Rlimit::Nofile, u64::from(u32::MAX))], ..Resources::default() };
    let marker = install.dir().join("ran");
    let (_, ending) = run(&install, resources, false, &["touch", marker.to_str().expect("UTF-8")]);
    assert_eq!(ending.termination.reason, Reason::SpawnError, "{ending:?}");
    assert!(ending.termination.detail.is_some_and(|detail| detail.contains("cannot set the limits")));
    assert!(!marker.exists());
}

#[test]
fn a_tree_limit_that_cannot_be_enforced_is_refused_before_anything_runs() {
    let install = Install::new();
    let marker = install.dir().join("ran");
    for (resources, controller, instead) in [
        (Resources { memory_bytes: Some(1 << 30), ..Resources::default() }, "`memory`", "rlimit `as`"),
        (Resources { milli_cpus: Some(500), ..Resources::default() }, "`cpu`", "rlimit `cpu`"),
        (Resources { processes: Some(64), ..Resources::default() }, "`pids`", "rlimit `nproc`"),
    ] {
        let (dir, ending) =
            run(&install, resources.clone(), false, &["touch", marker.to_str().expect("UTF-8")]);
        let detail = ending.termination.detail.clone().unwrap_or_default();
        assert_eq!((ending.termination.reason, ending.termination.code()), (Reason::SpawnError, 125));
        for part in [controller, "switched off", instead] {
            assert!(detail.contains(part), "{part}: {detail}");
        }
        assert_eq!(dir.ticket().expect("a ticket").options.resources, resources);
        assert!(!marker.exists() && dir.note().expect("a record").is_none(), "nothing was started");
    }
}

#[test]
fn with_a_cgroup_a_tree_limit_is_enforced_or_refused_if_the_controller_is_missing() {
    let install = Install::new();
    let resources = Resources { processes: Some(64), ..Resources::default() };
    let (dir, ending) = run(&install, resources, true, &["true"]);
    match dir.note().expect("a record") {
        Some(note) => assert!(matches!(note.boundary, tenure_core::record::Boundary::Cgroup { .. })),
        None => assert!(ending.termination.detail.is_some_and(|detail| detail.contains("`pids`"))),
    }
    assert_eq!(tenure_it::leftovers::groups(&install), Vec::<std::path::PathBuf>::new(), "groups are left");
}
