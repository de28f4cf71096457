//! Output of the command line: its two streams as text, with the exit code checked.

use crate::child_program::ChildProgram;
use crate::install::Install;
use serde_json::Value;
use std::process::Stdio;

/// Runs a command; returns its standard output and standard error.
#[track_caller]
pub fn run_cli(install: &Install, args: &[&str], code: i32) -> (String, String) {
    run_cli_with_input(install, args, "", code)
}

/// Runs a command with this standard input.
#[track_caller]
pub fn run_cli_with_input(install: &Install, args: &[&str], input: &str, code: i32) -> (String, String) {
    let mut command = install.command(args);
    command.stdin(Stdio::piped());
    let mut started = ChildProgram::new(command);
    started.write(input.as_bytes());
    started.close_input();
    let output = started.output();
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {out} / {err}");
    (out, err)
}

/// Runs a command; returns its standard output as JSON.
#[track_caller]
pub fn json_of(install: &Install, args: &[&str], code: i32) -> Value {
    serde_json::from_str(&run_cli(install, args, code).0).expect("JSON")
}
