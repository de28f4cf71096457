//! Builds the request for a verb.

use crate::args::{
    CloseArgs, HistoryArgs, Limit, SendArgs, SessionsArgs, SessionsListArgs, SessionsVerb, SpawnArgs,
};
use crate::failure::Failure;
use std::path::Path;
use tenure_core::session::Origin;
use tenure_core::tools::sessions::{Action, SessionsRequest};

/// Reads text that is not on the command line.
type Piped<'a> = &'a dyn Fn() -> Result<String, Failure>;

/// Builds the request for a verb.
pub(super) fn build(
    args: &SessionsArgs,
    verb: &SessionsVerb,
    piped: Piped<'_>,
) -> Result<SessionsRequest, Failure> {
    let request = match verb {
        SessionsVerb::Spawn(spawn) => self::spawn(spawn, piped)?,
        SessionsVerb::List(list) => self::list(list),
        SessionsVerb::History(history) => self::history(history),
        SessionsVerb::Send(send) => self::send(send, piped)?,
        SessionsVerb::Status(which) => about(Action::Status, &which.key),
        SessionsVerb::Wait(which) => return Ok(wait(args, &which.key, which.turn.as_deref())),
        SessionsVerb::Cancel(which) => about(Action::Cancel, &which.key),
        SessionsVerb::Close(close) => self::close(close),
        SessionsVerb::Import(_) => {
            return Err(Failure::refused("internal error: an import has a request of its own"));
        }
    };
    Ok(with_requester(args, request))
}

/// Builds the request that waits for a turn.
pub(super) fn wait(args: &SessionsArgs, key: &str, turn: Option<&str>) -> SessionsRequest {
    let turn_id = turn.map(str::to_owned);
    with_requester(args, SessionsRequest { turn_id, ..about(Action::Wait, key) })
}

fn about(action: Action, key: &str) -> SessionsRequest {
    SessionsRequest { session_key: Some(key.to_owned()), ..SessionsRequest::new(action) }
}

/// Adds the requester's flags to a request.
fn with_requester(args: &SessionsArgs, request: SessionsRequest) -> SessionsRequest {
    SessionsRequest {
        requester: args.requester.acting_as.clone(),
        visibility: args.requester.visibility,
        sandboxed: args.requester.sandboxed.then_some(true),
        ..request
    }
}

fn spawn(args: &SpawnArgs, piped: Piped<'_>) -> Result<SessionsRequest, Failure> {
    let origin = |channel: &String| Origin {
        channel: channel.clone(),
        to: args.to.clone(),
        thread: args.thread.clone(),
    };
    Ok(SessionsRequest {
        session_key: args.key.clone(),
        agent: args.agent.clone(),
        backend: args.backend,
        kind: args.kind,
        mode: args.mode,
        parent: args.parent.clone(),
        label: args.label.clone(),
        task: args.task.as_deref().map(|task| text(task, piped)).transpose()?,
        cwd: Some(directory(args.cwd.as_deref().unwrap_or(Path::new(".")))?),
        model: args.model.clone(),
        timeout_ms: args.timeout.map(millis).transpose()?,
        permissions: args.permissions,
        origin: args.channel.as_ref().map(origin),
        interaction: args.interaction,
        sandbox: args.sandbox.then_some(true),
        ..SessionsRequest::new(Action::Spawn)
    })
}

fn list(args: &SessionsListArgs) -> SessionsRequest {
    SessionsRequest {
        agent: args.agent.clone(),
        kind: args.kind,
        backend: args.backend,
        states: args.states.clone(),
        parent: args.parent.clone(),
        prefix: args.prefix.clone(),
        limit: args.limit,
        after: args.after.clone(),
        ..SessionsRequest::new(Action::List)
    }
}

fn history(args: &HistoryArgs) -> SessionsRequest {
    args.page.of(about(Action::History, &args.key))
}

fn send(args: &SendArgs, piped: Piped<'_>) -> Result<SessionsRequest, Failure> {
    Ok(SessionsRequest {
        text: Some(text(&args.text, piped)?),
        when_busy: args.when_busy.map(Into::into),
        ..about(Action::Send, &args.key)
    })
}

fn close(args: &CloseArgs) -> SessionsRequest {
    SessionsRequest {
        discard: args.discard.then_some(true),
        reason: args.reason.clone(),
        ..about(Action::Close, &args.key)
    }
}

fn text(given: &str, piped: Piped<'_>) -> Result<String, Failure> {
    if given == "-" { piped() } else { Ok(given.to_owned()) }
}

/// Returns the absolute path of a directory.
fn directory(given: &Path) -> Result<String, Failure> {
    let failed = |why: &dyn std::fmt::Display| Failure::refused(format!("{}: {why}", given.display()));
    let whole = std::path::absolute(given).map_err(|error| failed(&error))?;
    whole
        .into_os_string()
        .into_string()
        .map_err(|_| failed(&"the directory's path is not valid UTF-8: use another one"))
}

/// Converts a turn's time limit. Only the agent's description can switch the limit off.
fn millis(Limit(limit): Limit) -> Result<u64, Failure> {
    let none =
        "a session needs a time limit: agents.NAME.timeout = \"0\" in config.toml allows turns without one";
    let limit = limit.ok_or_else(|| Failure::usage(none))?;
    Ok(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
