//! `tenure sessions`: conversations with agents, through the daemon.

mod request;
mod turn;

use super::page::more;
use super::sessions_import;
use crate::args::{SessionsArgs, SessionsListArgs, SessionsVerb, TurnWaitArgs};
use crate::failure::Failure;
use crate::{here, print, reach, settings};
use std::io::Read;
use std::time::Duration;
use tenure_core::session::TurnState;
use tenure_core::session::legacy::LegacyProcess;
use tenure_core::tools::sessions::{ClosedJson, Delivery, Sent, SessionsReply, SessionsRequest};
use tenure_os::clock;
use tenure_os::complaint::complain;
use tenure_settings::Settings;
use turn::{Awaited, Waiting};

pub(crate) fn run(args: &SessionsArgs) -> Result<u8, Failure> {
    let all = SessionsVerb::List(SessionsListArgs::default());
    let verb = args.verb.as_ref().unwrap_or(&all);
    let settings = match verb {
        // What they start is described in the configuration.
        SessionsVerb::Spawn(_) | SessionsVerb::Send(_) => settings::load()?,
        _ => settings::load_to_look()?,
    };
    match verb {
        SessionsVerb::Import(_) if args.requester.acting_as.is_some() => {
            return Err(Failure::refused("a session cannot import others: leave out --as"));
        }
        SessionsVerb::Import(import) => return sessions_import::run(import, args.json),
        SessionsVerb::Wait(wait) => return waited(args, &settings, wait),
        _ => {}
    }
    let mut request = request::of(args, verb, &piped)?;
    if matches!(verb, SessionsVerb::Spawn(_) | SessionsVerb::Send(_)) {
        request.process = here::process(&settings).ok();
    }
    let reply = match verb {
        SessionsVerb::Close(_) => close(&settings, &request)?,
        _ => reach::wait(reach::needed(&settings)?.sessions(&request))?,
    };
    let waits = match verb {
        SessionsVerb::Spawn(spawn) => spawn.wait,
        SessionsVerb::Send(send) => send.wait,
        _ => false,
    };
    if waits {
        return answered(args, &settings, verb, reply);
    }
    if args.json {
        print::json(&reply)?;
    } else {
        show(verb, &reply)?;
    }
    Ok(0)
}

/// Closes a session. If the daemon goes away, the next one is asked to finish it.
pub(super) fn close(settings: &Settings, request: &SessionsRequest) -> Result<SessionsReply, Failure> {
    let mut was_asked = false;
    loop {
        match reach::try_wait(reach::needed(settings)?.sessions(request))? {
            Ok(reply) => return Ok(reply),
            Err(failed) if failed.is_lost() => was_asked = true,
            // The last daemon had finished, and discarded it.
            Err(failed) if was_asked && failed.code() == Some("no-such-session") => {
                let key = request.session_key.iter().filter_map(|key| key.parse().ok()).collect();
                let closed = ClosedJson { closed: key, ..ClosedJson::default() };
                return Ok(SessionsReply { closed: Some(closed), ..SessionsReply::default() });
            }
            Err(failed) => return Err(reach::failure(&failed)),
        }
    }
}

/// What is piped in.
pub(super) fn piped() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes).map_err(Failure::refused)?;
    String::from_utf8(bytes).map_err(|_| Failure::refused("standard input is no text: send UTF-8"))
}

/// `wait`: the end of a turn.
fn waited(args: &SessionsArgs, settings: &Settings, wait: &TurnWaitArgs) -> Result<u8, Failure> {
    let patience = wait.timeout.and_then(|limit| limit.0);
    let waiting = Waiting {
        settings,
        request: request::wait(args, &wait.key, wait.turn.as_deref()),
        deadline: patience.map(|patience: Duration| clock::awake() + patience),
    };
    ended(args, SessionsReply::default(), waiting.turn()?)
}

/// `--wait`: the answer to what was sent.
fn answered(
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
        return Err(Failure::refused(
            "the daemon does not say which turn it is: `tenure sessions wait` waits",
        ));
    };
    if !args.json {
        if matches!(verb, SessionsVerb::Spawn(_)) {
            print::line(&key)?;
        }
        sent.note.iter().for_each(|note| complain(print::plain(note)));
    }
    // A turn that was under way before is not this caller's.
    let foreground = (sent.delivery != Delivery::Steered).then_some(true);
    let request = SessionsRequest { foreground, ..request::wait(args, &key, Some(sent.turn_id.as_str())) };
    let awaited = Waiting { settings, request, deadline: None }.turn()?;
    ended(args, reply, awaited)
}

/// Says how a turn ended; what was answered before is part of the JSON.
fn ended(args: &SessionsArgs, before: SessionsReply, awaited: Awaited) -> Result<u8, Failure> {
    let turn = match awaited {
        Awaited::Ended(turn) => turn,
        Awaited::GoesOn => {
            complain("the turn goes on: `tenure sessions cancel` ends it");
            return Ok(124);
        }
    };
    let code = code(turn.state);
    if args.json {
        print::json(&SessionsReply { turn: Some(*turn), ..before })?;
        return Ok(code);
    }
    turn.text.iter().try_for_each(|text| print::said(text))?;
    if turn.text_cut_bytes > 0 {
        let all = turn.run_id.as_ref().map_or("`tenure sessions history` has more".to_owned(), |run| {
            format!("`tenure logs {}` shows all", print::short(run.as_str()))
        });
        complain(format!("{} more are not shown: {all}", print::bytes(turn.text_cut_bytes)));
    }
    match &turn.error {
        Some(error) => complain(print::plain(error)),
        None if code != 0 => complain(format!("the turn is {}", turn.state)),
        None => {}
    }
    Ok(code)
}

/// The exit code of a turn. One that goes on has none; it is not asked for.
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
            more(reply.next.as_deref());
            Ok(())
        }
        SessionsVerb::History(_) => {
            let (turns, notices) = (reply.turns.as_deref(), reply.notices.as_deref());
            print::turns(turns.unwrap_or_default())?;
            if turns.is_some_and(|turns| !turns.is_empty()) && notices.is_some() {
                print::line("")?;
            }
            print::notices(notices.unwrap_or_default())?;
            more(reply.next.as_deref());
            Ok(())
        }
        SessionsVerb::Send(_) => reply.sent.iter().try_for_each(sent),
        SessionsVerb::Status(_) => reply.session.iter().try_for_each(print::session),
        SessionsVerb::Cancel(_) => print::line(&match &reply.turn {
            Some(turn) => {
                format!("turn {} is being ended: `tenure sessions wait` waits for that", turn.number)
            }
            None => "no turn is under way".to_owned(),
        }),
        SessionsVerb::Close(_) => reply.closed.iter().try_for_each(closed),
        // What they print is another's: a turn's end, a report.
        SessionsVerb::Wait(_) | SessionsVerb::Import(_) => Ok(()),
    }
}

/// The turn's id alone, and beside it what became of the message.
fn sent(sent: &Sent) -> Result<(), Failure> {
    print::line(sent.turn_id.as_str())?;
    queued(sent);
    sent.note.iter().for_each(|note| complain(print::plain(note)));
    Ok(())
}

/// Says of a message that waits how long it has to.
pub(super) fn queued(sent: &Sent) {
    match sent.delivery {
        Delivery::Queued if sent.ahead == 0 => complain("it waits for its turn: it is the next"),
        Delivery::Queued => complain(format!("it waits for its turn: {} before it", messages(sent.ahead))),
        Delivery::Started | Delivery::Steered => {}
    }
}

fn messages(count: u64) -> String {
    if count == 1 { "a message comes".to_owned() } else { format!("{count} messages come") }
}

/// What was ended with a session, in its order, and what could not be.
pub(super) fn closed(closed: &ClosedJson) -> Result<(), Failure> {
    closed.closed.iter().try_for_each(|key| print::line(&format!("closed {key}")))?;
    for run in &closed.runs {
        if !closed.unconfirmed.contains(run) {
            print::line(&format!("ended run {}", print::short(run.as_str())))?;
        }
    }
    unconfirmed(closed);
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
        complain(format!("session {} is left alone: {}", left.key, left.why));
    }
    Ok(())
}

/// Names the runs of which not every process is known to be gone.
pub(super) fn unconfirmed(closed: &ClosedJson) {
    for run in &closed.unconfirmed {
        let id = print::short(run.as_str());
        complain(format!("run {id} may have processes left: `tenure why {id}` tells of them"));
    }
}

#[cfg(test)]
mod tests;
