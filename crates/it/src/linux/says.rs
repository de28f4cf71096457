//! What the command line says: its two streams as text, and its exit code as expected.

use crate::install::Install;
use crate::started::Started;
use serde_json::Value;
use std::process::Stdio;

/// What a verb prints on standard output and on standard error.
#[track_caller]
pub fn says(install: &Install, args: &[&str], code: i32) -> (String, String) {
    says_to(install, args, "", code)
}

/// The same with something on standard input.
#[track_caller]
pub fn says_to(install: &Install, args: &[&str], input: &str, code: i32) -> (String, String) {
    let mut command = install.command(args);
    command.stdin(Stdio::piped());
    let mut started = Started::new(command);
    started.write(input.as_bytes());
    started.close_input();
    let output = started.output();
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {out} / {err}");
    (out, err)
}

/// What a verb prints on standard output, as JSON.
#[track_caller]
pub fn json_of(install: &Install, args: &[&str], code: i32) -> Value {
    serde_json::from_str(&says(install, args, code).0).expect("JSON")
}
