//! Tasks as they change: drawn anew on a terminal, elsewhere a line for each change. Who watches goes on with the next
//! daemon, and looks without changing anything.

use crate::failure::Failure;
use crate::print::{self, Context};
use crate::reach;
use std::collections::HashMap;
use std::fmt::Write;
use std::io::{IsTerminal, stdout};
use std::time::Duration;
use tenure_client::{Client, Failed};
use tenure_core::ids::TaskId;
use tenure_core::task::{DeliveryStatus, NotifyPolicy, Status, TaskRow};
use tenure_core::tools::tasks::{Action, TasksReply, TasksRequest};
use tenure_os::{poll, terminal};
use tenure_settings::Settings;

/// How often it is looked.
const LOOK: Duration = Duration::from_secs(1);
/// How many lines a terminal has that does not say.
const ROWS: usize = 24;

/// What is watched.
pub(super) struct Watch<'a> {
    pub(super) settings: &'a Settings,
    /// What the daemon is asked: a list, or one task.
    pub(super) request: TasksRequest,
    pub(super) json: bool,
}

impl Watch<'_> {
    /// Shows what there is and what changes, until the one task has ended, or nobody reads any more.
    pub(super) fn run(mut self) -> Result<u8, Failure> {
        let draws = !self.json && stdout().is_terminal();
        let mut client = reach::needed(self.settings)?;
        let mut seen = Seen::default();
        let mut first = true;
        loop {
            let Some(reply) = self.ask(&mut client)? else { continue };
            let is_read = if draws {
                // How it ended is left standing, whole.
                let rows = if has_ended(&reply) { usize::MAX } else { rows() };
                print::heard(&drawn(&lines(&reply), rows, first))?
            } else {
                let now = of(&reply);
                let left = self.left(&client, &seen, now)?;
                self.print(&seen.changed(now, &left))?
            };
            first = false;
            if let Some(task) = &reply.task {
                // A session's newest task may be another one later.
                self.request.lookup = Some(task.id.to_string());
            }
            if !is_read || has_ended(&reply) {
                return Ok(0);
            }
            poll::wait(&[], Some(LOOK)).map_err(Failure::refused)?;
        }
    }

    /// Asks once; `None` if the daemon went away, and then `client` is the next one's.
    fn ask(&self, client: &mut Client) -> Result<Option<TasksReply>, Failure> {
        match reach::try_wait(client.tasks(&self.request))? {
            Ok(reply) => Ok(Some(reply)),
            Err(failed)
                if failed.is_lost()
                    || matches!(failed, Failed::Silent { .. })
                    || failed.code() == Some("draining") =>
            {
                *client = reach::next(self.settings)?;
                Ok(None)
            }
            Err(failed) => Err(reach::failure(&failed)),
        }
    }

    /// Those that have left the list, as they are now: what a task became is a change of it. One that is forgotten, or
    /// that nobody may see any more, has nothing to tell.
    fn left(&self, client: &Client, seen: &Seen, now: &[TaskRow]) -> Result<Vec<TaskRow>, Failure> {
        let mut left = Vec::new();
        for id in seen.not_among(now) {
            let request = TasksRequest {
                lookup: Some(id.to_string()),
                requester: self.request.requester.clone(),
                visibility: self.request.visibility,
                sandboxed: self.request.sandboxed,
                ..TasksRequest::new(Action::Show)
            };
            if let Ok(reply) = reach::try_wait(client.tasks(&request))? {
                left.extend(reply.task);
            }
        }
        Ok(left)
    }

    /// Whether somebody reads it.
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
        Ok(text.is_empty() || print::heard(&text)?)
    }
}

/// The tasks of a reply.
fn of(reply: &TasksReply) -> &[TaskRow] {
    match (&reply.tasks, &reply.task) {
        (Some(tasks), _) => tasks,
        (None, Some(task)) => std::slice::from_ref(task),
        (None, None) => &[],
    }
}

/// Whether the one task is over.
fn has_ended(reply: &TasksReply) -> bool {
    reply.task.as_ref().is_some_and(|task| task.status.is_terminal())
}

/// What was last seen of the tasks that were there.
#[derive(Default)]
struct Seen(HashMap<TaskId, Shown>);

/// What of a task is worth a line when it changes.
#[derive(PartialEq)]
struct Shown {
    words: (Status, DeliveryStatus, NotifyPolicy),
    is_being_ended: bool,
    summaries: [Option<String>; 3],
}

impl Shown {
    fn of(task: &TaskRow) -> Self {
        Self {
            words: (task.status, task.delivery, task.policy),
            is_being_ended: task.cancel_asked_at_ms.is_some(),
            summaries: [&task.progress_summary, &task.terminal_summary, &task.error].map(Clone::clone),
        }
    }
}

impl Seen {
    /// Those that were there and are not among these.
    fn not_among<'a>(&'a self, now: &[TaskRow]) -> impl Iterator<Item = &'a TaskId> {
        self.0.keys().filter(|id| !now.iter().any(|task| task.id == **id))
    }

    /// Those that are new or otherwise than before, the oldest first. Of those that left nothing is kept.
    fn changed<'a>(&mut self, now: &'a [TaskRow], left: &'a [TaskRow]) -> Vec<&'a TaskRow> {
        let is_new = |task: &&TaskRow| self.0.get(&task.id) != Some(&Shown::of(task));
        let changed = now.iter().chain(left).rev().filter(is_new).collect();
        self.0 = now.iter().map(|task| (task.id.clone(), Shown::of(task))).collect();
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
    terminal::stdout().size().map_or(ROWS, |size| usize::from(size.rows))
}

/// These lines over what the terminal shows; what has no room is left out, and said. A line that is too long ends at the
/// edge: if it went on in the next, the lines would be more than the terminal has.
fn drawn(lines: &[String], rows: usize, first: bool) -> String {
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
        // A String takes everything.
        let _ = writeln!(text, "… {} more lines\x1b[K", cut + 1);
    }
    text.push_str(if is_whole { "\x1b[J" } else { "\x1b[J\x1b[?7h" });
    text
}

#[cfg(test)]
mod tests;
