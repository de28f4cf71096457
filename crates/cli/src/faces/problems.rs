//! What the command line says of a refusal, and with which exit code it ends: for each code of the daemon, and for a
//! daemon that does not answer.

use super::{album, answer, answers};
use crate::commands::run;
use crate::failure::Failure;
use crate::reach;
use std::io;
use tenure_client::Failed;

#[test]
fn each_refusal_is_said_as_it_was() {
    let mut album = album("problems");
    for code in answers("problems") {
        album.check(&code, &said(&Failed::Refused(answer("problems", &code))));
    }
    let not_understood = "expected value at line 1 column 1".to_owned();
    for (name, failed) in [
        ("daemon-unreachable", Failed::Unreachable(io::ErrorKind::ConnectionRefused.into())),
        ("daemon-silent", Failed::Silent { pid: Some(4_242) }),
        ("daemon-silent-without-a-pid", Failed::Silent { pid: None }),
        ("daemon-not-understood", Failed::NotUnderstood(not_understood)),
    ] {
        album.check(name, &said(&failed));
    }
    album.close();
}

/// The exit code and the line on standard error. Verbs whose low exit codes are a command's own have others.
fn said(failed: &Failed) -> String {
    let mut lines = vec![
        ("most verbs", reach::failure(failed)),
        ("wait", reach::failure(failed).of_run()),
        ("run --bg", run::refused_in_background(failed).of_run()),
    ];
    if let Failed::Refused(problem) = failed {
        lines.push(("run", run::refused_in_foreground(problem.clone()).of_run()));
    }
    let line = |(verb, failure): (&str, Failure)| {
        format!("{verb:10}  exit code {:3}  tenure: {}\n", failure.code(), failure.text())
    };
    lines.into_iter().map(line).collect()
}
