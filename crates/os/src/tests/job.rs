use super::role::{self, ARGUMENTS, ROLE};
use crate::enclosure::Enclosure;
use crate::fork::SingleThread;
use crate::io_result::Got;
use crate::poll::{self, Interest};
use crate::process::Process;
use crate::root::Root;
use crate::spawn::{Gated, NoRoot, Plan, start_root};
use crate::stdio::{Ours, Sink, Source, Stdio};
use std::time::Duration;
use tenure_core::ending::{Exit, SpawnError};
use tenure_core::ids::{InstanceId, RunId};
use tenure_core::signal::Signal;

pub(super) const SOON: Duration = Duration::from_secs(30);

/// A role in a job, with pipes.
struct Run {
    job: Enclosure,
    input: Option<Sink>,
    out: Source,
    heard: String,
}

impl Run {
    /// Waits until a process in the job has printed this; returns its pid.
    fn hear(&mut self, what: &str) -> i32 {
        let said = format!("role: {what} ");
        let deadline = crate::clock::awake() + SOON;
        loop {
            while let Some((line, rest)) = self.heard.split_once('\n') {
                let pid = line.trim_end().strip_prefix(&said).map(|pid| pid.parse().expect("a pid"));
                self.heard = rest.to_owned();
                if let Some(pid) = pid {
                    return pid;
                }
            }
            let mut buffer = [0; 4096];
            match self.out.read(&mut buffer) {
                Got::Bytes(n) => self.heard.push_str(&String::from_utf8_lossy(&buffer[..n])),
                Got::End => panic!("nobody said {what}"),
                Got::Nothing => {
                    let left = deadline.saturating_sub(crate::clock::awake());
                    assert!(!left.is_zero(), "nobody said {what} in time");
                    poll::wait(&[Interest::reading(&self.out)], Some(left)).expect("a wait");
                }
            }
        }
    }
}

pub(super) fn unbounded() -> Enclosure {
    let instance = InstanceId::from_random(crate::random::bytes().expect("bytes"));
    let run = RunId::from_random(crate::random::bytes().expect("bytes"));
    Enclosure::make(true, &instance, &run).expect("a job")
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

/// Returns the plan that runs this program in a role.
pub(super) fn own_plan(role: &str) -> Plan {
    plan(std::env::current_exe().expect("this program").to_str().expect("text"), role)
}

/// Starts a root with these streams in this job.
pub(super) fn start(plan: &Plan, stdio: &Stdio, job: &Enclosure) -> Result<Gated, NoRoot> {
    start_root(&SingleThread::check().expect("a proof"), plan, stdio, Some(job))
}

/// Waits until the root has ended.
pub(super) fn end_of(root: &Root) -> Exit {
    super::eventually("its end", || root.exit())
}

/// Waits until a job is empty.
pub(super) fn emptied(job: &Enclosure) {
    super::eventually("an empty job", || (!job.is_occupied()).then_some(()));
}

fn gated(role: &str) -> (Gated, Run) {
    let (job, stdio) = (unbounded(), Stdio::pipes(true).expect("pipes"));
    let gated = start(&own_plan(role), &stdio, &job).expect("a root");
    let Ours::Pipes { stdin, stdout, .. } = stdio.into_ours() else { unreachable!() };
    (gated, Run { job, input: stdin, out: stdout, heard: String::new() })
}

fn started(role: &str) -> (Root, Run) {
    let (gated, run) = gated(role);
    (gated.release().expect("it runs").0, run)
}

fn exit_of(role: &str) -> Exit {
    let (root, run) = started(role);
    let exit = end_of(&root);
    emptied(&run.job);
    exit
}

fn refusal(program: &str) -> SpawnError {
    let stdio = Stdio::pipes(false).expect("pipes");
    match start(&plan(program, "exit 0"), &stdio, &unbounded()) {
        Err(NoRoot::Command(error)) => error,
        other => panic!("it is not refused: {other:?}"),
    }
}

#[test]
fn a_root_is_known_and_in_its_job_before_it_has_run_anything() {
    let (gated, run) = gated("exit 7");
    let identity = gated.root().identity().clone();
    assert_eq!(run.job.pids().expect("a list"), [identity.pid]);
    assert_eq!(gated.root().exit(), None, "it waits");
    let root = gated.release().expect("it runs").0;
    let running = Process::open(identity.pid).expect("the system answers").expect("it is held");
    assert_eq!(running.identity(), &identity, "it is still who was recorded");
    assert_eq!(end_of(&root), (Exit::Code(7)));
    emptied(&run.job);
}

#[test]
fn a_root_that_is_not_let_run_is_ended() {
    let (gated, run) = gated("exit 0");
    drop(gated);
    emptied(&run.job);
}

#[test]
fn exit_codes_are_true_and_259_is_one_of_them() {
    assert_eq!(
        [exit_of("exit 0"), exit_of("exit 259"), exit_of("exit -1")],
        [Exit::Code(0), Exit::Code(259), Exit::Code(-1)]
    );
}

/// Starts three processes, each a child of the one before, all of them ready.
fn tree() -> (Root, Run, Vec<Process>) {
    let (root, mut run) = started("tree 2");
    let pids: Vec<_> = (0..3).map(|_| run.hear("up")).collect();
    let listed = run.job.pids().expect("a list");
    let held = |pid: &i32| {
        assert!(listed.contains(pid), "{pid} is in no list {listed:?}");
        let process = Process::open(*pid).expect("the system answers").expect("it lives");
        assert!(run.job.holds(*pid));
        process
    };
    let processes = pids.iter().map(held).collect();
    (root, run, processes)
}

#[test]
fn a_killed_job_leaves_nobody_and_is_never_a_success() {
    let (root, run, processes) = tree();
    assert_eq!(root.exit(), None, "it lives");
    run.job.kill().expect("a kill");
    emptied(&run.job);
    assert_eq!(end_of(&root), (Exit::Signal(Signal::KILL.0)));
    super::eventually("all are gone", || processes.iter().all(|one| !one.is_alive()).then_some(()));
}

#[test]
fn with_the_last_handle_of_a_job_goes_everything_in_it() {
    let (root, run, processes) = tree();
    drop((root, run.job));
    super::eventually("all are gone", || processes.iter().all(|one| !one.is_alive()).then_some(()));
}

/// Plays a keeper: it holds the only handle of a job with a tree in it, and prints the tree's pids.
pub(super) fn keep() {
    let (_root, mut run) = started("tree 2");
    for _ in 0..3 {
        let pid = run.hear("up");
        println!("\nrole: kept {pid}");
    }
    let _ = poll::wait(&[Interest::reading(&run.out)], Some(Duration::from_secs(120)));
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
    run.hear("stayed");
}

#[test]
fn a_job_is_occupied_until_its_last_process_is_gone() {
    let (root, mut run) = started("wait");
    run.hear("ready");
    assert!(run.job.is_occupied());
    let Run { job, input, .. } = run;
    drop(input);
    emptied(&job);
    assert_eq!(end_of(&root), (Exit::Code(0)));
}

#[test]
fn a_process_outside_of_a_job_is_not_in_it_and_outlives_it() {
    let mut bystander = role::start("wait");
    bystander.hear("ready");
    let process = Process::open(bystander.pid()).expect("the system answers").expect("it lives");
    let (_root, run, _) = tree();
    assert!(!run.job.holds(process.identity().pid));
    run.job.kill().expect("a kill");
    emptied(&run.job);
    assert!(process.is_alive());
}

#[test]
fn what_cannot_be_started_is_said_in_words() {
    let missing = refusal("no-such-program");
    assert!(missing.not_found && missing.detail.contains("command not found"), "{missing:?}");
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("x.bat"), "exit 0").expect("a file");
    for name in ["x.bat", "x", r"x.bat\.", "x.bat/.", "x.bat. ."] {
        let batch = refusal(dir.path().join(name).to_str().expect("text"));
        assert!(!batch.not_found && batch.detail.contains("batch files"), "{batch:?}");
    }
    std::fs::write(dir.path().join("y.exe"), "no program").expect("a file");
    let bad = refusal(dir.path().join("y.exe").to_str().expect("text"));
    assert!(!bad.not_found && bad.detail.contains("cannot execute"), "{bad:?}");
}
