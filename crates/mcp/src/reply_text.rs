//! Replies as text for a model: the output first, then the status of the command and the next step. The text alone
//! has everything in the JSON that a model can act on.

mod entries;
mod sessions;
mod tasks;

pub(crate) use sessions::sessions;
pub(crate) use tasks::tasks;

use serde_json::Value;
use std::fmt::{Display, Write};
use tenure_core::api::Problem;
use tenure_core::ids::RunId;
use tenure_core::tools::{Action, ExecReply, FailureKind, Listed, ProcessReply, Status, Waiting};

/// Formats a reply of `exec`.
pub(crate) fn exec(reply: &ExecReply) -> String {
    let mut text = Text::default();
    text.block(&reply.output);
    if reply.truncated {
        text.cut(&reply.run_id, reply.next_line, &reply.tail);
    } else if !reply.tail.is_empty() && !reply.output.ends_with(&reply.tail) {
        text.line("[the last of its output:]\n");
        text.block(&reply.tail);
    }
    text.line(format_args!("[{}]", exec_status(reply)));
    if let Some(next) = &reply.follow_up {
        text.line(next);
    }
    for warning in &reply.warnings {
        text.line(format_args!("warning: {warning}"));
    }
    text.0
}

fn exec_status(reply: &ExecReply) -> String {
    let ended = Ended {
        exit_code: reply.exit_code,
        exit_signal: reply.exit_signal.as_deref(),
        exit_reason: reply.exit_reason.map(|reason| reason.to_string()),
        failure_kind: reply.failure_kind,
    };
    [word(&reply.status), ended.parts(), format!("runId {}", reply.run_id), duration(reply.duration_ms)]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("; ")
}

/// Formats a reply of `process`. Its message has the fields of the action in words.
pub(crate) fn process(action: Action, reply: &ProcessReply) -> String {
    let mut text = Text::default();
    if action == Action::Poll
        && reply.truncated == Some(true)
        && let (Some(run), Some(line)) = (&reply.run, reply.next_line)
    {
        text.line(format_args!("[there was more; {} from there on]\n", log_from(&run.run_id, line)));
    }
    if let Some(output) = &reply.output {
        text.block(output);
    }
    if let Some(screen) = &reply.screen {
        text.screen(screen);
    } else if !reply.message.is_empty() {
        text.line(&reply.message);
    }
    if let Some(run) = &reply.run {
        text.line(format_args!("[{}]", run_status(run)));
    }
    if let Some(ms) = reply.retry_in_ms {
        text.line(format_args!("Poll again in {}, or wait with timeoutMs.", duration(ms)));
    }
    text.0
}

/// Returns the hint for reading the lines from this one on.
fn log_from(run: &RunId, line: u64) -> String {
    format!("process {{\"action\":\"log\",\"runId\":\"{run}\",\"offset\":{line}}} shows it")
}

fn run_status(run: &Listed) -> String {
    let mut parts =
        vec![word(&run.status), ended(run), format!("runId {}", run.run_id), duration(run.duration_ms)];
    if run.status == Status::Running {
        parts.push(match run.waiting_for_input {
            Waiting::Yes => "waiting for input".to_owned(),
            Waiting::No => "not waiting for input".to_owned(),
            Waiting::Unknown => "whether it waits for input is unknown".to_owned(),
        });
    }
    parts.retain(|part| !part.is_empty());
    parts.join("; ")
}

fn ended(run: &Listed) -> String {
    Ended {
        exit_code: run.exit_code,
        exit_signal: run.exit_signal.as_deref(),
        exit_reason: run.exit_reason.map(|reason| reason.to_string()),
        failure_kind: run.failure_kind,
    }
    .parts()
}

/// The end of a run, if it has ended.
struct Ended<'a> {
    exit_code: Option<i32>,
    exit_signal: Option<&'a str>,
    exit_reason: Option<String>,
    failure_kind: Option<FailureKind>,
}

impl Ended<'_> {
    fn parts(&self) -> String {
        let code = self.exit_code.map(|code| format!("exit code {code}"));
        let signal = self.exit_signal.map(|name| format!("signal {name}"));
        let failure = self.failure_kind.map(|kind| format!("failureKind {}", word(&kind)));
        // An exit and a signal speak for themselves.
        let reason =
            self.exit_reason.as_ref().filter(|reason| !["exit", "signal"].contains(&reason.as_str()));
        let reason = reason.map(|reason| format!("because of {reason}"));
        [code, signal, failure, reason].into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

/// Formats a refusal.
pub(crate) fn problem(problem: &Problem) -> String {
    format!("{}: {}", problem.code, problem.detail)
}

/// Formats the progress of a command without a line of output yet.
pub(crate) fn bytes(count: u64) -> String {
    if count == 0 { "running, no output yet".to_owned() } else { format!("running, {count} bytes of output") }
}

/// Returns a frozen word, as in the JSON.
fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}

pub(crate) fn duration(ms: u64) -> String {
    if ms < 1000 { format!("{ms} ms") } else { format!("{}.{} s", ms / 1000, ms % 1000 / 100) }
}

/// Adds the hint for reading the next page, if there is one.
fn more(text: &mut Text, next: Option<&str>) {
    if let Some(next) = next {
        text.line(format_args!("[there is more: the same with \"after\":{} shows it]", Value::from(next)));
    }
}

/// Text that is built line by line.
#[derive(Default)]
struct Text(String);

impl Text {
    /// Adds a whole text; the next line begins on a line of its own.
    fn block(&mut self, text: &str) {
        self.0.push_str(text);
        if !text.is_empty() && !text.ends_with('\n') {
            self.0.push('\n');
        }
    }

    fn line(&mut self, line: impl Display) {
        if !self.0.is_empty() && !self.0.ends_with('\n') {
            self.0.push('\n');
        }
        // Writing to a String cannot fail.
        let _ = write!(self.0, "{line}");
    }

    fn cut(&mut self, run: &RunId, next_line: Option<u64>, tail: &str) {
        match next_line {
            Some(line) => self.line(format_args!("[cut here; {} from there on]", log_from(run, line))),
            None => self.line("[cut here]"),
        }
        if !tail.is_empty() {
            self.line("[the last of it:]\n");
            self.block(tail);
        }
    }

    /// Adds a terminal's content, row by row, and the cursor's position.
    fn screen(&mut self, screen: &Value) {
        for row in screen.get("lines").and_then(Value::as_array).into_iter().flatten() {
            self.0.push_str(row.as_str().unwrap_or_default());
            self.0.push('\n');
        }
        let number = |value: Option<&Value>| value.and_then(Value::as_u64).unwrap_or_default();
        let cursor = screen.get("cursor");
        let at = |name| number(cursor.and_then(|cursor| cursor.get(name)));
        let hidden = cursor.and_then(|cursor| cursor.get("visible")) == Some(&Value::Bool(false));
        let (cols, rows) = (number(screen.get("cols")), number(screen.get("rows")));
        let hidden = if hidden { ", hidden" } else { "" };
        let (row, col) = (at("row"), at("col"));
        self.line(format_args!(
            "[screen of {cols}x{rows}; cursor at row {row}, column {col}, counted from 0{hidden}]"
        ));
    }
}
