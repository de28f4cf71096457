//! `tenure tasks`: list and manage background tasks, through the daemon.

mod request;
mod watch;

use super::page::print_next_page_hint;
use crate::args::{TasksArgs, TasksListArgs, TasksVerb};
use crate::failure::Failure;
use crate::{daemon_client, print, settings};
use tenure_core::task::TaskRow;
use tenure_core::tools::tasks::{TaskReset, TasksReply};
use watch::Watch;

pub(crate) fn run(args: &TasksArgs) -> Result<u8, Failure> {
    let all = TasksVerb::List(args.list.clone());
    let verb = match &args.verb {
        None => &all,
        Some(_) if args.list != TasksListArgs::default() => {
            return Err(Failure::usage(
                "list flags go after `tenure tasks list`, not before another verb (see --help)",
            ));
        }
        Some(verb) => verb,
    };
    let request = request::build(args, verb);
    let settings = settings::load_leniently()?;
    let watches = match verb {
        TasksVerb::List(list) => list.watch,
        TasksVerb::Show(show) => show.watch,
        _ => false,
    };
    if watches {
        return Watch { settings: &settings, request, json: args.json }.run();
    }
    let reply = daemon_client::call(daemon_client::require(&settings)?.tasks(&request))?;
    if let Some(reset) = reply.reset.filter(|reset| !reset.applied) {
        return Err(Failure::refused(reset_refusal(reset)));
    }
    if args.json {
        print::json(&reply)?;
    } else {
        show(verb, &reply)?;
    }
    Ok(code(verb, &reply))
}

/// Exit code: 1 if an audit has findings.
fn code(verb: &TasksVerb, reply: &TasksReply) -> u8 {
    let found = reply.findings.as_ref().is_some_and(|findings| !findings.is_empty());
    u8::from(matches!(verb, TasksVerb::Audit) && found)
}

fn show(verb: &TasksVerb, reply: &TasksReply) -> Result<(), Failure> {
    let task =
        |message: fn(&TaskRow) -> String| reply.task.iter().try_for_each(|task| print::line(&message(task)));
    match verb {
        TasksVerb::List(_) => {
            print::tasks(reply.tasks.as_deref().unwrap_or_default())?;
            print_next_page_hint(reply.next.as_deref());
            Ok(())
        }
        TasksVerb::Show(_) => {
            let notices = reply.notices.as_deref().unwrap_or_default();
            reply.task.iter().try_for_each(|task| print::task(task, notices))
        }
        TasksVerb::Notify(_) => task(notify_message),
        TasksVerb::Cancel(_) => task(cancel_message),
        TasksVerb::Retry(_) | TasksVerb::Acknowledge(_) => task(retry_message),
        TasksVerb::Audit => print::findings(reply.findings.as_deref().unwrap_or_default()),
        TasksVerb::Reset(_) => reply.reset.iter().try_for_each(|reset| print::line(&reset_message(*reset))),
        TasksVerb::Maintenance(_) => reply.maintenance.iter().try_for_each(print::maintenance),
    }
}

/// Counts the tasks and notices that a reset discards.
fn reset_counts(reset: TaskReset) -> String {
    let many = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let (tasks, notices) = (many(reset.tasks, "task"), many(reset.notices, "undelivered notice"));
    format!("{tasks} ({} active) and {notices}", reset.active)
}

fn reset_refusal(reset: TaskReset) -> String {
    let counts = reset_counts(reset);
    format!(
        "this would discard {counts}. Runs go on and their ends are recorded, but no notices are sent: \
         `tenure tasks reset --yes` does it"
    )
}

fn reset_message(reset: TaskReset) -> String {
    format!("discarded {}; runs go on", reset_counts(reset))
}

fn notify_message(task: &TaskRow) -> String {
    format!("task {}: {}", print::short(task.id.as_str()), task.policy)
}

fn cancel_message(task: &TaskRow) -> String {
    let id = print::short(task.id.as_str());
    if task.status.is_terminal() {
        format!("task {id} is {}", task.status)
    } else {
        format!("task {id} is being cancelled: `tenure tasks show {id} --watch` follows it")
    }
}

fn retry_message(task: &TaskRow) -> String {
    format!("task {}: delivery to its owner is {}", print::short(task.id.as_str()), task.delivery)
}

#[cfg(test)]
mod tests;
