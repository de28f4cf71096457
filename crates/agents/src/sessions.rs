//! Sessions. HTTP, MCP and, over HTTP, the command line call `sessions`. `authorize` asks `core` who may see what;
//! `turn_loop` carries out turns.
//!
//! # One session's walk
//!
//! A session is a row: its creator, its owner, and all sessions above it, written once in a transaction of the registry.
//! A run that names an unknown session creates its row in the transaction that records the run. A message to an idle
//! session begins a turn; a message to a busy one is queued. A turn records the id of its run first, then plans the
//! command (`turn_spec`), and reads the answer from the run's output (`cli_turn_result`). All of this is on disk, so the
//! next daemon continues the same turn: it starts the run if it was not started, writes the rest of the input (input has
//! offsets), and waits for the run to end.
//!
//! A close marks the session and everything proven to be below it, from the top, so that nothing new begins there; then
//! it ends their runs, from the bottom. A new daemon continues with marked sessions. The process of an imported session
//! is ended only if the legacy rules verify it (`legacy_close`).

pub(crate) mod answer;
pub(crate) mod authorize;
pub(crate) mod caller_env;
pub(crate) mod cli_turn;
pub(crate) mod closing;
pub(crate) mod granting;
pub mod legacy_close;
pub(crate) mod pending_closes;
pub(crate) mod query;
pub(crate) mod send;
pub(crate) mod settings;
pub(crate) mod spawning;
pub(crate) mod turn_loop;
pub(crate) mod turn_spec;
pub(crate) mod turns;

pub(crate) use answer::last_words;
pub use authorize::Asker;
pub(crate) use caller_env::CallerEnvs;
pub(crate) use cli_turn::Stopped;
pub use closing::Why;
pub use query::{entry, shown};
pub(crate) use turn_spec::dress;
pub use turns::Turns;

use crate::Agents;
use std::sync::Arc;
use tenure_core::receipt::ToolReply;
use tenure_core::session::{self as core, Origin, SessionKey};
use tenure_core::tools::sessions::{Action, SessionsReply, SessionsRequest};
use tenure_store::Session;
use tenure_supervisor::Refusal;
use tenure_supervisor::Requester;
use tenure_supervisor::start_request::{CallerProcess, named};

impl Agents {
    /// Handles a sessions request. `process` is the caller's process if our own command line sent it.
    pub async fn sessions(
        self: &Arc<Self>,
        request: SessionsRequest,
        (process, who): (Option<CallerProcess>, &Requester),
    ) -> Result<ToolReply<SessionsReply>, Refusal> {
        check_words(&request)?;
        if let Some(origin) = &request.origin {
            check_channel(self, &origin.channel)?;
        }
        let asker = self.asker(&request, who).await?.with_process(process);
        match request.action {
            Action::List => query::list_sessions(self, &request, &asker).await.map(ToolReply::plain),
            Action::History => query::history(self, &request, &asker).await,
            Action::Status => query::session_status(self, &request, &asker).await.map(ToolReply::plain),
            Action::Entries => query::entries(self, &request, &asker).await.map(ToolReply::plain),
            Action::Wait => send::await_turn(self, &request, &asker).await,
            Action::Spawn
            | Action::Send
            | Action::Cancel
            | Action::Close
            | Action::SetMode
            | Action::SetOption
            | Action::Answer => {
                // In a task of its own: it completes even if the caller stops waiting.
                let agents = Arc::clone(self);
                let doing = tokio::spawn(async move { agents.change_sessions(request, &asker).await });
                doing.await.map_err(Refusal::internal)?.map(ToolReply::plain)
            }
        }
    }

    /// Returns the session whose history the caller wants to follow, if it may.
    pub async fn follows(&self, request: &SessionsRequest, who: &Requester) -> Result<SessionKey, Refusal> {
        let asker = self.asker(request, who).await?;
        let action =
            if request.foreground.unwrap_or(false) { core::Action::Send } else { core::Action::History };
        Ok(self.seen(request, &asker, action).await?.row.key)
    }

    async fn change_sessions(
        self: &Arc<Self>,
        request: SessionsRequest,
        asker: &Asker,
    ) -> Result<SessionsReply, Refusal> {
        match request.action {
            Action::Spawn => spawning::spawn_for(self, request, asker).await,
            Action::Send => send::send(self, request, asker).await,
            Action::Cancel => send::cancel_turn(self, &request, asker).await,
            Action::SetMode | Action::SetOption => settings::adjust(self, &request, asker).await,
            Action::Answer => settings::answer_for(self, &request, asker).await,
            _ => closing::close_for(self, request, asker).await,
        }
    }

    /// Returns the request's session, if the caller may do this with it.
    async fn seen(
        &self,
        request: &SessionsRequest,
        asker: &Asker,
        action: core::Action,
    ) -> Result<Session, Refusal> {
        let Some(text) = &request.session_key else {
            return Err(Refusal::invalid("sessionKey is missing: name the session"));
        };
        let session = self.session_called(&key(text)?).await?;
        asker.see(&session.row, action)?;
        Ok(session)
    }

    /// Returns the request's session, if the caller may end it and its turn.
    async fn owned(&self, request: &SessionsRequest, asker: &Asker) -> Result<Session, Refusal> {
        let session = self.seen(request, asker, core::Action::Send).await?;
        asker.own(&session.row)?;
        Ok(session)
    }

    /// Returns the session with this key.
    pub async fn session_called(&self, key: &SessionKey) -> Result<Session, Refusal> {
        let session = self.supervisor.registry.session(key.clone()).await?;
        session.ok_or_else(|| tenure_store::Failed::NoSession { key: key.clone() }.into())
    }
}

/// Checks that `config.toml` describes a channel: notices to any other would reach nobody.
pub(crate) fn check_channel(agents: &Agents, name: &str) -> Result<(), Refusal> {
    let described = agents.supervisor.settings.channels();
    if described.contains_key(name) {
        return Ok(());
    }
    let known: Vec<&str> = described.keys().map(String::as_str).collect();
    let known = match known.as_slice() {
        [] => "none is configured".to_owned(),
        known => format!("there are {}", known.join(", ")),
    };
    Err(Refusal::invalid(format!(
        "unknown channel {name:?}: {known}; describe it in config.toml as [channels.{name}] and restart the daemon"
    )))
}

/// Checks the texts that are passed on to people and programs: each is one line, and the model is not an option.
fn check_words(request: &SessionsRequest) -> Result<(), Refusal> {
    named("reason", request.reason.as_ref())?;
    named("model", request.model.as_ref())?;
    if let Some(model) = request.model.as_ref().filter(|model| model.starts_with('-')) {
        return Err(Refusal::invalid(format!("the model {model:?} begins with a dash: name a model")));
    }
    if let Some(Origin { channel, to, thread }) = &request.origin {
        named("channel of the origin", Some(channel))?;
        named("recipient of the origin", to.as_ref())?;
        named("thread of the origin", thread.as_ref())?;
    }
    Ok(())
}

/// Parses a session's key.
pub fn key(text: &str) -> Result<SessionKey, Refusal> {
    text.parse().map_err(Refusal::invalid)
}

#[cfg(test)]
mod tests;
