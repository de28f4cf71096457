//! The keeper's answer about a blocked tree: a fact, never a guess from silence.

use std::time::Duration;
use tenure_core::wire::{KeeperMessage, KeeperRequest, Role, VERSION};
use tenure_it::eventually;
use tenure_it::install::Install;
use tenure_keeper::frames::Frames;
use tenure_keeper::rundir::RunDir;

const WAIT_LIMIT: Duration = Duration::from_secs(10);

/// Starts a command in the background and waits until its keeper reports this value of waiting for input.
#[track_caller]
fn assert_waits(flags: &[&str], command: &[&str], expected: Option<bool>) {
    let install = Install::new();
    let id = install.start_in_background(flags, command);
    let dir = RunDir::open(&install.state().join("runs").join(&id)).expect("the run's directory");
    let mut keeper = Frames::new(dir.connect().expect("a keeper"));
    keeper.send(&KeeperRequest::Hello { version: VERSION, role: Role::Viewer, holder: None }, &[]);
    keeper.receive::<KeeperMessage>(WAIT_LIMIT).expect("a welcome");
    eventually(&format!("{command:?} to be seen as {expected:?}"), || {
        keeper.send(&KeeperRequest::Blocked, &[]);
        match keeper.receive::<KeeperMessage>(WAIT_LIMIT).expect("an answer").0 {
            KeeperMessage::Blocked { waiting_for_input, .. } => (waiting_for_input == expected).then_some(()),
            other => panic!("{other:?}"),
        }
    });
    install.cancel(&id);
}

#[test]
fn a_reader_of_the_input_pipe_waits_for_input() {
    assert_waits(&["--stdin", "open"], &["cat"], Some(true));
}

#[test]
fn a_shell_that_reads_behind_another_process_waits_for_input() {
    assert_waits(&["--stdin", "open"], &["sh", "-c", "read line; echo $line"], Some(true));
}

#[test]
fn an_interactive_shell_waits_for_input() {
    assert_waits(&["--pty"], &["bash", "--norc", "-i"], Some(true));
}

#[test]
fn an_interactive_python_waits_for_input() {
    assert_waits(&["--pty"], &["python3", "-i"], Some(true));
}

#[test]
fn a_password_prompt_waits_for_input() {
    assert_waits(&["--pty"], &["sh", "-c", "stty -echo; read password"], Some(true));
}

#[test]
fn a_sleeper_does_not_wait_for_input() {
    assert_waits(&["--stdin", "open"], &["sleep", "1000"], Some(false));
}

#[test]
fn a_reader_of_something_else_does_not_wait_for_input() {
    assert_waits(&["--stdin", "open"], &["sh", "-c", "sleep 1000 | cat"], Some(false));
}

#[test]
fn a_process_that_polls_many_descriptors_is_undecided() {
    let program =
        "import select,sys,os; r,w=os.pipe(); p=select.poll(); p.register(0); p.register(r); p.poll()";
    assert_waits(&["--stdin", "open"], &["python3", "-c", program], None);
}
