//! `tenure acp prompt`: the session that is meant, made if there is none; then what is said, and what comes of it.

use super::ending;
use super::follow::{Follow, Interrupt, Watched};
use super::target::{Family, canonical, of_directory, open_session, searched, session};
use super::{about, mode};
use crate::args::{Limit, PromptArgs};
use crate::commands::sessions::{piped, queued, unconfirmed};
use crate::failure::Failure;
use crate::{here, print, reach};
use std::path::{Path, PathBuf};
use tenure_client::Client;
use tenure_core::api::Exact;
use tenure_core::ending::Reason;
use tenure_core::session::{Backend, Mode, SessionRow, SessionState, Stop};
use tenure_core::tools::sessions::{
    Action, Delivery, EntryJson, Sent, SessionsReply, SessionsRequest, TurnJson,
};
use tenure_os::complaint::complain;
use tenure_settings::Settings;

/// How many entries are looked through at a time.
const PAGE: u64 = 200;

/// A turn, and the entry after which it began.
pub(super) struct Watching {
    pub(super) turn: String,
    pub(super) since: u64,
    /// Whether this caller sent its message, and nobody else is to be told of its end.
    pub(super) foreground: bool,
}

pub(super) fn run(settings: &Settings, args: &PromptArgs, json: bool) -> Result<u8, Failure> {
    let text = if args.text == "-" { piped()? } else { args.text.clone() };
    let place = canonical(args.cwd.as_deref().unwrap_or_else(|| Path::new(".")))?;
    let client = reach::needed(settings)?;
    let process = here::process(settings).ok();
    let prompt = Prompt { client: &client, args, place, process };
    let (key, since, reply) = prompt.say(text)?;
    let Some(sent) = &reply.sent else {
        return Err(Failure::refused("the daemon does not say which turn it is"));
    };
    if args.no_wait {
        if json { print::json(&reply) } else { print::line(sent.turn_id.as_str()) }?;
        noted(sent);
        return Ok(0);
    }
    noted(sent);
    let foreground = sent.delivery != Delivery::Steered;
    let watching = Watching { turn: sent.turn_id.to_string(), since, foreground };
    let code = follow(settings, &key, watching, json, Interrupt::Cancels)?;
    if args.oneshot {
        await_close(settings, &key)?;
    }
    Ok(code)
}

/// Waits until nothing of a session for one turn is alive. The daemon closes it after its turn: to close it once more is to
/// wait for that.
fn await_close(settings: &Settings, key: &str) -> Result<(), Failure> {
    let request = about(Action::Close, key.to_owned());
    let reply = reach::wait(reach::needed(settings)?.sessions(&request))?;
    reply.closed.iter().for_each(unconfirmed);
    Ok(())
}

fn noted(sent: &Sent) {
    queued(sent);
    sent.note.iter().for_each(|note| complain(print::plain(note)));
}

/// Shows a turn until it ends, and says how it ended.
pub(super) fn follow(
    settings: &Settings,
    key: &str,
    watching: Watching,
    json: bool,
    interrupt: Interrupt,
) -> Result<u8, Failure> {
    match Follow::new(settings, key, watching, json, interrupt).until_its_end()? {
        Watched::Ended { turn, refusal: Some(why) }
            if matches!(turn.stop, Some(Stop::EndTurn | Stop::Cancelled)) =>
        {
            complain(format_args!("refused: {why}; `--permissions` says what it may do"));
            Ok(ending::REFUSED)
        }
        Watched::Ended { turn, .. } => {
            ending::complaint(&turn).iter().for_each(complain);
            Ok(not_started(settings, &turn).unwrap_or_else(|| ending::code(&turn)))
        }
        Watched::Left { cancelled: true } => {
            complain("the turn is being cancelled: its end was not waited for");
            Ok(123)
        }
        Watched::Left { cancelled: false } => {
            complain(format_args!("the turn goes on: `tenure acp attach {}` shows it", print::plain(key)));
            Ok(if interrupt == Interrupt::Leaves { 0 } else { 123 })
        }
    }
}

/// The exit code of a turn whose adapter could not be started: its run has it.
fn not_started(settings: &Settings, turn: &TurnJson) -> Option<u8> {
    let run = turn.run_id.as_ref().filter(|_| turn.stop == Some(Stop::Error))?;
    let run = reach::wait(reach::needed(settings).ok()?.run(run.as_str())).ok()?;
    let termination = run.termination.filter(|termination| termination.reason == Reason::SpawnError)?;
    Some(termination.code())
}

/// The turn that is under way in a session.
pub(super) fn under_way(settings: &Settings, key: &str) -> Result<Watching, Failure> {
    let client = reach::needed(settings)?;
    let reply = reach::wait(client.sessions(&about(Action::Status, key.to_owned())))?;
    let Some(turn) = reply.session.and_then(|session| session.active_turn) else {
        let how = "`tenure acp history` shows what happened";
        return Err(Failure::refused(format!(
            "no turn is under way in session {}: {how}",
            print::plain(key)
        )));
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
                // Nothing of it yet: it begins after the newest there is.
                since = entry.number;
            }
        }
        after = reply.next.filter(|_| entries.iter().all(is_of_it));
        if after.is_none() {
            let since = if since == u64::MAX { 0 } else { since };
            return Ok(Watching { turn: turn.turn_id.to_string(), since, foreground: false });
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
    reach::wait(client.sessions(&request))
}

/// What is said, and where.
struct Prompt<'a> {
    client: &'a Client,
    args: &'a PromptArgs,
    place: PathBuf,
    /// Where the agent's variables come from, if it is started.
    process: Option<Exact>,
}

impl Prompt<'_> {
    /// Says it. The session's key, the entry after which it was said, and the answer.
    fn say(&self, text: String) -> Result<(String, u64, SessionsReply), Failure> {
        let is_new = self.args.new || self.args.oneshot;
        let key = match &self.args.session {
            _ if is_new => None,
            Some(key) => Some(key.clone()),
            None => Some(self.key_of_place()?),
        };
        let there = key.as_deref().map(|key| session(self.client, key)).transpose()?.flatten();
        let key = match (there, key) {
            (Some(row), Some(key)) => {
                self.check(&row)?;
                key
            }
            (_, key) => {
                let task = self.args.agent_mode.is_none().then(|| text.clone());
                let spawned = self.ask(&self.sent(self.spawn(key, task)?))?;
                let Some(session) = &spawned.session else {
                    return Err(Failure::refused("the daemon does not say which session it made"));
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
            self.ask(&self.sent(mode(key.clone(), wanted)))?;
        }
        let last = newest(self.client, &key, 1, None)?.entries.and_then(|entries| entries.into_iter().next());
        let when_busy = self.args.when_busy.map(Into::into);
        let send = SessionsRequest { text: Some(text), when_busy, ..about(Action::Send, key.clone()) };
        Ok((key, last.map_or(0, |entry| entry.number), self.ask(&self.sent(send))?))
    }

    /// The same with the process that it comes from.
    fn sent(&self, request: SessionsRequest) -> SessionsRequest {
        SessionsRequest { process: self.process.clone(), ..request }
    }

    fn ask(&self, request: &SessionsRequest) -> Result<SessionsReply, Failure> {
        reach::wait(self.client.sessions(request))
    }

    /// The key of the open session of this directory or of the nearest one above it, else of the next one here. A directory
    /// that was named is meant alone.
    fn key_of_place(&self) -> Result<String, Failure> {
        let places = if self.args.cwd.is_some() { vec![self.place.clone()] } else { searched(&self.place) };
        let Some((key, place)) = open_session(self.client, &self.args.agent, &places)? else {
            let first = of_directory(&self.args.agent, &self.place);
            return Ok(Family::look(self.client, first)?.next());
        };
        if place != self.place {
            let place = place.to_string_lossy();
            complain(format_args!("session {} of {}", print::plain(&key), print::plain(&place)));
        }
        Ok(key)
    }

    /// What is wanted of a session must be what it was made with.
    fn check(&self, row: &SessionRow) -> Result<(), Failure> {
        let args = self.args;
        let key = print::plain(row.key.as_str());
        let otherwise =
            format!("--new begins another one, and `tenure acp close {key} --discard` forgets it");
        let refused = |why: String| Err(Failure::refused(format!("{why}: {otherwise}")));
        if matches!(row.state, SessionState::Closing | SessionState::Closed) {
            return refused(format!("session {key} is {}", row.state));
        }
        if row.backend != Backend::Acp || row.agent.as_ref().is_none_or(|agent| agent.as_str() != args.agent)
        {
            return refused(format!("session {key} is not one of {} behind an adapter", args.agent));
        }
        let work = &row.work;
        let timeout = args.timeout.map(millis).transpose()?;
        let other = [
            ("--model", args.model.is_some() && args.model != work.model),
            ("--permissions", args.permissions.is_some() && args.permissions != work.permissions),
            ("--timeout", timeout.is_some() && timeout != work.timeout_ms),
        ];
        match other.iter().find(|(_, differs)| *differs) {
            Some((name, _)) => refused(format!("session {key} was made without this {name}")),
            None => Ok(()),
        }
    }

    fn spawn(&self, key: Option<String>, task: Option<String>) -> Result<SessionsRequest, Failure> {
        let args = self.args;
        let cwd = self.place.to_str().ok_or_else(|| {
            Failure::refused(format!(
                "{}: the directory's name is no text: use one in UTF-8",
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

/// A turn's time limit. That there is none is the agent's description to say.
fn millis(Limit(limit): Limit) -> Result<u64, Failure> {
    let none =
        "a session has a time limit: agents.NAME.acp.timeout = \"0\" in config.toml lets turns do without";
    let limit = limit.ok_or_else(|| Failure::usage(none))?;
    Ok(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX))
}
