//! Snapshots of the tables and records that the daemon's responses are printed as.

use super::{album, answer, answers, at_widths, context};
use crate::commands::{events, why};
use crate::print;
use crate::print::runs::{run_lines, runs_lines};
use crate::print::sessions::{session_lines, sessions_lines};
use crate::print::turns::turns_lines;
use tenure_core::api::{Event, RunList, StoryLine};
use tenure_core::run_json::RunJson;
use tenure_core::tools::sessions::SessionsReply;
use tenure_core::tools::tasks::TasksReply;

#[test]
fn runs_sessions_and_tasks_match_their_snapshots() {
    let mut album = album("records");
    for name in answers("records") {
        let text = match name.as_str() {
            "runs" => {
                let RunList { mut runs, .. } = answer("records", &name);
                // The newest comes last.
                runs.reverse();
                at_widths(|context| runs_lines(context, &runs))
            }
            "why" => {
                let story: Vec<StoryLine> = answer("records", &name);
                at_widths(|context| why::lines(context, &story))
            }
            "sessions" => {
                let SessionsReply { sessions, .. } = answer("records", &name);
                at_widths(|context| sessions_lines(context, sessions.as_deref().unwrap()))
            }
            "history" => {
                let SessionsReply { turns, .. } = answer("records", &name);
                at_widths(|context| turns_lines(context, turns.as_deref().unwrap()))
            }
            "tasks" => {
                let TasksReply { tasks, .. } = answer("records", &name);
                at_widths(|context| print::tasks_lines(context, tasks.as_deref().unwrap()))
            }
            run if run.starts_with("run-") => {
                let run: RunJson = answer("records", run);
                at_widths(|context| run_lines(context, &run))
            }
            session if session.starts_with("session") => {
                let SessionsReply { session, .. } = answer("records", session);
                at_widths(|context| session_lines(context, session.as_ref().unwrap()))
            }
            task if task.starts_with("task-") => {
                let TasksReply { task, notices, .. } = answer("records", task);
                let (task, notices) = (task.unwrap(), notices.unwrap_or_default());
                at_widths(|context| print::task_lines(context, &task, &notices))
            }
            other => panic!("nothing prints {other}"),
        };
        album.check(&name, &text);
    }
    let event = |kind: String| events::line(&context(80), &answer::<Event>("events", &kind));
    let lines: Vec<String> = answers("events").map(event).collect();
    album.check("events", &lines.join("\n"));
    album.close();
}
