//! Snapshots of error messages and exit codes: for each problem code of the daemon, and for a daemon that does not answer.

use super::{album, answer, answers};
use crate::commands::run;
use crate::daemon_client;
use crate::failure::Failure;
use std::io;
use tenure_client::CallError;

#[test]
fn error_messages_match_their_snapshots() {
    let mut album = album("problems");
    for code in answers("problems") {
        album.check(&code, &error_lines(&CallError::Refused(answer("problems", &code))));
    }
    let not_understood = "expected value at line 1 column 1".to_owned();
    for (name, failed) in [
        ("daemon-unreachable", CallError::Unreachable(io::ErrorKind::ConnectionRefused.into())),
        ("daemon-silent", CallError::Silent { pid: Some(4_242) }),
        ("daemon-silent-without-a-pid", CallError::Silent { pid: None }),
        ("daemon-not-understood", CallError::NotUnderstood(not_understood)),
    ] {
        album.check(name, &error_lines(&failed));
    }
    album.close();
}

/// Formats the exit code and the line on standard error. `wait` and `run` map the exit codes, because their low ones are the
/// command's own.
fn error_lines(failed: &CallError) -> String {
    let mut lines = vec![
        ("most verbs", daemon_client::to_failure(failed)),
        ("wait", daemon_client::to_failure(failed).with_run_code()),
        ("run --bg", run::refused_in_background(failed).with_run_code()),
    ];
    if let CallError::Refused(problem) = failed {
        lines.push(("run", run::refused_in_foreground(problem.clone()).with_run_code()));
    }
    let line = |(verb, failure): (&str, Failure)| {
        format!("{verb:10}  exit code {:3}  tenure: {}\n", failure.code(), failure.text())
    };
    lines.into_iter().map(line).collect()
}
