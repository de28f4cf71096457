//! `tenure exec`: run a command line as agents do. While this process waits for the command, it is the caller: if it exits, by
//! Ctrl-C or in any other way, the command is ended.

pub(super) mod line;
mod request;

use super::json_in;
use crate::args::ExecArgs;
use crate::failure::Failure;
use crate::{caller_context, daemon_client, print, settings};
use request::OwnDefaults;
use serde::Serialize;
use tenure_client::{CallError, Client};
use tenure_core::ending::{Exit, Termination};
use tenure_core::ids::RunId;
use tenure_core::signal;
use tenure_core::tools::{ExecReply, FailureKind, Status};
use tenure_keeper::state_root;
use tenure_os::stderr::complain;
use tenure_settings::Settings;

pub(crate) fn run(args: &ExecArgs) -> Result<u8, Failure> {
    let settings = settings::load().map_err(Failure::with_run_code)?;
    let process = caller_context::capture(&settings).map_err(Failure::with_run_code)?;
    let reply = if let Some(from) = &args.json_in {
        let mut request = json_in::read(from)?;
        if let Some(fields) = request.as_object_mut() {
            // The request's author may be somebody else than this command's user.
            if fields.contains_key("process") {
                return Err(Failure::refused(
                    "\"process\" is not allowed in a request: use \"workdir\" and \"env\"",
                ));
            }
            OwnDefaults::of(&settings).fill_in(fields).map_err(Failure::tenure_failed)?;
            fields.insert("process".to_owned(), serde_json::to_value(process).map_err(Failure::refused)?);
        }
        ask(&settings, &request)?
    } else {
        ask(&settings, &request::build(args, &settings, process))?
    };
    let is_json = args.json || args.json_in.is_some();
    let shown = if is_json { print::json(&reply) } else { show(&reply) };
    shown.map(|()| code(&reply)).map_err(Failure::with_run_code)
}

/// Maximum number of daemons tried for one call.
const MAX_DAEMONS: usize = 10;

/// Sends the request. If the daemon goes away, the next one continues with the same run: a command is never started twice.
fn ask(settings: &Settings, request: &(impl Serialize + Sync)) -> Result<ExecReply, Failure> {
    let run = state_root::new_run_id().map_err(Failure::tenure_failed)?;
    let mut client = daemon_client::require(settings).map_err(Failure::with_run_code)?;
    for earlier in 0..MAX_DAEMONS {
        match daemon_client::try_call(client.exec(request, &run))? {
            Ok(reply) => return Ok(reply),
            Err(CallError::Broken(_)) => client = next_with(settings, &run)?,
            // The daemon found after a loss went away too, before it got the request.
            Err(CallError::Unreachable(_)) if earlier > 0 => client = next_with(settings, &run)?,
            Err(failed @ CallError::Silent { .. }) => {
                return Err(Failure::tenure_failed(format!(
                    "{failed}; the command may have been started: `tenure process poll {run}` finds it"
                )));
            }
            Err(failed @ (CallError::Unreachable(_) | CallError::NotUnderstood(_))) => {
                return Err(Failure::tenure_failed(&failed));
            }
            Err(failed @ CallError::Refused(_)) => return Err(Failure::refused(&failed)),
        }
    }
    Err(Failure::tenure_failed(format!(
        "the connection to the daemon was lost repeatedly: `tenure process poll {run}` waits for the run's end"
    )))
}

/// Connects to the next daemon, if that knows the run. If not, the lost daemon started none, or was of an older version, which
/// gave the run another id.
fn next_with(settings: &Settings, run: &RunId) -> Result<Client, Failure> {
    let gone = |why: &dyn std::fmt::Display| {
        Failure::tenure_failed(format!(
            "the daemon went away while the command ran ({why}), and the command may go on as run {run}: `tenure ps` shows \
             it, and `tenure process poll {run}` waits for its end"
        ))
    };
    let client = daemon_client::require(settings).map_err(|failure| gone(&failure.text()))?;
    match daemon_client::try_call(client.run(run.as_str()))? {
        // If this daemon is lost as well, the next call notices.
        Ok(_) => Ok(client),
        Err(failed) if failed.is_lost() => Ok(client),
        Err(failed) if failed.code() == Some("no-such-run") => Err(Failure::tenure_failed(
            "the daemon went away before it recorded a run: look with `tenure ps` before you try again",
        )),
        Err(failed) => Err(gone(&failed)),
    }
}

/// Prints the output, and the notes to standard error.
fn show(reply: &ExecReply) -> Result<(), Failure> {
    let text = if reply.status == Status::Running { &reply.tail } else { &reply.output };
    print::text(text)?;
    for note in reply.warnings.iter().chain(&notes(reply)) {
        complain(print::plain(note));
    }
    Ok(())
}

/// Notes on the result and the next steps, with commands of this command line.
fn notes(reply: &ExecReply) -> Vec<String> {
    let (run, id) = (&reply.run_id, print::short(reply.run_id.as_str()));
    let mut notes = Vec::new();
    match reply.status {
        Status::Completed => {}
        Status::Running => notes.push(format!(
            "the command goes on as run {run}: `tenure process poll {id}` waits for its output and end, `tenure process kill \
             {id}` ends it"
        )),
        Status::ApprovalPending => notes.push(format!(
            "a person must approve the command first: `tenure approvals allow-once {id}` starts it, as run {run} in the \
             background, and `tenure process poll {id}` waits for that"
        )),
        Status::Failed => match reply.failure_kind {
            Some(FailureKind::OverallTimeout) => notes.push(
                "the command timed out; part of its work may be done. --timeout allows more time, 0 is no limit"
                    .to_owned(),
            ),
            Some(FailureKind::NoOutputTimeout) => notes.push("the command was ended: it printed nothing for too long".to_owned()),
            // The daemon's own text fits here, and mentions cut output too.
            _ => return reply.follow_up.clone().into_iter().collect(),
        },
    }
    if reply.truncated {
        let from = reply.next_line.map_or(String::new(), |line| format!(" --offset {line}"));
        notes.push(format!("the output is cut here: `tenure process log {id}{from}` shows the rest"));
    }
    notes
}

/// Exit code of `tenure exec`: the command's own, or that of `tenure run` for the same ending.
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
