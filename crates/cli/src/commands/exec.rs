//! `tenure exec`: run a command line as agents do. While it is waited for, this process is the caller: when it ends, by
//! Ctrl-C or in any other way, so does the command.

pub(super) mod line;
mod request;

use super::json_in;
use crate::args::ExecArgs;
use crate::failure::Failure;
use crate::{here, print, reach, settings};
use request::OwnDefaults;
use serde::Serialize;
use tenure_client::{Client, Failed};
use tenure_core::ending::{Exit, Termination};
use tenure_core::signal;
use tenure_core::tools::{ExecReply, FailureKind, Status};
use tenure_os::complaint::complain;

pub(crate) fn run(args: &ExecArgs) -> Result<u8, Failure> {
    let settings = settings::load().map_err(Failure::of_run)?;
    let process = here::process(&settings).map_err(Failure::of_run)?;
    let reply = if let Some(from) = &args.json_in {
        let mut request = json_in::read(from)?;
        if let Some(fields) = request.as_object_mut() {
            // The author of the request may be somebody else than the user of this command.
            if fields.contains_key("process") {
                return Err(Failure::refused(
                    "process is no field of a request: leave it out, and give workdir and env",
                ));
            }
            OwnDefaults::of(&settings).fill_in(fields).map_err(Failure::ours)?;
            fields.insert("process".to_owned(), serde_json::to_value(process).map_err(Failure::refused)?);
        }
        ask(&reach::needed(&settings).map_err(Failure::of_run)?, &request)?
    } else {
        let request = request::of(args, &settings, process);
        ask(&reach::needed(&settings).map_err(Failure::of_run)?, &request)?
    };
    let is_json = args.json || args.json_in.is_some();
    let shown = if is_json { print::json(&reply) } else { show(&reply) };
    shown.map(|()| code(&reply)).map_err(Failure::of_run)
}

fn ask(client: &Client, request: &(impl Serialize + Sync)) -> Result<ExecReply, Failure> {
    reach::try_wait(client.exec(request))?.map_err(|failed| match &failed {
        Failed::Broken(_) => Failure::ours(
            "the daemon went away while the command ran, and the command may go on: `tenure ps` finds it, and \
             `tenure process poll` waits for its end",
        ),
        Failed::Silent { .. } => Failure::ours(format!(
            "{failed}; the command may have been started: `tenure ps` finds it"
        )),
        Failed::Unreachable(_) | Failed::NotUnderstood(_) => Failure::ours(&failed),
        Failed::Refused(_) => Failure::refused(&failed),
    })
}

/// Prints the output, and beside it what else there is to say.
fn show(reply: &ExecReply) -> Result<(), Failure> {
    let text = if reply.status == Status::Running { &reply.tail } else { &reply.output };
    print::text(text)?;
    for note in reply.warnings.iter().chain(&notes(reply)) {
        complain(print::plain(note));
    }
    Ok(())
}

/// What became of it and what there is to do next, in the words of the command line.
fn notes(reply: &ExecReply) -> Vec<String> {
    let (run, id) = (&reply.run_id, print::short(reply.run_id.as_str()));
    let mut notes = Vec::new();
    match reply.status {
        Status::Completed => {}
        Status::Running => notes.push(format!(
            "it goes on as run {run}: `tenure process poll {id}` waits for its output and end, `tenure process kill {id}` \
             ends it"
        )),
        Status::ApprovalPending => notes.push(format!(
            "a person is asked first: `tenure approvals allow-once {id}` lets it run, as run {run} in the background, and \
             `tenure process poll {id}` waits for that"
        )),
        Status::Failed => match reply.failure_kind {
            Some(FailureKind::OverallTimeout) => notes.push(
                "it took too long and was ended; part of its work may be done. --timeout gives it more time, 0 all of it"
                    .to_owned(),
            ),
            Some(FailureKind::NoOutputTimeout) => notes.push("it was silent for too long and was ended".to_owned()),
            // The daemon says it well, and says of more output too.
            _ => return reply.follow_up.clone().into_iter().collect(),
        },
    }
    if reply.truncated {
        let from = reply.next_line.map_or(String::new(), |line| format!(" --offset {line}"));
        notes.push(format!("the output is cut here: `tenure process log {id}{from}` shows the rest"));
    }
    notes
}

/// The exit code of `tenure exec`: the command's own, or the one of `tenure run` for such an ending.
fn code(reply: &ExecReply) -> u8 {
    let exit = match (reply.exit_code, &reply.exit_signal) {
        (Some(code), _) => Some(Exit::Code(code)),
        (None, Some(name)) => signal::number(name).map(Exit::Signal),
        (None, None) => None,
    };
    match (reply.status, reply.exit_reason) {
        (Status::Running, _) => 0,
        (Status::ApprovalPending, _) => 1,
        (Status::Completed | Status::Failed, Some(reason)) => Termination::new(reason, exit, None).code(),
        (Status::Completed | Status::Failed, None) => 121,
    }
}

#[cfg(test)]
mod tests;
