//! `tenure tasks`: is it done? From the record, through the daemon.

mod request;
mod watch;

use super::page::more;
use crate::args::{TasksArgs, TasksListArgs, TasksVerb};
use crate::failure::Failure;
use crate::{print, reach, settings};
use tenure_core::task::TaskRow;
use tenure_core::tools::tasks::TasksReply;
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
        TasksVerb::Maintenance(_) => reply.maintenance.iter().try_for_each(print::maintenance),
    }
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
