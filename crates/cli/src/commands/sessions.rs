//! `tenure sessions`: start, use and close conversations with agents, through the daemon.

mod request;
mod turn;

use super::page::print_next_page_hint;
use super::sessions_import;
use crate::args::{SessionsArgs, SessionsListArgs, SessionsVerb, TurnWaitArgs};
use crate::failure::Failure;
use crate::{caller_context, daemon_client, print, settings};
use std::io::Read;
use std::time::Duration;
use tenure_core::session::TurnState;
use tenure_core::session::legacy::LegacyProcess;
use tenure_core::tools::sessions::{ClosedJson, Delivery, Sent, SessionsReply, SessionsRequest};
use tenure_os::clock;
use tenure_os::stderr::complain;
use tenure_settings::Settings;
use turn::{TurnWait, WaitOutcome};

pub(crate) fn run(args: &SessionsArgs) -> Result<u8, Failure> {
    let all = SessionsVerb::List(SessionsListArgs::default());
    let verb = args.verb.as_ref().unwrap_or(&all);
    let settings = match verb {
        // The configuration describes the agents that they start: it must be valid.
        SessionsVerb::Spawn(_) | SessionsVerb::Send(_) => settings::load()?,
        _ => settings::load_leniently()?,
    };
    match verb {
        SessionsVerb::Import(_) if args.requester.acting_as.is_some() => {
            return Err(Failure::refused("a session cannot import others: leave out --as"));
        }
        SessionsVerb::Import(import) => return sessions_import::run(import, args.json),
        SessionsVerb::Wait(wait) => return run_wait(args, &settings, wait),
        _ => {}
    }
    let mut request = request::build(args, verb, &piped)?;
    if matches!(verb, SessionsVerb::Spawn(_) | SessionsVerb::Send(_)) {
        request.process = caller_context::capture(&settings).ok();
    }
    let reply = match verb {
        SessionsVerb::Close(_) => close(&settings, &request)?,
        _ => daemon_client::call(daemon_client::require(&settings)?.sessions(&request))?,
    };
    let waits = match verb {
        SessionsVerb::Spawn(spawn) => spawn.wait,
        SessionsVerb::Send(send) => send.wait,
        _ => false,
    };
    if waits {
        return wait_for_answer(args, &settings, verb, reply);
    }
    if args.json {
        print::json(&reply)?;
    } else {
        show(verb, &reply)?;
    }
    Ok(0)
}

/// Closes a session. If the daemon goes away, repeats the request with the next one.
pub(super) fn close(settings: &Settings, request: &SessionsRequest) -> Result<SessionsReply, Failure> {
    let mut was_asked = false;
    loop {
        match daemon_client::try_call(daemon_client::require(settings)?.sessions(request))? {
            Ok(reply) => return Ok(reply),
            Err(failed) if failed.is_lost() => was_asked = true,
            // The last daemon had closed and discarded the session.
            Err(failed) if was_asked && failed.code() == Some("no-such-session") => {
                let key = request.session_key.iter().filter_map(|key| key.parse().ok()).collect();
                let closed = ClosedJson { closed: key, ..ClosedJson::default() };
                return Ok(SessionsReply { closed: Some(closed), ..SessionsReply::default() });
            }
            Err(failed) => return Err(daemon_client::to_failure(&failed)),
        }
    }
}

/// Reads a message from standard input.
pub(super) fn piped() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes).map_err(Failure::refused)?;
    String::from_utf8(bytes).map_err(|_| Failure::refused("standard input is not valid UTF-8: send text"))
}

/// Runs `wait`: waits for the end of a turn.
fn run_wait(args: &SessionsArgs, settings: &Settings, wait: &TurnWaitArgs) -> Result<u8, Failure> {
    let limit = wait.timeout.and_then(|limit| limit.0);
    let waiting = TurnWait {
        settings,
        request: request::wait(args, &wait.key, wait.turn.as_deref()),
        deadline: limit.map(|limit: Duration| clock::awake() + limit),
    };
    print_end(args, SessionsReply::default(), waiting.turn()?)
}

/// Runs `--wait`: waits for the answer to the sent message.
fn wait_for_answer(
    args: &SessionsArgs,
    settings: &Settings,
    verb: &SessionsVerb,
    reply: SessionsReply,
) -> Result<u8, Failure> {
    let spawned = reply.session.as_ref().map(|session| session.row.key.to_string());
    let key = match verb {
        SessionsVerb::Send(send) => Some(send.key.clone()),
        _ => spawned,
    };
    let (Some(key), Some(sent)) = (key, &reply.sent) else {
        return Err(Failure::refused("the daemon's reply names no turn: use `tenure sessions wait`"));
    };
    if !args.json {
        if matches!(verb, SessionsVerb::Spawn(_)) {
            print::line(&key)?;
        }
        sent.note.iter().for_each(|note| complain(print::plain(note)));
    }
    // A message that joined a running turn does not make this caller the turn's sender.
    let foreground = (sent.delivery != Delivery::Steered).then_some(true);
    let request = SessionsRequest { foreground, ..request::wait(args, &key, Some(sent.turn_id.as_str())) };
    let awaited = TurnWait { settings, request, deadline: None }.turn()?;
    print_end(args, reply, awaited)
}

/// Prints the end of a turn. The JSON includes the earlier reply.
fn print_end(args: &SessionsArgs, before: SessionsReply, awaited: WaitOutcome) -> Result<u8, Failure> {
    let turn = match awaited {
        WaitOutcome::Ended(turn) => turn,
        WaitOutcome::StillRunning => {
            complain("the turn goes on: `tenure sessions cancel` ends it");
            return Ok(124);
        }
    };
    let code = code(turn.state);
    if args.json {
        print::json(&SessionsReply { turn: Some(*turn), ..before })?;
        return Ok(code);
    }
    turn.text.iter().try_for_each(|text| print::agent_text(text))?;
    if turn.text_cut_bytes > 0 {
        let all = turn.run_id.as_ref().map_or("`tenure sessions history` has more".to_owned(), |run| {
            format!("`tenure logs {}` shows all", print::short(run.as_str()))
        });
        complain(format!("the answer is cut, {} more: {all}", print::bytes(turn.text_cut_bytes)));
    }
    match &turn.error {
        Some(error) => complain(print::plain(error)),
        None if code != 0 => complain(format!("the turn is {}", turn.state)),
        None => {}
    }
    Ok(code)
}

/// Exit code of a turn. A running turn counts as timed out.
fn code(state: TurnState) -> u8 {
    match state {
        TurnState::Done => 0,
        TurnState::Failed | TurnState::Lost => 1,
        TurnState::Cancelled => 123,
        TurnState::TimedOut | TurnState::Running => 124,
    }
}

fn show(verb: &SessionsVerb, reply: &SessionsReply) -> Result<(), Failure> {
    match verb {
        SessionsVerb::Spawn(_) => reply.session.iter().try_for_each(|it| print::line(it.row.key.as_str())),
        SessionsVerb::List(_) => {
            print::sessions(reply.sessions.as_deref().unwrap_or_default())?;
            print_next_page_hint(reply.next.as_deref());
            Ok(())
        }
        SessionsVerb::History(_) => {
            let (turns, notices) = (reply.turns.as_deref(), reply.notices.as_deref());
            print::turns(turns.unwrap_or_default())?;
            if turns.is_some_and(|turns| !turns.is_empty()) && notices.is_some() {
                print::line("")?;
            }
            print::notices(notices.unwrap_or_default())?;
            print_next_page_hint(reply.next.as_deref());
            Ok(())
        }
        SessionsVerb::Send(_) => reply.sent.iter().try_for_each(print_sent),
        SessionsVerb::Status(_) => reply.session.iter().try_for_each(print::session),
        SessionsVerb::Cancel(_) => print::line(&match &reply.turn {
            Some(turn) => {
                format!("turn {} is being cancelled: `tenure sessions wait` waits for its end", turn.number)
            }
            None => "no turn is running".to_owned(),
        }),
        SessionsVerb::Close(_) => reply.closed.iter().try_for_each(print_closed),
        // These print elsewhere: the end of a turn, a report.
        SessionsVerb::Wait(_) | SessionsVerb::Import(_) => Ok(()),
    }
}

/// Prints the turn's id, and to standard error notes about the message.
fn print_sent(sent: &Sent) -> Result<(), Failure> {
    print::line(sent.turn_id.as_str())?;
    print_queue_position(sent);
    sent.note.iter().for_each(|note| complain(print::plain(note)));
    Ok(())
}

/// Reports a queued message, and the number of messages before it.
pub(super) fn print_queue_position(sent: &Sent) {
    match sent.delivery {
        Delivery::Queued if sent.ahead == 0 => complain("the message is queued as the next one"),
        Delivery::Queued => complain(format!("the message is queued after {}", messages(sent.ahead))),
        Delivery::Started | Delivery::Steered => {}
    }
}

fn messages(count: u64) -> String {
    if count == 1 { "1 other message".to_owned() } else { format!("{count} other messages") }
}

/// Prints the sessions that were closed, the runs and processes that were ended with them, and those that were not.
pub(super) fn print_closed(closed: &ClosedJson) -> Result<(), Failure> {
    closed.closed.iter().try_for_each(|key| print::line(&format!("closed {key}")))?;
    for run in &closed.runs {
        if !closed.unconfirmed.contains(run) {
            print::line(&format!("ended run {}", print::short(run.as_str())))?;
        }
    }
    print_unconfirmed(closed);
    for process in &closed.processes {
        match process.process {
            LegacyProcess::Verified => {
                let (count, s) = (process.ended.len(), if process.ended.len() == 1 { "" } else { "es" });
                print::line(&format!("ended {count} process{s}: {}", print::plain(&process.why)))?;
            }
            LegacyProcess::Unverified => complain(print::plain(&process.why)),
            LegacyProcess::None | LegacyProcess::Gone | LegacyProcess::PidReused => {}
        }
        for survivor in &process.survivors {
            complain(format!("still alive: {}", print::plain(&survivor.to_string())));
        }
    }
    for left in &closed.left {
        complain(format!("session {} was not closed: {}", left.key, left.why));
    }
    Ok(())
}

/// Names the runs that may have living processes.
pub(super) fn print_unconfirmed(closed: &ClosedJson) {
    for run in &closed.unconfirmed {
        let id = print::short(run.as_str());
        complain(format!("run {id} may have left processes: `tenure why {id}` shows them"));
    }
}

#[cfg(test)]
mod tests;
