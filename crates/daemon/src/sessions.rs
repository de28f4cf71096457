//! Sessions: `sessions` does what is to be done with them. Every face comes here: HTTP, MCP and, over HTTP, the command
//! line. Who may see what is `asker`'s to ask and `core`'s to decide; turns are carried out in `carrying`.

mod adjusting;
mod answer;
mod asker;
mod caller_env;
mod carrying;
mod closing;
mod granting;
mod job;
mod looking;
mod overdue;
mod running;
mod spawning;
mod talking;
mod turns;

pub(crate) use answer::last_words;
pub(crate) use asker::Asker;
pub(crate) use caller_env::CallerEnvs;
pub(crate) use closing::Why;
pub(crate) use job::dress;
pub(crate) use looking::{entry, shown};
pub(crate) use running::Stopped;
pub(crate) use turns::Turns;

use crate::asked::{CallerProcess, named};
use crate::daemon::Daemon;
use crate::refusal::Refusal;
use crate::requester::Requester;
use std::sync::Arc;
use tenure_core::session::{self as core, Origin, SessionKey};
use tenure_core::tools::sessions::{Action, SessionsReply, SessionsRequest};
use tenure_mcp::Answered;
use tenure_store::Session;

impl Daemon {
    /// Does what is to be done with sessions. The caller's process is the one of our own command line.
    pub(crate) async fn sessions(
        self: &Arc<Self>,
        request: SessionsRequest,
        (process, who): (Option<CallerProcess>, &Requester),
    ) -> Result<Answered<SessionsReply>, Refusal> {
        check_words(&request)?;
        if let Some(origin) = &request.origin {
            self.check_channel(&origin.channel)?;
        }
        let asker = self.asker(&request, who).await?.with_process(process);
        match request.action {
            Action::List => self.list_sessions(&request, &asker).await.map(Answered::plain),
            Action::History => self.history(&request, &asker).await,
            Action::Status => self.session_status(&request, &asker).await.map(Answered::plain),
            Action::Entries => self.entries(&request, &asker).await.map(Answered::plain),
            Action::Wait => self.await_turn(&request, &asker).await,
            Action::Spawn
            | Action::Send
            | Action::Cancel
            | Action::Close
            | Action::SetMode
            | Action::SetOption
            | Action::Answer => {
                // Whoever stops waiting has it done all the same: a turn that has begun is carried out.
                let daemon = Arc::clone(self);
                let doing = tokio::spawn(async move { daemon.change_sessions(request, &asker).await });
                doing.await.map_err(Refusal::internal)?.map(Answered::plain)
            }
        }
    }

    /// The session whose history somebody wants to follow, if they may.
    pub(crate) async fn follows(
        &self,
        request: &SessionsRequest,
        who: &Requester,
    ) -> Result<SessionKey, Refusal> {
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
            Action::Spawn => self.spawn_for(request, asker).await,
            Action::Send => self.send(request, asker).await,
            Action::Cancel => self.cancel_turn(&request, asker).await,
            Action::SetMode | Action::SetOption => self.adjust(&request, asker).await,
            Action::Answer => self.answer_for(&request, asker).await,
            _ => self.close_for(request, asker).await,
        }
    }

    /// The session that is meant, if whoever asks may do this with it.
    async fn seen(
        &self,
        request: &SessionsRequest,
        asker: &Asker,
        action: core::Action,
    ) -> Result<Session, Refusal> {
        let Some(text) = &request.session_key else {
            return Err(Refusal::invalid("sessionKey is missing: say which session"));
        };
        let session = self.session_called(&key(text)?).await?;
        asker.see(&session.row, action)?;
        Ok(session)
    }

    /// The session that is meant, if whoever asks may end it, or what it does.
    async fn owned(&self, request: &SessionsRequest, asker: &Asker) -> Result<Session, Refusal> {
        let session = self.seen(request, asker, core::Action::Send).await?;
        asker.own(&session.row)?;
        Ok(session)
    }

    pub(crate) async fn session_called(&self, key: &SessionKey) -> Result<Session, Refusal> {
        let session = self.registry.session(key.clone()).await?;
        session.ok_or_else(|| tenure_store::Failed::NoSession { key: key.clone() }.into())
    }
}

/// What is kept for people and for other programs is one line each, and no option of a command.
fn check_words(request: &SessionsRequest) -> Result<(), Refusal> {
    named("reason", request.reason.as_ref())?;
    named("model", request.model.as_ref())?;
    if let Some(model) = request.model.as_ref().filter(|model| model.starts_with('-')) {
        return Err(Refusal::invalid(format!("the model {model:?} would be an option: name a model")));
    }
    if let Some(Origin { channel, to, thread }) = &request.origin {
        named("channel of the origin", Some(channel))?;
        named("recipient of the origin", to.as_ref())?;
        named("thread of the origin", thread.as_ref())?;
    }
    Ok(())
}

pub(crate) fn key(text: &str) -> Result<SessionKey, Refusal> {
    text.parse().map_err(Refusal::invalid)
}

#[cfg(test)]
mod tests;
