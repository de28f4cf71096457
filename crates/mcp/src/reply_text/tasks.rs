//! The replies of `tasks` as text: the status of each task, in words that a model can pass on, and the next step.

use super::{Text, duration, more};
use serde_json::json;
use tenure_core::task::{Kind, NotifyPolicy, Outcome, Status, TaskEvent, TaskRow};
use tenure_core::tools::tasks::{Action, TasksReply};

/// Formats a reply to an action, as of now.
pub(crate) fn tasks(action: Action, reply: &TasksReply, now_ms: u64) -> String {
    let mut text = Text::default();
    match (action, &reply.task) {
        (Action::List, _) => list(&mut text, reply, now_ms),
        (Action::Show, Some(task)) => show(&mut text, task, now_ms),
        (Action::Notify, Some(task)) => {
            text.line(task_line(task, now_ms));
            text.line(told(task));
        }
        (Action::Cancel, Some(task)) => {
            text.line(task_line(task, now_ms));
            if !task.status.is_terminal() {
                text.line(format_args!("It is being ended: {} shows when it is.", ask(task)));
            }
        }
        // The actions of operators are not available here.
        (Action::Show | Action::Notify | Action::Cancel, None)
        | (Action::Retry | Action::Acknowledge | Action::Audit | Action::Maintenance | Action::Reset, _) => {}
    }
    text.0
}

fn list(text: &mut Text, reply: &TasksReply, now_ms: u64) {
    let tasks = reply.tasks.as_deref().unwrap_or_default();
    if tasks.is_empty() {
        text.line("there are no such tasks that you may see");
    }
    for task in tasks {
        text.line(task_line(task, now_ms));
        if let Some((what, summary)) = summary(task) {
            text.line(format_args!("  {what}: {summary}"));
        }
    }
    more(text, reply.next.as_deref());
}

fn show(text: &mut Text, task: &TaskRow, now_ms: u64) {
    text.line(task_line(task, now_ms));
    if let Some((what, summary)) = summary(task) {
        text.line(format_args!("{what}: {summary}"));
    }
    if let Some(ended) = task.outcome.as_ref().and_then(ended) {
        text.line(ended);
    }
    if !task.recent_events.is_empty() {
        text.line("What happened last:");
    }
    for event in &task.recent_events {
        text.line(format_args!("  {}", event_line(event, now_ms)));
    }
    if task.status.is_terminal() {
        text.line(format_args!("Telling its owner: {}.", task.delivery));
    } else {
        text.line(told(task));
    }
    next(text, task);
}

/// Returns the line for a task.
fn task_line(task: &TaskRow, now_ms: u64) -> String {
    let mut parts = vec![task.status.to_string()];
    parts.push(match (task.status, task.started_at_ms, task.ended_at_ms) {
        (Status::Queued, ..) => format!("waiting for {}", since(task.created_at_ms, now_ms)),
        (_, Some(started), None) => format!("for {}", since(started, now_ms)),
        (_, Some(started), Some(ended)) => {
            format!("after {}, {} ago", since(started, ended), since(ended, now_ms))
        }
        (_, None, Some(ended)) => format!("{} ago, before it began", since(ended, now_ms)),
        (_, None, None) => format!("asked for {} ago", since(task.created_at_ms, now_ms)),
    });
    if task.cancel_asked_at_ms.is_some() && !task.status.is_terminal() {
        parts.push("being ended".to_owned());
    }
    parts.push(task.kind.to_string());
    parts.extend(task.label.as_ref().map(|label| format!("label {label:?}")));
    parts.extend(task.run.as_ref().map(|run| format!("runId {run}")));
    parts.extend(task.child.as_ref().map(|child| format!("session {child}")));
    format!("task {} [{}]", task.id, parts.join("; "))
}

/// Returns the task's summary and its label.
fn summary(task: &TaskRow) -> Option<(&'static str, &str)> {
    let error = task.error.as_deref().map(|error| ("error", error));
    let result = || task.terminal_summary.as_deref().map(|result| ("result", result));
    let progress = || task.progress_summary.as_deref().map(|progress| ("progress", progress));
    error.or_else(result).or_else(progress)
}

fn ended(outcome: &Outcome) -> Option<String> {
    let mut parts = Vec::new();
    parts.extend(outcome.reason.map(|reason| format!("because of {reason}")));
    parts.extend(outcome.exit_code.map(|code| format!("exit code {code}")));
    parts.extend(outcome.signal.map(|signal| format!("signal {signal}")));
    parts.extend(outcome.output_bytes.map(|bytes| format!("{bytes} bytes of output")));
    if outcome.confirmed == Some(false) {
        parts.push("not every process is known to be gone".to_owned());
    }
    (!parts.is_empty()).then(|| format!("It ended: {}.", parts.join(", ")))
}

fn event_line(event: &TaskEvent, now_ms: u64) -> String {
    let summary = event.summary.as_ref().map_or(String::new(), |summary| format!(": {summary}"));
    format!("{}, {} ago{summary}", event.kind, since(event.at_ms, now_ms))
}

/// Returns the sentence about the owner's notices.
fn told(task: &TaskRow) -> String {
    let what = match task.policy {
        NotifyPolicy::DoneOnly => "Its owner is told when it ends",
        NotifyPolicy::StateChanges => "Its owner is told how it goes and when it ends",
        NotifyPolicy::Silent => "Its owner is told nothing unasked",
    };
    format!("{what} ({}).", task.policy)
}

/// Adds the calls that show more, and that cancel the task.
fn next(text: &mut Text, task: &TaskRow) {
    let whole = match (task.kind, &task.child, &task.run) {
        (Kind::Run, _, Some(run)) => Some(format!("process {}", json!({"action": "log", "runId": run}))),
        (Kind::Acp | Kind::Subagent | Kind::Cli, Some(child), _) => {
            Some(format!("sessions {}", json!({"action": "history", "sessionKey": child})))
        }
        (Kind::Run | Kind::Acp | Kind::Subagent | Kind::Cli, ..) => None,
    };
    if let Some(whole) = whole.filter(|_| task.status.is_terminal()) {
        text.line(format_args!("{whole} shows all of what came of it."));
    }
    if !task.status.is_terminal() && task.cancel_asked_at_ms.is_none() {
        let cancel = json!({"action": "cancel", "lookup": task.id});
        text.line(format_args!("tasks {cancel} ends it."));
    }
}

/// Returns the call that shows the task.
fn ask(task: &TaskRow) -> String {
    format!("tasks {}", json!({"action": "show", "lookup": task.id}))
}

/// Formats the time between two moments, rounded as people do.
fn since(from_ms: u64, to_ms: u64) -> String {
    match to_ms.saturating_sub(from_ms) {
        ms @ 0..120_000 => duration(ms),
        ms @ 120_000..7_200_000 => format!("{} min", ms / 60_000),
        ms @ 7_200_000..172_800_000 => format!("{} h", ms / 3_600_000),
        ms => format!("{} d", ms / 86_400_000),
    }
}
