//! Roots between their fork and their end.

use crate::stranger::reap;
use rustix::process::getppid;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tenure_core::ending::{Exit, SpawnError};
use tenure_core::ids::{InstanceId, RunId};
use tenure_core::signal::Signal;
use tenure_it::{eventually, proc};
use tenure_os::enclosure::Enclosure;
use tenure_os::fork::SingleThread;
use tenure_os::process::Sent;
use tenure_os::root::Root;
use tenure_os::spawn::{Gated, Outcome, Plan, start_root};
use tenure_os::stdio::Stdio;
use tenure_os::{clock, random, reaper};

fn plan(argv: &[&str], cwd: &str) -> Plan {
    let bytes = |words: &[&str]| words.iter().map(|word| word.as_bytes().to_vec()).collect();
    Plan::new(bytes(argv), bytes(&["PATH=/nowhere:/bin:/usr/bin"]), cwd.as_bytes().to_vec()).expect("a plan")
}

fn fork(plan: &Plan) -> Gated {
    let alone = SingleThread::check().expect("one thread");
    start_root(&alone, plan, &Stdio::pipes(false).expect("pipes"), None).expect("a fork")
}

fn start(argv: &[&str]) -> Root {
    let plan = plan(argv, "/");
    let (root, report) = fork(&plan).release().expect("an open gate");
    eventually("an execution", || (report.read(&plan) == Outcome::Executes).then_some(()));
    root
}

fn failure(argv: &[&str], cwd: &str) -> SpawnError {
    let plan = plan(argv, cwd);
    let (root, report) = fork(&plan).release().expect("an open gate");
    let outcome =
        eventually("an outcome", || Some(report.read(&plan)).filter(|outcome| *outcome != Outcome::Pending));
    let exit = eventually("its end", || root.exit());
    assert_eq!(exit, Exit::Code(127));
    root.reap().expect("it has ended");
    match outcome {
        Outcome::Failed(error) => error,
        other => panic!("{argv:?} in {cwd}: {other:?}"),
    }
}

pub(crate) fn failures_have_their_reasons() {
    let base = tempfile::tempdir().expect("a directory");
    let path = |name: &str| base.path().join(name).to_str().expect("UTF-8").to_owned();
    let write = |name: &str, text: &str, mode: u32| {
        std::fs::write(path(name), text).expect("a file");
        std::fs::set_permissions(path(name), PermissionsExt::from_mode(mode)).expect("chmod");
        path(name)
    };
    let check = |argv: &[&str], cwd: &str, not_found: bool, part: &str| {
        let error = failure(argv, cwd);
        assert!(error.not_found == not_found && error.detail.contains(part), "{argv:?}: {error:?}");
    };
    check(&["no-such-program"], "/", true, "command not found: no-such-program");
    check(&["/no/such/program"], "/", true, "command not found");
    check(&["/etc/hostname/x"], "/", true, "command not found");
    check(&[base.path().to_str().expect("UTF-8")], "/", false, "it is a directory");
    check(&[&write("plain", "text", 0o644)], "/", false, "permission denied");
    check(&[&write("script", "#!/no/such/interpreter\n", 0o755)], "/", false, "interpreter");
    check(&["true"], "/no/such/directory", false, "cannot enter the working directory /no/such/directory");
    check(&["true"], "/etc/hostname", false, "cannot enter the working directory");
    let long = "x".repeat(3 << 20);
    check(&["true", &long], "/", false, "too long");
    // As everywhere, the shell runs a script without an interpreter line.
    let root = start(&[&write("bare", "exit 9\n", 0o755)]);
    assert_eq!(eventually("its end", || root.exit()), Exit::Code(9));
}

/// Only the gate keeps a root from executing; without it, the root ends.
pub(crate) fn an_unopened_gate_lets_nobody_through() {
    let base = tempfile::tempdir().expect("a directory");
    let file = base.path().join("executed");
    let words = ["touch", file.to_str().expect("UTF-8")];
    let gated = fork(&plan(&words, "/"));
    let pid = gated.root().pid();
    eventually("a root that leads its session", || {
        proc::stat(pid).is_some_and(|(_, _, group, session, _)| (group, session) == (pid, pid)).then_some(())
    });
    assert_eq!(proc::stat(pid).map(|stat| stat.1), Some(std::process::id().cast_signed()));
    assert!(gated.root().exit().is_none() && !file.exists());
    drop(gated);
    reap(pid);
    assert!(!file.exists());
    // The same, with a wait.
    fork(&plan(&words, "/")).abandon();
    assert!(reaper::childless(), "it was reaped");
    assert!(!file.exists());
    let (root, _report) = fork(&plan(&words, "/")).release().expect("an open gate");
    assert_eq!(eventually("its end", || root.exit()), Exit::Code(0));
    assert!(file.exists());
}

pub(crate) fn an_ended_root_keeps_its_number() {
    reaper::become_subreaper().expect("a subreaper");
    // The orphan dies before the root does, and the root's zombie does not hide it.
    let root = start(&["sh", "-c", "(sleep 0.01 & echo $! >/dev/null); sleep 3; exit 7"]);
    let pid = root.pid();
    let root = root.reap().expect_err("it has not ended");
    assert_eq!(eventually("its end", || root.exit()), Exit::Code(7));
    assert_eq!(root.exit(), Some(Exit::Code(7)), "a query does not reap it");
    eventually("only the root is left", || {
        let reaped = reaper::reap(Some(pid), clock::awake() + std::time::Duration::from_millis(50));
        assert!(reaped.iter().all(|ended| ended.pid != pid), "the root was reaped");
        (tenure_os::tree::own_children() == [pid]).then_some(())
    });
    assert_eq!(proc::stat(pid).map(|stat| stat.0), Some('Z'));
    assert!(!reaper::childless());
    // Its group still exists, and holds only itself.
    assert!(matches!(root.signal_group(Signal::KILL), Sent::Yes | Sent::Gone));
    assert_eq!(root.reap().expect("it has ended"), Exit::Code(7));
    assert!(reaper::childless() && proc::stat(pid).is_none());
}

pub(crate) fn a_group_signal_reaches_the_whole_group_and_nobody_else() {
    reaper::become_subreaper().expect("a subreaper");
    let root = start(&["sh", "-c", "sleep 60 & sleep 60 & setsid sleep 60 & wait"]);
    let everybody = || proc::descendants(root.pid());
    eventually("three children", || (everybody().len() == 3).then_some(()));
    let outside = eventually("a process in its own session", || {
        everybody().into_iter().find(|&pid| proc::stat(pid).is_some_and(|stat| stat.3 == pid))
    });
    let inside: Vec<i32> = everybody().into_iter().filter(|&pid| pid != outside).collect();
    assert_eq!(root.signal_group(Signal::KILL), Sent::Yes);
    assert_eq!(eventually("its end", || root.exit()), Exit::Signal(9));
    for pid in inside {
        eventually("the group's end", || (!proc::runs(pid)).then_some(()));
    }
    assert!(proc::runs(outside));
    proc::kill(outside);
}

pub(crate) fn a_root_is_in_its_cgroup_before_it_executes() {
    let instance = InstanceId::from_random(random::bytes().expect("randomness"));
    let run = RunId::from_random(random::bytes().expect("randomness"));
    let cgroup = match Enclosure::make(true, &instance, &run) {
        Ok(cgroup) => cgroup,
        Err(why) => return println!("cannot run here: {why}"),
    };
    let alone = SingleThread::check().expect("one thread");
    let stdio = Stdio::pipes(false).expect("pipes");
    let gated = start_root(&alone, &plan(&["true"], "/"), &stdio, Some(&cgroup)).expect("a fork");
    assert_eq!(cgroup.pids().expect("a list"), [gated.root().pid()]);
    assert!(cgroup.holds(gated.root().pid()) && !cgroup.holds(std::process::id().cast_signed()));
    gated.abandon();
    cgroup.remove().expect("it is empty");
    let path = cgroup.to_string();
    assert!(
        !Path::new(&path).parent().is_some_and(Path::exists),
        "the instance's group goes with its last run"
    );
    assert!(getppid().is_some());
}
