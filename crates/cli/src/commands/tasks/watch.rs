//! Watches tasks: redraws the screen on a terminal, elsewhere prints a line for each change. If the daemon goes away,
//! continues with the next one.

use crate::daemon_client;
use crate::failure::Failure;
use crate::print::{self, Context};
use std::collections::HashMap;
use std::fmt::Write;
use std::io::{IsTerminal, stdout};
use std::time::Duration;
use tenure_client::{CallError, Client};
use tenure_core::ids::TaskId;
use tenure_core::task::{DeliveryStatus, NotifyPolicy, Status, TaskRow};
use tenure_core::tools::tasks::{Action, TasksReply, TasksRequest};
use tenure_os::{poll, terminal};
use tenure_settings::Settings;

/// Interval between two requests.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Height of a terminal that does not tell its size, in lines.
const DEFAULT_ROWS: usize = 24;

/// A watch of a list or of one task.
pub(super) struct Watch<'a> {
    pub(super) settings: &'a Settings,
    /// The request for the list or the task.
    pub(super) request: TasksRequest,
    pub(super) json: bool,
}

impl Watch<'_> {
    /// Shows the present state, then each change, until the one task has ended or nobody reads the output.
    pub(super) fn run(mut self) -> Result<u8, Failure> {
        let draws = !self.json && stdout().is_terminal();
        let mut client = daemon_client::require(self.settings)?;
        let mut seen = ShownTasks::default();
        let mut first = true;
        loop {
            let Some(reply) = self.ask(&mut client)? else { continue };
            let is_read = if draws {
                // The end of a task stays on the terminal, uncut.
                let rows = if has_ended(&reply) { usize::MAX } else { rows() };
                print::text_if_read(&draw(&lines(&reply), rows, first))?
            } else {
                let now = tasks_of(&reply);
                let removed = self.removed(&client, &seen, now)?;
                self.print(&seen.changed(now, &removed))?
            };
            first = false;
            if let Some(task) = &reply.task {
                // Watch this task by its id: the session may get a newer one.
                self.request.lookup = Some(task.id.to_string());
            }
            if !is_read || has_ended(&reply) {
                return Ok(0);
            }
            poll::wait(&[], Some(POLL_INTERVAL)).map_err(Failure::refused)?;
        }
    }

    /// Sends the request once. If the daemon went away, connects `client` to the next one and returns `None`.
    fn ask(&self, client: &mut Client) -> Result<Option<TasksReply>, Failure> {
        match daemon_client::try_call(client.tasks(&self.request))? {
            Ok(reply) => Ok(Some(reply)),
            Err(failed)
                if failed.is_lost()
                    || matches!(failed, CallError::Silent { .. })
                    || failed.code() == Some("draining") =>
            {
                *client = daemon_client::wait_for_next(self.settings)?;
                Ok(None)
            }
            Err(failed) => Err(daemon_client::to_failure(&failed)),
        }
    }

    /// Returns the present state of the tasks that have left the list. Tasks that were removed, or are no longer visible to
    /// this requester, are left out.
    fn removed(&self, client: &Client, seen: &ShownTasks, now: &[TaskRow]) -> Result<Vec<TaskRow>, Failure> {
        let mut removed = Vec::new();
        for id in seen.missing_from(now) {
            let request = TasksRequest {
                lookup: Some(id.to_string()),
                requester: self.request.requester.clone(),
                visibility: self.request.visibility,
                sandboxed: self.request.sandboxed,
                ..TasksRequest::new(Action::Show)
            };
            if let Ok(reply) = daemon_client::try_call(client.tasks(&request))? {
                removed.extend(reply.task);
            }
        }
        Ok(removed)
    }

    /// Prints the changed tasks. Returns false if nobody reads the output.
    fn print(&self, changed: &[&TaskRow]) -> Result<bool, Failure> {
        let mut text = String::new();
        for task in changed {
            let line = if self.json {
                let reply = TasksReply { task: Some((*task).clone()), ..TasksReply::default() };
                serde_json::to_string(&reply).map_err(Failure::refused)?
            } else {
                print::task_line(&Context::of_stdout(), task)
            };
            text.push_str(&line);
            text.push('\n');
        }
        Ok(text.is_empty() || print::text_if_read(&text)?)
    }
}

/// The tasks of a reply.
fn tasks_of(reply: &TasksReply) -> &[TaskRow] {
    match (&reply.tasks, &reply.task) {
        (Some(tasks), _) => tasks,
        (None, Some(task)) => std::slice::from_ref(task),
        (None, None) => &[],
    }
}

/// Returns true if the one task has ended.
fn has_ended(reply: &TasksReply) -> bool {
    reply.task.as_ref().is_some_and(|task| task.status.is_terminal())
}

/// Tasks of the previous reply, in the state in which they were shown.
#[derive(Default)]
struct ShownTasks(HashMap<TaskId, ShownState>);

/// Fields of a task whose change is printed.
#[derive(PartialEq)]
struct ShownState {
    words: (Status, DeliveryStatus, NotifyPolicy),
    is_being_ended: bool,
    summaries: [Option<String>; 3],
}

impl ShownState {
    fn of(task: &TaskRow) -> Self {
        Self {
            words: (task.status, task.delivery, task.policy),
            is_being_ended: task.cancel_asked_at_ms.is_some(),
            summaries: [&task.progress_summary, &task.terminal_summary, &task.error].map(Clone::clone),
        }
    }
}

impl ShownTasks {
    /// Returns the known tasks that are not in a new reply.
    fn missing_from<'a>(&'a self, now: &[TaskRow]) -> impl Iterator<Item = &'a TaskId> {
        self.0.keys().filter(|id| !now.iter().any(|task| task.id == **id))
    }

    /// Returns the new and the changed tasks, the oldest first, and stores the new state. Forgets the tasks that left the
    /// list.
    fn changed<'a>(&mut self, now: &'a [TaskRow], removed: &'a [TaskRow]) -> Vec<&'a TaskRow> {
        let is_new = |task: &&TaskRow| self.0.get(&task.id) != Some(&ShownState::of(task));
        let changed = now.iter().chain(removed).rev().filter(is_new).collect();
        self.0 = now.iter().map(|task| (task.id.clone(), ShownState::of(task))).collect();
        changed
    }
}

fn lines(reply: &TasksReply) -> Vec<String> {
    let context = Context::of_stdout();
    match &reply.task {
        Some(task) => print::task_lines(&context, task, reply.notices.as_deref().unwrap_or_default()),
        None => print::tasks_lines(&context, reply.tasks.as_deref().unwrap_or_default()),
    }
}

fn rows() -> usize {
    terminal::stdout().size().map_or(DEFAULT_ROWS, |size| usize::from(size.rows))
}

/// Draws lines over the terminal's content. Lines that do not fit are replaced by their number. Long lines are not wrapped,
/// so that their number is known.
fn draw(lines: &[String], rows: usize, first: bool) -> String {
    let is_whole = rows == usize::MAX;
    let mut text = if first { "\x1b[2J\x1b[H" } else { "\x1b[H" }.to_owned();
    text.push_str(if is_whole { "" } else { "\x1b[?7l" });
    let room = rows.saturating_sub(1).max(1);
    let cut = lines.len().saturating_sub(room);
    let shown = if cut == 0 { lines.len() } else { room - 1 };
    for line in &lines[..shown] {
        text.push_str(line);
        text.push_str("\x1b[K\n");
    }
    if cut > 0 {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "… {} more lines\x1b[K", cut + 1);
    }
    text.push_str(if is_whole { "\x1b[J" } else { "\x1b[J\x1b[?7h" });
    text
}

#[cfg(test)]
mod tests;
