//! `tenure acp prompt`: find or create the session, send it a message, and follow the turn.

use super::ending;
use super::follow::{FollowOutcome, Interrupt, TurnFollower};
use super::target::{DirectorySessions, canonical, first_key, open_session, searched_directories, session};
use super::{about, mode};
use crate::args::{Limit, PromptArgs};
use crate::commands::sessions::{piped, print_queue_position, print_unconfirmed};
use crate::failure::Failure;
use crate::{caller_context, daemon_client, print};
use std::path::{Path, PathBuf};
use tenure_client::Client;
use tenure_core::api::Exact;
use tenure_core::ending::Reason;
use tenure_core::session::{Backend, Mode, SessionRow, SessionState, Stop};
use tenure_core::tools::sessions::{
    Action, Delivery, EntryJson, Sent, SessionsReply, SessionsRequest, TurnJson,
};
use tenure_os::stderr::complain;
use tenure_settings::Settings;

/// Number of entries per request.
const PAGE: u64 = 200;

/// A turn to follow, and the entry after which it began.
pub(super) struct FollowedTurn {
    pub(super) turn: String,
    pub(super) since: u64,
    /// True if this caller sent the message: it sees the turn's end itself, so no notice is needed.
    pub(super) foreground: bool,
}

pub(super) fn run(settings: &Settings, args: &PromptArgs, json: bool) -> Result<u8, Failure> {
    let text = if args.text == "-" { piped()? } else { args.text.clone() };
    let place = canonical(args.cwd.as_deref().unwrap_or_else(|| Path::new(".")))?;
    let client = daemon_client::require(settings)?;
    let process = caller_context::capture(settings).ok();
    let prompt = Prompt { client: &client, args, place, process };
    let (key, since, reply) = prompt.send(text)?;
    let Some(sent) = &reply.sent else {
        return Err(Failure::refused("the daemon's reply names no turn"));
    };
    if args.no_wait {
        if json { print::json(&reply) } else { print::line(sent.turn_id.as_str()) }?;
        print_notes(sent);
        return Ok(0);
    }
    print_notes(sent);
    let foreground = sent.delivery != Delivery::Steered;
    let watching = FollowedTurn { turn: sent.turn_id.to_string(), since, foreground };
    let code = follow(settings, &key, watching, json, Interrupt::Cancels)?;
    if args.oneshot {
        await_close(settings, &key)?;
    }
    Ok(code)
}

/// Waits until every process of a oneshot session is gone. The daemon closes the session after its turn, and a second close
/// waits for the first.
fn await_close(settings: &Settings, key: &str) -> Result<(), Failure> {
    let request = about(Action::Close, key.to_owned());
    let reply = daemon_client::call(daemon_client::require(settings)?.sessions(&request))?;
    reply.closed.iter().for_each(print_unconfirmed);
    Ok(())
}

fn print_notes(sent: &Sent) {
    print_queue_position(sent);
    sent.note.iter().for_each(|note| complain(print::plain(note)));
}

/// Follows a turn until it ends or the user leaves, and prints how it ended. Returns the exit code.
pub(super) fn follow(
    settings: &Settings,
    key: &str,
    watching: FollowedTurn,
    json: bool,
    interrupt: Interrupt,
) -> Result<u8, Failure> {
    match TurnFollower::new(settings, key, watching, json, interrupt).run()? {
        FollowOutcome::Ended { turn, refusal: Some(why) }
            if matches!(turn.stop, Some(Stop::EndTurn | Stop::Cancelled)) =>
        {
            complain(format_args!("refused: {why}; `--permissions` sets what the agent may do"));
            Ok(ending::REFUSED)
        }
        FollowOutcome::Ended { turn, .. } => {
            ending::error_message(&turn).iter().for_each(complain);
            Ok(start_error_code(settings, &turn).unwrap_or_else(|| ending::code(&turn)))
        }
        FollowOutcome::Left { cancelled: true } => {
            complain("left before the cancelled turn ended");
            Ok(123)
        }
        FollowOutcome::Left { cancelled: false } => {
            complain(format_args!("the turn goes on: `tenure acp attach {}` shows it", print::plain(key)));
            Ok(if interrupt == Interrupt::Leaves { 0 } else { 123 })
        }
    }
}

/// Exit code of a turn whose adapter could not be started, read from the adapter's run.
fn start_error_code(settings: &Settings, turn: &TurnJson) -> Option<u8> {
    let run = turn.run_id.as_ref().filter(|_| turn.stop == Some(Stop::Error))?;
    let run = daemon_client::call(daemon_client::require(settings).ok()?.run(run.as_str())).ok()?;
    let termination = run.termination.filter(|termination| termination.reason == Reason::SpawnError)?;
    Some(termination.code())
}

/// Finds the running turn of a session.
pub(super) fn running_turn(settings: &Settings, key: &str) -> Result<FollowedTurn, Failure> {
    let client = daemon_client::require(settings)?;
    let reply = daemon_client::call(client.sessions(&about(Action::Status, key.to_owned())))?;
    let Some(turn) = reply.session.and_then(|session| session.active_turn) else {
        let how = "`tenure acp history` shows the earlier ones";
        return Err(Failure::refused(format!("no turn is running in session {}: {how}", print::plain(key))));
    };
    let mut since = u64::MAX;
    let mut after = None;
    loop {
        let reply = newest(&client, key, PAGE, after)?;
        let entries = reply.entries.unwrap_or_default();
        let is_of_it = |entry: &EntryJson| entry.turn_id.as_ref() == Some(&turn.turn_id);
        for entry in &entries {
            if is_of_it(entry) {
                since = since.min(entry.number - 1);
            } else if since == u64::MAX {
                // The turn has no entries yet: it begins after the newest entry.
                since = entry.number;
            }
        }
        after = reply.next.filter(|_| entries.iter().all(is_of_it));
        if after.is_none() {
            let since = if since == u64::MAX { 0 } else { since };
            return Ok(FollowedTurn { turn: turn.turn_id.to_string(), since, foreground: false });
        }
    }
}

fn newest(client: &Client, key: &str, limit: u64, after: Option<String>) -> Result<SessionsReply, Failure> {
    let request = SessionsRequest {
        limit: Some(limit),
        after,
        newest_first: Some(true),
        ..about(Action::Entries, key.to_owned())
    };
    daemon_client::call(client.sessions(&request))
}

/// A message to send, and the directory whose session gets it.
struct Prompt<'a> {
    client: &'a Client,
    args: &'a PromptArgs,
    place: PathBuf,
    /// This process: its environment is the agent's, if the agent is started.
    process: Option<Exact>,
}

impl Prompt<'_> {
    /// Sends the message, to a new session if needed. Returns the session's key, the last entry before the message, and the
    /// reply.
    fn send(&self, text: String) -> Result<(String, u64, SessionsReply), Failure> {
        let is_new = self.args.new || self.args.oneshot;
        let key = match &self.args.session {
            _ if is_new => None,
            Some(key) => Some(key.clone()),
            None => Some(self.key_of_directory()?),
        };
        let there = key.as_deref().map(|key| session(self.client, key)).transpose()?.flatten();
        let key = match (there, key) {
            (Some(row), Some(key)) => {
                self.check(&row)?;
                key
            }
            (_, key) => {
                let task = self.args.agent_mode.is_none().then(|| text.clone());
                let spawned = self.ask(&self.with_process(self.spawn(key, task)?))?;
                let Some(session) = &spawned.session else {
                    return Err(Failure::refused("the daemon's reply names no session"));
                };
                let key = session.row.key.to_string();
                complain(format_args!("session {} is new", print::plain(&key)));
                if spawned.sent.is_some() {
                    return Ok((key, 0, spawned));
                }
                key
            }
        };
        if let Some(wanted) = &self.args.agent_mode {
            self.ask(&self.with_process(mode(key.clone(), wanted)))?;
        }
        let last = newest(self.client, &key, 1, None)?.entries.and_then(|entries| entries.into_iter().next());
        let when_busy = self.args.when_busy.map(Into::into);
        let send = SessionsRequest { text: Some(text), when_busy, ..about(Action::Send, key.clone()) };
        Ok((key, last.map_or(0, |entry| entry.number), self.ask(&self.with_process(send))?))
    }

    /// Adds this process to a request.
    fn with_process(&self, request: SessionsRequest) -> SessionsRequest {
        SessionsRequest { process: self.process.clone(), ..request }
    }

    fn ask(&self, request: &SessionsRequest) -> Result<SessionsReply, Failure> {
        daemon_client::call(self.client.sessions(request))
    }

    /// Key of the open session of this directory or the nearest one above it, else of the next session here. With --cwd, only
    /// that directory counts.
    fn key_of_directory(&self) -> Result<String, Failure> {
        let places = if self.args.cwd.is_some() {
            vec![self.place.clone()]
        } else {
            searched_directories(&self.place)
        };
        let Some((key, place)) = open_session(self.client, &self.args.agent, &places)? else {
            let first = first_key(&self.args.agent, &self.place);
            return Ok(DirectorySessions::list(self.client, first)?.next());
        };
        if place != self.place {
            let place = place.to_string_lossy();
            complain(format_args!("using session {} of {}", print::plain(&key), print::plain(&place)));
        }
        Ok(key)
    }

    /// Checks that a session is open, belongs to this agent, and was created with the same flags.
    fn check(&self, row: &SessionRow) -> Result<(), Failure> {
        let args = self.args;
        let key = print::plain(row.key.as_str());
        let otherwise =
            format!("start another one with --new, or discard it with `tenure acp close {key} --discard`");
        let refused = |why: String| Err(Failure::refused(format!("{why}: {otherwise}")));
        if matches!(row.state, SessionState::Closing | SessionState::Closed) {
            return refused(format!("session {key} is {}", row.state));
        }
        if row.backend != Backend::Acp || row.agent.as_ref().is_none_or(|agent| agent.as_str() != args.agent)
        {
            return refused(format!("session {key} is not an ACP session of agent {}", args.agent));
        }
        let work = &row.work;
        let timeout = args.timeout.map(millis).transpose()?;
        let other = [
            ("--model", args.model.is_some() && args.model != work.model),
            ("--permissions", args.permissions.is_some() && args.permissions != work.permissions),
            ("--timeout", timeout.is_some() && timeout != work.timeout_ms),
        ];
        match other.iter().find(|(_, differs)| *differs) {
            Some((name, _)) => refused(format!("session {key} was not created with this {name}")),
            None => Ok(()),
        }
    }

    fn spawn(&self, key: Option<String>, task: Option<String>) -> Result<SessionsRequest, Failure> {
        let args = self.args;
        let cwd = self.place.to_str().ok_or_else(|| {
            Failure::refused(format!(
                "the directory \"{}\" is not valid UTF-8: use another one",
                self.place.display()
            ))
        })?;
        Ok(SessionsRequest {
            session_key: key,
            agent: Some(args.agent.clone()),
            backend: Some(Backend::Acp),
            mode: args.oneshot.then_some(Mode::Oneshot),
            task,
            cwd: Some(cwd.to_owned()),
            model: args.model.clone(),
            timeout_ms: args.timeout.map(millis).transpose()?,
            permissions: args.permissions,
            ..SessionsRequest::new(Action::Spawn)
        })
    }
}

/// Converts a turn's time limit. Only the agent's description can switch the limit off.
fn millis(Limit(limit): Limit) -> Result<u64, Failure> {
    let none = "a session needs a time limit: agents.NAME.acp.timeout = \"0\" in config.toml allows turns without one";
    let limit = limit.ok_or_else(|| Failure::usage(none))?;
    Ok(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX))
}
