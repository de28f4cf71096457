use super::role::{self, ARGUMENTS, ROLE, hear};
use crate::job::Job;
use crate::process::Process;
use crate::root::Root;
use crate::spawn::{Gated, Plan, start_root};
use std::io::{BufReader, PipeReader, PipeWriter};
use std::os::windows::io::AsHandle;
use std::time::Duration;
use tenure_core::ending::{Exit, SpawnError};
use tenure_core::resources::Resources;
use tenure_core::signal::Signal;

pub(super) const SOON: Duration = Duration::from_secs(30);

/// A role in a job, with pipes.
struct Run {
    job: Job,
    input: PipeWriter,
    out: BufReader<PipeReader>,
}

pub(super) fn unbounded() -> Job {
    Job::make(&Resources::default()).expect("a job")
}

fn environment(role: &str) -> Vec<Vec<u8>> {
    let mut env: Vec<_> =
        std::env::vars().map(|(name, value)| format!("{name}={value}").into_bytes()).collect();
    env.push(format!("{ROLE}={role}").into_bytes());
    env
}

fn plan(program: &str, role: &str) -> Plan {
    let argv = std::iter::once(program).chain(ARGUMENTS).map(|word| word.as_bytes().to_vec()).collect();
    let cwd = std::env::current_dir().expect("a directory");
    Plan::new(argv, environment(role), cwd.to_str().expect("text").as_bytes().to_vec()).expect("a plan")
}

/// This program in a role.
pub(super) fn own_plan(role: &str) -> Plan {
    plan(std::env::current_exe().expect("this program").to_str().expect("text"), role)
}

fn gated(role: &str) -> (Gated, Run) {
    let job = unbounded();
    let (theirs, input) = std::io::pipe().expect("a pipe");
    let (out, written) = std::io::pipe().expect("a pipe");
    let stdio = [theirs.as_handle(), written.as_handle(), written.as_handle()];
    let gated = start_root(&own_plan(role), stdio, &job).expect("a root");
    (gated, Run { job, input, out: BufReader::new(out) })
}

fn started(role: &str) -> (Root, Run) {
    let (gated, run) = gated(role);
    (gated.release().expect("it runs"), run)
}

fn exit_of(role: &str) -> Exit {
    let (root, run) = started(role);
    assert!(root.wait(SOON).expect("a wait"), "it never ended");
    let exit = root.exit().expect("an exit").expect("it has ended");
    assert!(run.job.wait_until_empty(SOON).expect("a wait"));
    exit
}

fn refusal(program: &str) -> SpawnError {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let stdio = [reader.as_handle(), writer.as_handle(), writer.as_handle()];
    start_root(&plan(program, "exit 0"), stdio, &unbounded()).expect_err("it is refused")
}

#[test]
fn a_root_is_known_and_in_its_job_before_it_has_run_anything() {
    let (gated, run) = gated("exit 7");
    let identity = gated.root().identity().clone();
    assert_eq!(run.job.pids().expect("a list"), [identity.pid]);
    assert!(!gated.root().wait(Duration::from_millis(200)).expect("a wait"), "it waits");
    let root = gated.release().expect("it runs");
    let running = Process::open(identity.pid).expect("the system answers").expect("it is held");
    assert_eq!(running.identity(), &identity, "it is still who was recorded");
    assert!(root.wait(SOON).expect("a wait"));
    assert_eq!(root.exit().expect("an exit"), Some(Exit::Code(7)));
    assert!(run.job.wait_until_empty(SOON).expect("a wait"));
}

#[test]
fn a_root_that_is_not_let_run_is_ended() {
    let (gated, run) = gated("exit 0");
    drop(gated);
    assert!(run.job.wait_until_empty(SOON).expect("a wait"));
}

#[test]
fn exit_codes_are_true_and_259_is_one_of_them() {
    assert_eq!(
        [exit_of("exit 0"), exit_of("exit 259"), exit_of("exit -1")],
        [Exit::Code(0), Exit::Code(259), Exit::Code(-1)]
    );
}

/// Three processes, one under the other, all of which are up.
fn tree() -> (Root, Run, Vec<Process>) {
    let (root, mut run) = started("tree 2");
    let pids: Vec<_> = (0..3).map(|_| hear(&mut run.out, "up")).collect();
    let listed = run.job.pids().expect("a list");
    let held = |pid: &i32| {
        assert!(listed.contains(pid), "{pid} is in no list {listed:?}");
        let process = Process::open(*pid).expect("the system answers").expect("it lives");
        assert!(run.job.holds(&process).expect("an answer"));
        process
    };
    let processes = pids.iter().map(held).collect();
    (root, run, processes)
}

#[test]
fn a_killed_job_leaves_nobody_and_is_never_a_success() {
    let (root, run, processes) = tree();
    assert_eq!(root.exit().expect("an answer"), None, "it lives");
    run.job.kill().expect("a kill");
    assert!(run.job.wait_until_empty(SOON).expect("a wait"));
    assert!(root.wait(SOON).expect("a wait"));
    assert_eq!(root.exit().expect("an exit"), Some(Exit::Signal(Signal::KILL.0)));
    super::eventually("all are gone", || processes.iter().all(|one| !one.is_alive()).then_some(()));
}

#[test]
fn with_the_last_handle_of_a_job_goes_everything_in_it() {
    let (_root, run, processes) = tree();
    drop(run.job);
    super::eventually("all are gone", || processes.iter().all(|one| !one.is_alive()).then_some(()));
}

/// What a keeper does: it holds the only handle of a job with a tree in it, and tells the tree's numbers.
pub(super) fn keep() {
    let (_root, mut run) = started("tree 2");
    for _ in 0..3 {
        let pid = hear(&mut run.out, "up");
        println!("\nrole: kept {pid}");
    }
    let _ = run.job.wait_until_empty(Duration::from_secs(120));
}

#[test]
fn a_keeper_that_is_killed_takes_its_whole_tree_along() {
    let mut keeper = role::start("keep");
    let pids: Vec<_> = (0..3).map(|_| keeper.hear("kept")).collect();
    let open = |pid: &i32| Process::open(*pid).expect("the system answers").expect("it lives");
    let processes: Vec<_> = pids.iter().map(open).collect();
    keeper.child.kill().expect("a kill");
    super::eventually("all are gone", || processes.iter().all(|one| !one.is_alive()).then_some(()));
}

#[test]
fn nobody_breaks_away_from_a_job() {
    let (_root, mut run) = started("flee");
    hear(&mut run.out, "stayed");
}

#[test]
fn a_job_is_occupied_until_its_last_process_is_gone() {
    let (root, mut run) = started("wait");
    hear(&mut run.out, "ready");
    assert!(run.job.is_occupied());
    assert!(!run.job.wait_until_empty(Duration::from_millis(50)).expect("a wait"));
    let Run { job, input, .. } = run;
    drop(input);
    assert!(job.wait_until_empty(SOON).expect("a wait"));
    assert_eq!(root.exit().expect("an exit"), Some(Exit::Code(0)));
}

#[test]
fn a_process_outside_of_a_job_is_not_in_it_and_outlives_it() {
    let mut bystander = role::start("wait");
    bystander.hear("ready");
    let process = Process::open(bystander.pid()).expect("the system answers").expect("it lives");
    let (_root, run, _) = tree();
    assert!(!run.job.holds(&process).expect("an answer"));
    run.job.kill().expect("a kill");
    assert!(run.job.wait_until_empty(SOON).expect("a wait"));
    assert!(process.is_alive());
}

#[test]
fn what_cannot_be_started_is_said_in_words() {
    let missing = refusal("no-such-program");
    assert!(missing.not_found && missing.detail.contains("command not found"), "{missing:?}");
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("x.bat"), "exit 0").expect("a file");
    for name in ["x.bat", "x"] {
        let batch = refusal(dir.path().join(name).to_str().expect("text"));
        assert!(!batch.not_found && batch.detail.contains("batch files"), "{batch:?}");
    }
    std::fs::write(dir.path().join("y.exe"), "no program").expect("a file");
    let bad = refusal(dir.path().join("y.exe").to_str().expect("text"));
    assert!(!bad.not_found && bad.detail.contains("cannot execute"), "{bad:?}");
}
