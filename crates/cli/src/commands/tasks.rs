//! `tenure tasks`: is it done? From the record, through the daemon.

mod request;
mod watch;

use super::page::more;
use crate::args::{TasksArgs, TasksListArgs, TasksVerb};
use crate::failure::Failure;
use crate::{print, reach, settings};
use tenure_core::task::TaskRow;
use tenure_core::tools::tasks::{TaskReset, TasksReply};
use watch::Watch;

pub(crate) fn run(args: &TasksArgs) -> Result<u8, Failure> {
    let all = TasksVerb::List(args.list.clone());
    let verb = match &args.verb {
        None => &all,
        Some(_) if args.list != TasksListArgs::default() => {
            return Err(Failure::usage("the options of a list stand after `tenure tasks list` (see --help)"));
        }
        Some(verb) => verb,
    };
    let request = request::of(args, verb);
    let settings = settings::load_to_look()?;
    let watches = match verb {
        TasksVerb::List(list) => list.watch,
        TasksVerb::Show(show) => show.watch,
        _ => false,
    };
    if watches {
        return Watch { settings: &settings, request, json: args.json }.run();
    }
    let reply = reach::wait(reach::needed(&settings)?.tasks(&request))?;
    if let Some(reset) = reply.reset.filter(|reset| !reset.applied) {
        return Err(Failure::refused(not_reset(reset)));
    }
    if args.json {
        print::json(&reply)?;
    } else {
        show(verb, &reply)?;
    }
    Ok(code(verb, &reply))
}

/// An audit that finds something is told by its exit code.
fn code(verb: &TasksVerb, reply: &TasksReply) -> u8 {
    let found = reply.findings.as_ref().is_some_and(|findings| !findings.is_empty());
    u8::from(matches!(verb, TasksVerb::Audit) && found)
}

fn show(verb: &TasksVerb, reply: &TasksReply) -> Result<(), Failure> {
    let task = |said: fn(&TaskRow) -> String| reply.task.iter().try_for_each(|task| print::line(&said(task)));
    match verb {
        TasksVerb::List(_) => {
            print::tasks(reply.tasks.as_deref().unwrap_or_default())?;
            more(reply.next.as_deref());
            Ok(())
        }
        TasksVerb::Show(_) => {
            let notices = reply.notices.as_deref().unwrap_or_default();
            reply.task.iter().try_for_each(|task| print::task(task, notices))
        }
        TasksVerb::Notify(_) => task(notified),
        TasksVerb::Cancel(_) => task(cancelled),
        TasksVerb::Retry(_) | TasksVerb::Acknowledge(_) => task(retried),
        TasksVerb::Audit => print::findings(reply.findings.as_deref().unwrap_or_default()),
        TasksVerb::Reset(_) => reply.reset.iter().try_for_each(|reset| print::line(&discarded(*reset))),
        TasksVerb::Maintenance(_) => reply.maintenance.iter().try_for_each(print::maintenance),
    }
}

/// What a reset is about, as a noun.
fn state(reset: TaskReset) -> String {
    let many = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let (tasks, notices) = (many(reset.tasks, "task"), many(reset.notices, "undelivered notice"));
    format!("{tasks} ({} active) and {notices}", reset.active)
}

fn not_reset(reset: TaskReset) -> String {
    let state = state(reset);
    format!(
        "this would discard {state}. Runs go on and their ends are recorded, but nobody is told of them: \
         `tenure tasks reset --yes` does it"
    )
}

fn discarded(reset: TaskReset) -> String {
    format!("discarded {}; runs go on", state(reset))
}

fn notified(task: &TaskRow) -> String {
    format!("task {}: {}", print::short(task.id.as_str()), task.policy)
}

fn cancelled(task: &TaskRow) -> String {
    let id = print::short(task.id.as_str());
    if task.status.is_terminal() {
        format!("task {id} is {}", task.status)
    } else {
        format!("task {id} is being ended: `tenure tasks show {id} --watch` follows it")
    }
}

fn retried(task: &TaskRow) -> String {
    format!("task {}: telling its owner is {}", print::short(task.id.as_str()), task.delivery)
}

#[cfg(test)]
mod tests;
