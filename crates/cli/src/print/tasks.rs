//! Tasks: many as a table, one in full, one in a line, and what is wrong with them. Nothing of what others wrote is
//! obeyed by a terminal.

use super::record::{self, Group, Rows};
use super::runs::shortened;
use super::{Context, Face, Table, Tone, ago, bytes, line, lines, plain, short};
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

/// The lines of that table.
pub(crate) fn tasks_lines(context: &Context, list: &[TaskRow]) -> Vec<String> {
    let headings = ["TASK", "KIND", "STATUS", "DELIVERY", "RUN/SESSION", ">AGE", "SUMMARY"];
    let mut table = Table::new(context.face, &headings);
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

/// Whether somebody wants it ended, and it has not.
fn is_being_ended(task: &TaskRow) -> bool {
    task.cancel_asked_at_ms.is_some() && !task.status.is_terminal()
}

fn status_tone(task: &TaskRow) -> Tone {
    match task.status {
        Status::Running if !is_being_ended(task) => Tone::Good,
        Status::Queued | Status::Running | Status::Cancelled => Tone::Odd,
        Status::Succeeded => Tone::Quiet,
        Status::Failed | Status::TimedOut | Status::Lost => Tone::Bad,
    }
}

fn delivery_tone(delivery: DeliveryStatus) -> Tone {
    match delivery {
        DeliveryStatus::Pending | DeliveryStatus::SessionQueued => Tone::Plain,
        DeliveryStatus::Delivered | DeliveryStatus::NotApplicable => Tone::Quiet,
        DeliveryStatus::ParentMissing => Tone::Odd,
        DeliveryStatus::Failed => Tone::Bad,
    }
}

/// What does the work: a command's run, else the session whose turn it is.
fn work(task: &TaskRow) -> String {
    let run = || task.run.as_ref().map(|run| short(run.as_str()).to_owned());
    let child = || task.child.as_ref().map(|key| shortened(key.as_str()));
    let work = match task.kind {
        Kind::Run => run().or_else(child),
        Kind::Acp | Kind::Subagent | Kind::Cli => child().or_else(run),
    };
    work.unwrap_or_else(|| "-".to_owned())
}

/// What it is called and what there is to say of it.
fn summary(task: &TaskRow) -> String {
    let said = task.error.as_ref().or(task.terminal_summary.as_ref()).or(task.progress_summary.as_ref());
    let mut parts: Vec<String> =
        [task.label.as_ref(), said].into_iter().flatten().map(|it| plain(it)).collect();
    if is_being_ended(task) {
        parts.insert(0, "being ended".to_owned());
    }
    if parts.is_empty() { "-".to_owned() } else { parts.join(": ") }
}

/// A task in a line, as it is at this moment.
pub(crate) fn task_line(context: &Context, task: &TaskRow) -> String {
    let id = short(task.id.as_str());
    let (at, status, delivery) = (context.exact(context.now_ms), task.status.word(), task.delivery.word());
    format!("{at}  {id}  {:<8}  {status:<10}  {delivery:<14}  {}", task.kind.word(), summary(task))
}

/// Prints one task, in groups.
pub(crate) fn task(task: &TaskRow, notices: &[TaskNotice]) -> Result<(), Failure> {
    lines(&task_lines(&Context::of_stdout(), task, notices))
}

/// The lines of one task.
pub(crate) fn task_lines(context: &Context, task: &TaskRow, notices: &[TaskNotice]) -> Vec<String> {
    record::lines(context.face, &groups(context, task, notices))
}

fn groups(context: &Context, task: &TaskRow, notices: &[TaskNotice]) -> Vec<Group> {
    let events = task.recent_events.iter().map(|event| {
        let summary = event.summary.as_deref().map_or(String::new(), |text| format!("  {}", plain(text)));
        (event.kind.word(), format!("{}{summary}", context.moment(event.at_ms)))
    });
    vec![
        ("Task", itself(context, task)),
        ("Work", carried_out(task)),
        ("Telling", telling(context, task, notices)),
        ("Recent events", events.collect()),
    ]
}

fn itself(context: &Context, task: &TaskRow) -> Rows {
    let text = |name: &'static str, text: &Option<String>| text.as_deref().map(|text| (name, plain(text)));
    let mut rows = vec![("id", task.id.to_string())];
    rows.extend(text("label", &task.label));
    rows.extend([("kind", task.kind.to_string()), ("status", task.status.to_string())]);
    rows.extend(text("error", &task.error));
    rows.extend(text("result", &task.terminal_summary).filter(|_| task.terminal_summary != task.error));
    rows.extend(text("progress", &task.progress_summary));
    rows.extend(task.outcome.as_ref().map(|outcome| ("ended by", ended_by(outcome))));
    rows.retain(|(_, value)| !value.is_empty());
    rows.push(("asked for", context.moment(task.created_at_ms)));
    rows.extend(task.started_at_ms.map(|at| ("began", context.moment(at))));
    rows.extend(task.cancel_asked_at_ms.map(|at| ("cancel asked", context.moment(at))));
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
        parts.push("not every process is known to be gone".to_owned());
    }
    parts.join(", ")
}

fn carried_out(task: &TaskRow) -> Rows {
    let mut rows = Vec::new();
    rows.extend(task.run.as_ref().map(|run| ("run", run.to_string())));
    rows.extend(task.child.as_ref().map(|key| ("session", key.to_string())));
    rows.extend(task.turn.as_ref().map(|turn| ("turn", turn.to_string())));
    rows
}

/// Whom it is told, what of it, and whether that was done.
fn telling(context: &Context, task: &TaskRow, notices: &[TaskNotice]) -> Rows {
    let nobody = || "nobody: no session asked for it".to_owned();
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

/// Prints what is wrong with tasks, and what to do about it.
pub(crate) fn findings(list: &[TaskFinding]) -> Result<(), Failure> {
    if list.is_empty() {
        return line("nothing is wrong");
    }
    let mut table = Table::new(Face::of_stdout(), &["TASK", "SEVERITY", "FINDING", "DETAIL"]);
    for TaskFinding { task_id, finding } in list {
        let (severity, tone) = match finding.severity {
            Severity::Warning => ("warning", Tone::Odd),
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

/// Prints what is due, or was done.
pub(crate) fn maintenance(done: &Maintenance) -> Result<(), Failure> {
    due(done).iter().try_for_each(|text| line(text))
}

fn due(done: &Maintenance) -> Vec<String> {
    let is = if done.applied { "is" } else { "would be" };
    let each = |ids: &[TaskId], what: &str| {
        let said = |id: &TaskId| format!("task {} {is} {what}", short(id.as_str()));
        ids.iter().map(said).collect::<Vec<_>>()
    };
    let mut lines = each(&done.lost, "given up: nothing is behind it any more");
    lines.extend(each(&done.reconciled, "told: what it tracks had ended"));
    let (lost, told, pruned) = (done.lost.len(), done.reconciled.len(), done.pruned);
    let sum = format!("{lost} given up, {told} told, {pruned} forgotten");
    lines.push(if done.applied { sum } else { format!("due: {sum}; --apply does it") });
    lines
}

#[cfg(test)]
mod tests;
