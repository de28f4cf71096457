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

pub(crate) mod authorize;
pub(crate) mod call;
pub(crate) mod caller_env;
pub(crate) mod cli_turn;
pub(crate) mod cli_turn_result;
pub(crate) mod close;
pub mod legacy_close;
pub(crate) mod pending_closes;
pub(crate) mod permission_limit;
pub(crate) mod query;
pub(crate) mod send;
pub(crate) mod settings;
pub(crate) mod spawn;
pub(crate) mod turn_loop;
pub(crate) mod turn_spec;
pub(crate) mod turns;

pub use authorize::{Acting, Asker};
pub use call::key;
pub(crate) use caller_env::CallerEnvs;
pub(crate) use cli_turn::TurnStop;
pub(crate) use cli_turn_result::last_words;
pub use close::CloseReason;
pub use query::{entry, shown};
pub(crate) use turn_spec::set_environment;
pub use turns::Turns;

use crate::Agents;
use call::SessionsCall;
use settings::Setting;
use std::sync::Arc;
use tenure_core::receipt::ToolReply;
use tenure_core::session::{self as core, SessionKey};
use tenure_core::tools::sessions::{SessionsReply, SessionsRequest};
use tenure_store::Session;
use tenure_supervisor::Refusal;
use tenure_supervisor::Requester;
use tenure_supervisor::start_request::CallerProcess;

impl Agents {
    /// Handles a sessions request. `process` is the caller's process if our own command line sent it.
    pub async fn sessions(
        self: &Arc<Self>,
        request: SessionsRequest,
        (process, who): (Option<CallerProcess>, &Requester),
    ) -> Result<ToolReply<SessionsReply>, Refusal> {
        let asker = self.asker(&request, who).await?.with_process(process);
        let call = SessionsCall::read(request)?;
        let (agents, is_change) = (Arc::clone(self), call.is_change());
        let reply = async move { agents.handle(call, &asker).await };
        if is_change {
            // In a task of its own: it completes even if the caller stops waiting.
            tokio::spawn(reply).await.map_err(Refusal::internal)?
        } else {
            reply.await
        }
    }

    async fn handle(
        self: &Arc<Self>,
        call: SessionsCall,
        asker: &Asker,
    ) -> Result<ToolReply<SessionsReply>, Refusal> {
        let done = match call {
            SessionsCall::History(part) => return query::history(self, part, asker).await,
            SessionsCall::Wait(wait) => return send::await_turn(self, wait, asker).await,
            SessionsCall::List(query) => query::list_sessions(self, query, asker).await,
            SessionsCall::Status(key) => query::session_status(self, &key, asker).await,
            SessionsCall::Entries(part) => query::entries(self, part, asker).await,
            SessionsCall::Spawn(spawn) => spawn::spawn(self, *spawn, asker).await,
            SessionsCall::Send(send) => send::send(self, send, asker).await,
            SessionsCall::Cancel(key) => send::cancel_turn(self, &key, asker).await,
            SessionsCall::Close(close) => close::close(self, close, asker).await,
            SessionsCall::SetMode { session, mode } => {
                settings::adjust(self, &session, &Setting::Mode(mode), asker).await
            }
            SessionsCall::SetOption { session, option, value } => {
                settings::adjust(self, &session, &Setting::Option { option, value }, asker).await
            }
            SessionsCall::Answer(answer) => settings::answer(self, &answer, asker).await,
        };
        done.map(ToolReply::plain)
    }

    /// Returns this session if the caller may follow its history. `is_caller` is true if the caller sent the message
    /// of a turn and waits for its answer.
    pub async fn session_to_follow(
        &self,
        (key, is_caller): (&str, bool),
        acting: Acting<'_>,
        who: &Requester,
    ) -> Result<SessionKey, Refusal> {
        let asker = self.asker(acting, who).await?;
        let action = if is_caller { core::Action::Send } else { core::Action::History };
        Ok(self.seen(&call::key(key)?, &asker, action).await?.row.key)
    }

    /// Returns this session, if the caller may take this action on it.
    async fn seen(&self, key: &SessionKey, asker: &Asker, action: core::Action) -> Result<Session, Refusal> {
        let session = self.find_session(key).await?;
        asker.see(&session.row, action)?;
        Ok(session)
    }

    /// Returns this session, if the caller may end it and its turn.
    async fn owned(&self, key: &SessionKey, asker: &Asker) -> Result<Session, Refusal> {
        let session = self.seen(key, asker, core::Action::Send).await?;
        asker.own(&session.row)?;
        Ok(session)
    }

    /// Returns the session with this key.
    pub async fn find_session(&self, key: &SessionKey) -> Result<Session, Refusal> {
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
        known => format!("the configured ones are {}", known.join(", ")),
    };
    Err(Refusal::invalid(format!(
        "unknown channel {name:?}: {known}; describe it in config.toml as [channels.{name}] and restart the daemon"
    )))
}

#[cfg(test)]
mod tests;
