//! Tasks: a table, one in full, one in a line, and the findings of an audit. Control characters of foreign texts are
//! never printed.

use super::record::{self, Group, Rows};
use super::runs::shortened;
use super::{Context, Style, Table, Tone, ago, bytes, line, lines, plain, short};
use crate::failure::Failure;
use std::time::Duration;
use tenure_core::duration;
use tenure_core::ids::TaskId;
use tenure_core::session::SessionKey;
use tenure_core::task::{DeliveryStatus, Kind, Outcome, Severity, Status, TaskRow};
use tenure_core::tools::tasks::{Maintenance, TaskFinding, TaskNotice};

/// Prints the tasks as a table.
pub(crate) fn tasks(list: &[TaskRow]) -> Result<(), Failure> {
    lines(&tasks_lines(&Context::of_stdout(), list))
}

/// Formats that table.
pub(crate) fn tasks_lines(context: &Context, list: &[TaskRow]) -> Vec<String> {
    let headings = ["TASK", "KIND", "STATUS", "DELIVERY", "RUN/SESSION", ">AGE", "SUMMARY"];
    let mut table = Table::new(context.style, &headings);
    for task in list {
        table.row([
            (short(task.id.as_str()).to_owned(), Tone::Plain),
            (task.kind.to_string(), Tone::Plain),
            (task.status.to_string(), status_tone(task)),
            (task.delivery.to_string(), delivery_tone(task.delivery)),
            (work(task), Tone::Plain),
            (ago(context.since(task.created_at_ms)), Tone::Plain),
            (summary(task), Tone::Plain),
        ]);
    }
    table.lines()
}

/// Returns true if its cancel was requested and it has not ended.
fn is_being_ended(task: &TaskRow) -> bool {
    task.cancel_asked_at_ms.is_some() && !task.status.is_terminal()
}

fn status_tone(task: &TaskRow) -> Tone {
    match task.status {
        Status::Running if !is_being_ended(task) => Tone::Good,
        Status::Queued | Status::Running | Status::Cancelled => Tone::Warning,
        Status::Succeeded => Tone::Dim,
        Status::Failed | Status::TimedOut | Status::Lost => Tone::Bad,
    }
}

fn delivery_tone(delivery: DeliveryStatus) -> Tone {
    match delivery {
        DeliveryStatus::Pending | DeliveryStatus::SessionQueued => Tone::Plain,
        DeliveryStatus::Delivered | DeliveryStatus::NotApplicable => Tone::Dim,
        DeliveryStatus::ParentMissing => Tone::Warning,
        DeliveryStatus::Failed => Tone::Bad,
    }
}

/// Returns the worker: a command's run, or the session of a turn.
fn work(task: &TaskRow) -> String {
    let run = || task.run.as_ref().map(|run| short(run.as_str()).to_owned());
    let child = || task.child.as_ref().map(|key| shortened(key.as_str()));
    let work = match task.kind {
        Kind::Run => run().or_else(child),
        Kind::Acp | Kind::Subagent | Kind::Cli => child().or_else(run),
    };
    work.unwrap_or_else(|| "-".to_owned())
}

/// Formats the label and the latest summary or error.
fn summary(task: &TaskRow) -> String {
    let latest = task.error.as_ref().or(task.terminal_summary.as_ref()).or(task.progress_summary.as_ref());
    let mut parts: Vec<String> =
        [task.label.as_ref(), latest].into_iter().flatten().map(|it| plain(it)).collect();
    if is_being_ended(task) {
        parts.insert(0, "cancelling".to_owned());
    }
    if parts.is_empty() { "-".to_owned() } else { parts.join(": ") }
}

/// Formats a task's present state in one line.
pub(crate) fn task_line(context: &Context, task: &TaskRow) -> String {
    let id = short(task.id.as_str());
    let (at, status, delivery) = (context.exact(context.now_ms), task.status.word(), task.delivery.word());
    format!("{at}  {id}  {:<8}  {status:<10}  {delivery:<14}  {}", task.kind.word(), summary(task))
}

/// Prints one task, in groups.
pub(crate) fn task(task: &TaskRow, notices: &[TaskNotice]) -> Result<(), Failure> {
    lines(&task_lines(&Context::of_stdout(), task, notices))
}

/// Formats one task.
pub(crate) fn task_lines(context: &Context, task: &TaskRow, notices: &[TaskNotice]) -> Vec<String> {
    record::lines(context.style, &groups(context, task, notices))
}

fn groups(context: &Context, task: &TaskRow, notices: &[TaskNotice]) -> Vec<Group> {
    let events = task.recent_events.iter().map(|event| {
        let summary = event.summary.as_deref().map_or(String::new(), |text| format!("  {}", plain(text)));
        (event.kind.word(), format!("{}{summary}", context.moment(event.at_ms)))
    });
    vec![
        ("Task", task_rows(context, task)),
        ("Work", work_rows(task)),
        ("Delivery", delivery_rows(context, task, notices)),
        ("Recent events", events.collect()),
    ]
}

fn task_rows(context: &Context, task: &TaskRow) -> Rows {
    let text = |name: &'static str, text: &Option<String>| text.as_deref().map(|text| (name, plain(text)));
    let mut rows = vec![("id", task.id.to_string())];
    rows.extend(text("label", &task.label));
    rows.extend([("kind", task.kind.to_string()), ("status", task.status.to_string())]);
    rows.extend(text("error", &task.error));
    rows.extend(text("result", &task.terminal_summary).filter(|_| task.terminal_summary != task.error));
    rows.extend(text("progress", &task.progress_summary));
    rows.extend(task.outcome.as_ref().map(|outcome| ("ended by", ended_by(outcome))));
    rows.retain(|(_, value)| !value.is_empty());
    rows.push(("created", context.moment(task.created_at_ms)));
    rows.extend(task.started_at_ms.map(|at| ("started", context.moment(at))));
    rows.extend(task.cancel_asked_at_ms.map(|at| ("cancel requested", context.moment(at))));
    rows.extend(task.ended_at_ms.map(|at| ("ended", context.moment(at))));
    let began = task.started_at_ms.zip(task.ended_at_ms);
    rows.extend(
        began.map(|(began, ended)| {
            ("took", duration::show(Duration::from_millis(ended.saturating_sub(began))))
        }),
    );
    rows
}

fn ended_by(outcome: &Outcome) -> String {
    let mut parts = Vec::new();
    parts.extend(outcome.reason.map(|reason| reason.to_string()));
    parts.extend(outcome.exit_code.map(|code| format!("exit code {code}")));
    parts.extend(outcome.signal.map(|signal| format!("signal {signal}")));
    parts.extend(outcome.output_bytes.map(|amount| format!("{} of output", bytes(amount))));
    if outcome.confirmed == Some(false) {
        parts.push("not confirmed: some processes may still be alive".to_owned());
    }
    parts.join(", ")
}

fn work_rows(task: &TaskRow) -> Rows {
    let mut rows = Vec::new();
    rows.extend(task.run.as_ref().map(|run| ("run", run.to_string())));
    rows.extend(task.child.as_ref().map(|key| ("session", key.to_string())));
    rows.extend(task.turn.as_ref().map(|turn| ("turn", turn.to_string())));
    rows
}

/// Formats the delivery of notices: the owner, the policy, the state and the last attempt.
fn delivery_rows(context: &Context, task: &TaskRow, notices: &[TaskNotice]) -> Rows {
    let nobody = || "nobody: no session started it".to_owned();
    let mut rows = vec![
        ("owner", task.owner.as_ref().map_or_else(nobody, SessionKey::to_string)),
        ("policy", task.policy.to_string()),
        ("delivery", task.delivery.to_string()),
    ];
    rows.extend(task.origin.as_ref().map(|origin| {
        let parts = [Some(&origin.channel), origin.to.as_ref(), origin.thread.as_ref()];
        let parts: Vec<String> = parts.into_iter().flatten().map(|part| plain(part)).collect();
        ("channel", parts.join(", "))
    }));
    if let Some(last) = notices.last().filter(|last| last.channel.is_some() && last.attempts > 0) {
        let next = last.next_at_ms.map_or(String::new(), |at| format!(", next at {}", context.exact(at)));
        rows.push(("attempts", format!("{}{next}", last.attempts)));
        rows.extend(last.last_error.as_deref().map(|error| ("last error", plain(error))));
    }
    rows.extend(
        task.cleanup_after_ms
            .filter(|_| task.status.is_terminal())
            .map(|at| ("kept until", context.exact(at))),
    );
    rows
}

/// Prints the findings of an audit.
pub(crate) fn findings(list: &[TaskFinding]) -> Result<(), Failure> {
    if list.is_empty() {
        return line("nothing is wrong");
    }
    let mut table = Table::new(Style::of_stdout(), &["TASK", "SEVERITY", "FINDING", "DETAIL"]);
    for TaskFinding { task_id, finding } in list {
        let (severity, tone) = match finding.severity {
            Severity::Warning => ("warning", Tone::Warning),
            Severity::Error => ("error", Tone::Bad),
        };
        table.row([
            (short(task_id.as_str()).to_owned(), Tone::Plain),
            (severity.to_owned(), tone),
            (finding.code.to_string(), Tone::Plain),
            (plain(&finding.detail), Tone::Plain),
        ]);
    }
    table.print()
}

/// Prints the work that a maintenance did, or would do.
pub(crate) fn maintenance(done: &Maintenance) -> Result<(), Failure> {
    maintenance_lines(done).iter().try_for_each(|text| line(text))
}

fn maintenance_lines(done: &Maintenance) -> Vec<String> {
    let is = if done.applied { "is" } else { "would be" };
    let each = |ids: &[TaskId], what: &str| {
        let line = |id: &TaskId| format!("task {} {is} {what}", short(id.as_str()));
        ids.iter().map(line).collect::<Vec<_>>()
    };
    let mut lines = each(&done.lost, "marked lost: nothing works on it any more");
    lines.extend(each(&done.reconciled, "given a removal date: it ended without one"));
    let (lost, dated, pruned) = (done.lost.len(), done.reconciled.len(), done.pruned);
    let sum = format!("{lost} marked lost, {dated} given a removal date, {pruned} removed");
    lines.push(if done.applied { sum } else { format!("dry run: {sum}; --apply does it") });
    lines
}

#[cfg(test)]
mod tests;
