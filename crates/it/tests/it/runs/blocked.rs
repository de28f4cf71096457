//! What a tree is blocked in, asked of its keeper: a fact, never a guess from silence.

use std::time::Duration;
use tenure_core::wire::{Ask, Role, Tell, VERSION};
use tenure_it::eventually;
use tenure_it::install::Install;
use tenure_keeper::frames::Frames;
use tenure_keeper::rundir::RunDir;

const PATIENCE: Duration = Duration::from_secs(10);

/// Starts a command in the background and waits until its keeper says this of its waiting for input.
#[track_caller]
fn assert_waits(flags: &[&str], command: &[&str], expected: Option<bool>) {
    let install = Install::new();
    let id = install.start_in_background(flags, command);
    let dir = RunDir::open(&install.state().join("runs").join(&id)).expect("the run's directory");
    let mut keeper = Frames::new(dir.dial().expect("a keeper"));
    keeper.send(&Ask::Hello { version: VERSION, role: Role::Viewer, holder: None }, &[]);
    keeper.receive::<Tell>(PATIENCE).expect("a welcome");
    eventually(&format!("{command:?} to be seen as {expected:?}"), || {
        keeper.send(&Ask::Blocked, &[]);
        match keeper.receive::<Tell>(PATIENCE).expect("an answer").0 {
            Tell::Blocked { waiting_for_input, .. } => (waiting_for_input == expected).then_some(()),
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
fn one_who_polls_many_things_cannot_be_told() {
    let program =
        "import select,sys,os; r,w=os.pipe(); p=select.poll(); p.register(0); p.register(r); p.poll()";
    assert_waits(&["--stdin", "open"], &["python3", "-c", program], None);
}
