//! `tenure acp`: work with ACP agents, through the daemon.

mod ending;
mod follow;
mod prompt;
mod silence;
mod target;

use super::page::print_next_page_hint;
use super::sessions::{close as close_session, print_closed};
use crate::args::{AcpArgs, AcpCloseArgs, AcpHistoryArgs, AcpVerb};
use crate::failure::Failure;
use crate::print::{self, Style, Tone, Transcript, TranscriptOptions};
use crate::{caller_context, daemon_client, settings};
use follow::Interrupt;
use std::collections::VecDeque;
use target::Target;
use tenure_core::ids::TurnId;
use tenure_core::session::{Backend, TurnState};
use tenure_core::tools::sessions::{Action, EntryJson, SessionsReply, SessionsRequest, TurnJson};

pub(crate) fn run(args: &AcpArgs) -> Result<u8, Failure> {
    let settings = match args.verb {
        // A prompt can start an adapter, and the configuration describes the adapters: it must be valid.
        Some(AcpVerb::Prompt(_)) => settings::load(),
        _ => settings::load_leniently(),
    };
    let settings = settings.map_err(Failure::with_run_code)?;
    let target = Target { settings: &settings };
    match args.verb.as_ref().unwrap_or(&AcpVerb::Sessions) {
        AcpVerb::Prompt(prompt) => prompt::run(&settings, prompt, args.json).map_err(Failure::with_run_code),
        AcpVerb::Attach(attach) => {
            let followed = target.key(attach.which.key.as_deref()).and_then(|key| {
                let turn = prompt::running_turn(&settings, &key)?;
                prompt::follow(&settings, &key, turn, args.json, Interrupt::Leaves)
            });
            followed.map_err(Failure::with_run_code)
        }
        AcpVerb::Sessions => {
            let request =
                SessionsRequest { backend: Some(Backend::Acp), ..SessionsRequest::new(Action::List) };
            request_and_print(&target, &request, args.json, &listed)
        }
        AcpVerb::History(history) => {
            let request = entries(history, target.key(history.which.key.as_deref())?);
            request_and_print(&target, &request, args.json, &print_history)
        }
        AcpVerb::Status(which) => {
            let request = about(Action::Status, target.key(which.key.as_deref())?);
            request_and_print(&target, &request, args.json, &one)
        }
        AcpVerb::Cancel(which) => {
            let request = about(Action::Cancel, target.key(which.key.as_deref())?);
            request_and_print(&target, &request, args.json, &cancelled)
        }
        AcpVerb::Close(close) => {
            let request = self::close(close, target.key(close.which.key.as_deref())?);
            request_and_print(&target, &request, args.json, &|reply| {
                reply.closed.iter().try_for_each(print_closed)
            })
        }
        AcpVerb::SetMode(set) => {
            let process = caller_context::capture(&settings).ok();
            let request = SessionsRequest { process, ..mode(target.key(Some(&set.key))?, &set.mode) };
            request_and_print(&target, &request, args.json, &one)
        }
        AcpVerb::SetOption(set) => {
            let request = SessionsRequest {
                option: Some(set.option.clone()),
                value: Some(set.value.clone()),
                process: caller_context::capture(&settings).ok(),
                ..about(Action::SetOption, target.key(Some(&set.key))?)
            };
            request_and_print(&target, &request, args.json, &one)
        }
    }
}

/// Sends a request to the daemon and prints the reply.
fn request_and_print(
    target: &Target<'_>,
    request: &SessionsRequest,
    json: bool,
    show: &dyn Fn(&SessionsReply) -> Result<(), Failure>,
) -> Result<u8, Failure> {
    let reply = match request.action {
        Action::Close => close_session(target.settings, request)?,
        _ => daemon_client::call(daemon_client::require(target.settings)?.sessions(request))?,
    };
    if json { print::json(&reply) } else { show(&reply) }.map(|()| 0)
}

fn about(action: Action, key: String) -> SessionsRequest {
    SessionsRequest { session_key: Some(key), ..SessionsRequest::new(action) }
}

fn mode(key: String, mode: &str) -> SessionsRequest {
    SessionsRequest { agent_mode: Some(mode.to_owned()), ..about(Action::SetMode, key) }
}

fn entries(args: &AcpHistoryArgs, key: String) -> SessionsRequest {
    args.page.of(about(Action::Entries, key))
}

fn close(args: &AcpCloseArgs, key: String) -> SessionsRequest {
    SessionsRequest {
        discard: args.discard.then_some(true),
        reason: args.reason.clone(),
        ..about(Action::Close, key)
    }
}

fn listed(reply: &SessionsReply) -> Result<(), Failure> {
    print::sessions(reply.sessions.as_deref().unwrap_or_default())?;
    print_next_page_hint(reply.next.as_deref());
    Ok(())
}

fn one(reply: &SessionsReply) -> Result<(), Failure> {
    reply.session.iter().try_for_each(print::session)
}

fn cancelled(reply: &SessionsReply) -> Result<(), Failure> {
    print::line(&match &reply.turn {
        Some(turn) => format!("turn {} is being cancelled: `tenure acp attach` shows its end", turn.number),
        None => "no turn is running".to_owned(),
    })
}

/// Prints a session's history as `attach` would have shown it, with the end of each turn. Everything goes to standard
/// output.
fn print_history(reply: &SessionsReply) -> Result<(), Failure> {
    let options = TranscriptOptions { style: Style::of_stdout(), live: false, split: false, echo: true };
    let mut transcript = Transcript::new(options);
    let entries = reply.entries.as_deref().unwrap_or_default();
    let mut left: VecDeque<&TurnJson> = reply.turns.iter().flatten().collect();
    if let [first, .., last] = entries
        && first.number > last.number
    {
        left.make_contiguous().reverse();
    }
    let mut turns = PendingTurns { left, at: None };
    for entry in entries {
        turns.before(entry, &mut transcript);
        transcript.entry(entry);
    }
    turns.end(reply.next.is_some(), &mut transcript);
    transcript.settle();
    transcript.take().iter().try_for_each(|(_, text)| print::text(text))?;
    print_next_page_hint(reply.next.as_deref());
    Ok(())
}

/// The turns of a history whose end is not printed yet, in the order of their entries.
struct PendingTurns<'a> {
    left: VecDeque<&'a TurnJson>,
    /// Turn of the previous entry.
    at: Option<TurnId>,
}

impl PendingTurns<'_> {
    /// Prints the ends of the turns that ended before an entry.
    fn before(&mut self, entry: &EntryJson, transcript: &mut Transcript) {
        let Some(id) = entry.turn_id.as_ref().filter(|id| self.at.as_ref() != Some(id)) else { return };
        if self.left.iter().any(|turn| turn.turn_id == *id) {
            while let Some(turn) = self.left.pop_front_if(|turn| turn.turn_id != *id) {
                self.print_end(turn, transcript);
            }
        }
        self.at = Some(id.clone());
    }

    /// Prints the ends of the remaining turns. The turn of the last entry is left out if the history is cut: it may have more
    /// entries on the next page.
    fn end(mut self, is_cut: bool, transcript: &mut Transcript) {
        while let Some(turn) = self.left.pop_front() {
            if !(is_cut && self.at.as_ref() == Some(&turn.turn_id)) {
                self.print_end(turn, transcript);
            }
        }
    }

    /// Prints how a turn ended; for a turn without entries, its message first.
    fn print_end(&self, turn: &TurnJson, transcript: &mut Transcript) {
        if self.at.as_ref() != Some(&turn.turn_id) {
            transcript.say(Tone::Dim, &format!("> {}", print::plain(&turn.message)));
        }
        if turn.state != TurnState::Running {
            transcript.say(Tone::Dim, &ending::history_line(turn));
        }
    }
}
