//! `tenure process`: manage commands started by exec, through the daemon.

mod request;

use super::json_in;
use crate::args::{PollArgs, ProcessAction, ProcessArgs};
use crate::failure::Failure;
use crate::{daemon_client, print, settings};
use std::fmt::Write;
use std::io::{IsTerminal, Read};
use std::time::Duration;
use tenure_client::Client;
use tenure_core::tools::{Listed, POLL_MS, ProcessReply, ProcessRequest, Status};
use tenure_os::clock;
use tenure_os::stderr::complain;

pub(crate) fn run(args: &ProcessArgs) -> Result<u8, Failure> {
    let (action, reply) = match (&args.action, &args.json_in) {
        (None, Some(from)) => {
            let request = json_in::read(from)?;
            (
                None,
                daemon_client::call(daemon_client::require(&settings::load_leniently()?)?.process(&request))?,
            )
        }
        (Some(action), None) => (Some(action), perform(action, args.session.as_ref())?),
        (Some(_), Some(_)) => {
            return Err(Failure::usage(
                "--json-in already contains the action: leave out the verb (see --help)",
            ));
        }
        (None, None) => {
            return Err(Failure::usage("no action given: use one, as in `tenure process list` (see --help)"));
        }
    };
    match action {
        Some(action) if !args.json => show(action, &reply)?,
        _ => print::json(&reply)?,
    }
    Ok(0)
}

/// Carries out an action. If that takes several requests, returns the last reply.
fn perform(action: &ProcessAction, session: Option<&String>) -> Result<ProcessReply, Failure> {
    let mut requests = request::build(action, &piped)?;
    for request in &mut requests {
        request.session_key = session.cloned();
    }
    let client = daemon_client::require(&settings::load_leniently()?)?;
    if let (ProcessAction::Poll(args), [request]) = (action, &mut requests[..]) {
        return poll(&client, args, request);
    }
    let mut written = 0;
    let mut last = ProcessReply::default();
    for request in &requests {
        last = daemon_client::call(client.process(request))?;
        written += last.bytes_written.unwrap_or(0);
    }
    if requests.len() > 1 {
        last.bytes_written = Some(written);
        last.message = format!("Wrote {written} bytes.");
    }
    Ok(last)
}

/// Polls until there is output or an end, or the time limit has passed. The daemon limits the wait of a single poll.
fn poll(client: &Client, args: &PollArgs, request: &mut ProcessRequest) -> Result<ProcessReply, Failure> {
    let Some(limit) = args.timeout else { return daemon_client::call(client.process(request)) };
    let deadline = clock::awake() + limit.0.unwrap_or_default();
    loop {
        let left = deadline.saturating_sub(clock::awake());
        request.timeout_ms = u64::try_from(left.min(Duration::from_millis(POLL_MS)).as_millis()).ok();
        let reply = daemon_client::call(client.process(request))?;
        let waits = |run: &Listed| matches!(run.status, Status::Running | Status::ApprovalPending);
        let goes_on = reply.run.as_ref().is_some_and(waits);
        let is_silent = reply.output.as_deref().is_none_or(str::is_empty);
        if !(goes_on && is_silent) || clock::awake() >= deadline {
            return Ok(reply);
        }
    }
}

/// Reads standard input; returns `None` if it is a terminal.
fn piped() -> Result<Option<String>, Failure> {
    if std::io::stdin().is_terminal() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes).map_err(Failure::refused)?;
    String::from_utf8(bytes).map(Some).map_err(|_| request::no_text())
}

fn show(action: &ProcessAction, reply: &ProcessReply) -> Result<(), Failure> {
    match action {
        ProcessAction::List(_) => {
            let runs = reply.runs.as_deref().unwrap_or_default();
            print::processes(runs)?;
            if reply.truncated == Some(true) {
                let count = runs.len();
                complain(format_args!(
                    "the newest {count} are shown: --limit shows up to 200, `tenure ps --all` every one"
                ));
            }
            Ok(())
        }
        ProcessAction::Poll(_) | ProcessAction::Log(_) => {
            print::text(reply.output.as_deref().unwrap_or_default())?;
            complain(print::plain(&note(reply)));
            Ok(())
        }
        ProcessAction::Screen(_) => {
            let rows = reply.screen.as_ref().and_then(|screen| screen["lines"].as_array());
            let rows: Vec<&str> = rows.into_iter().flatten().filter_map(|row| row.as_str()).collect();
            print::screen(&rows)
        }
        ProcessAction::Write(_)
        | ProcessAction::SendKeys(_)
        | ProcessAction::Submit(_)
        | ProcessAction::Paste(_)
        | ProcessAction::Resize(_)
        | ProcessAction::Kill(_)
        | ProcessAction::Clear(_)
        | ProcessAction::Remove(_) => print::line(&print::plain(&reply.message)),
    }
}

/// Note printed to standard error, beside the output.
fn note(reply: &ProcessReply) -> String {
    let mut note = reply.message.clone();
    if let (Some(run), Some(true), Some(line), None) =
        (&reply.run, reply.truncated, reply.next_line, reply.first_line)
    {
        let id = print::short(run.run_id.as_str());
        // Writing to a String cannot fail.
        let _ = write!(note, " The output is cut: `tenure process log {id} --offset {line}` shows the rest.");
    }
    note
}
