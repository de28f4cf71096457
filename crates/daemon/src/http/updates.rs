//! Updates of a session as server-sent events. A changed entry is sent again under its number, so that a client can resume
//! after a lost connection with the last entry that it has.

use super::extractors::Rejection;
use super::extractors::{Caller, Key, QueryParams};
use super::query_params::query_params;
use crate::daemon::Daemon;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::Stream;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tenure_agents::acp::{Update, UpdateReceiver};
use tenure_agents::sessions::Acting;
use tenure_core::api::Problem;
use tenure_core::ids::TurnId;
use tenure_core::session::{SessionKey, TurnState};
use tenure_core::tools::sessions::{EntryJson, TurnJson};
use tenure_store::Side;
use tenure_supervisor::Phase;
use tenure_supervisor::Refusal;
use tenure_supervisor::notice_suppression::SeenGuard;
use tenure_supervisor::sync::until;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::broadcast::error::RecvError;

/// Number of entries per read.
const BATCH: usize = 200;
/// Maximum number of bytes per read.
const BYTES: u64 = 4 << 20;
/// Interval of keep-alive messages on a quiet stream.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(30);

query_params! {
    /// Query parameters of `GET /v1/sessions/{key}/updates`.
    pub(super) struct UpdateParams {
        /// Begin after this entry. The default is the newest entry.
        since: Option<u64>,
        /// End when this turn has ended.
        turn: Option<String>,
        /// True if the caller sent the turn's message and waits for the answer. If it gets the answer, no notice is sent.
        foreground: Option<bool>,
    }
}

/// Stream the updates of a session.
#[utoipa::path(get, path = "/v1/sessions/{key}/updates", operation_id = "sessions_updates",
    params(("key" = String, Path), UpdateParams), responses(
    (status = 200, content_type = "text/event-stream", body = EntryJson),
    (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn updates(
    caller: Caller,
    Key(key): Key,
    QueryParams(params): QueryParams<UpdateParams>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Rejection> {
    let acting = Acting {
        requester: params.requester.as_deref(),
        visibility: params.visibility,
        sandboxed: params.sandboxed,
    };
    let is_caller = params.foreground.unwrap_or(false);
    let key = caller.daemon.agents.session_to_follow((&key, is_caller), acting, &caller.who).await?;
    let only: Option<TurnId> =
        params.turn.as_deref().map(str::parse).transpose().map_err(Refusal::invalid)?;
    let sight = match &only {
        Some(turn) if is_caller => Some(caller.daemon.supervisor.watch_turn_end(true, turn).await),
        Some(_) | None => None,
    };
    // Before the first read: updates in between are sent twice, not missed.
    let permit = caller.daemon.supervisor.events.follow()?;
    let followed = caller.daemon.agents.follow_session(&key);
    let at = match params.since {
        Some(at) => at,
        None => caller.daemon.agents.newest_entry(&key).await?,
    };
    let session = SessionFollower {
        daemon: caller.daemon,
        key,
        only,
        followed,
        at,
        sent_turn: None,
        ready: VecDeque::new(),
        ends: false,
        sight,
        _permit: permit,
    };
    let stream = futures_util::stream::unfold(session.begin().await?, async |mut follower| {
        let event = follower.next().await?;
        Some((Ok(event), follower))
    });
    Ok(Sse::new(stream).keep_alive(KeepAlive::new().interval(KEEP_ALIVE_INTERVAL)))
}

/// A client's position in the updates of a session.
struct SessionFollower {
    daemon: Arc<Daemon>,
    key: SessionKey,
    /// The turn after whose end the stream ends.
    only: Option<TurnId>,
    followed: UpdateReceiver,
    /// Number of the last sent entry.
    at: u64,
    /// The last sent turn and its state.
    sent_turn: Option<(TurnId, TurnState)>,
    ready: VecDeque<Event>,
    ends: bool,
    /// Marks the turn's end as seen.
    sight: Option<SeenGuard>,
    _permit: OwnedSemaphorePermit,
}

impl SessionFollower {
    /// Queues the entries and the turn that exist at the beginning.
    async fn begin(mut self) -> Result<Self, Refusal> {
        self.queue_new_entries().await?;
        self.queue_turn().await?;
        Ok(self)
    }

    /// Returns the next event, or `None` at the end of the stream.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if self.ends {
                // The connection asks for more, so the end was sent.
                if let Some(sight) = self.sight.take() {
                    sight.seen().await;
                }
                return None;
            }
            let mut phase = self.daemon.supervisor.lifecycle.phase.subscribe();
            let update = tokio::select! {
                update = self.followed.recv() => update,
                // The client reconnects to the next daemon.
                () = until(&mut phase, |phase| *phase != Phase::Serving) => return None,
            };
            let queued = match update {
                Ok(Update::Entries(numbers)) => self.queue_entries(&numbers).await,
                Ok(Update::Turn) | Err(RecvError::Lagged(_)) => self.queue_news().await,
                Err(RecvError::Closed) => return None,
            };
            queued.ok()?;
        }
    }

    /// Queues changed entries with these numbers, and all new entries.
    async fn queue_entries(&mut self, numbers: &[u64]) -> Result<(), Refusal> {
        for &number in numbers.iter().filter(|&&number| number <= self.at) {
            let page = self
                .daemon
                .supervisor
                .registry
                .entries(self.key.clone(), Side::After(number - 1), 1, BYTES)
                .await?;
            self.ready.extend(
                page.entries.into_iter().map(|entry| entry_event(&tenure_agents::sessions::entry(entry))),
            );
        }
        self.queue_new_entries().await
    }

    async fn queue_news(&mut self) -> Result<(), Refusal> {
        self.queue_new_entries().await?;
        self.queue_turn().await
    }

    /// Queues all new entries.
    async fn queue_new_entries(&mut self) -> Result<(), Refusal> {
        loop {
            let page = self
                .daemon
                .supervisor
                .registry
                .entries(self.key.clone(), Side::After(self.at), BATCH, BYTES)
                .await?;
            for entry in page.entries {
                self.at = entry.number;
                self.ready.push_back(entry_event(&tenure_agents::sessions::entry(entry)));
            }
            if page.next.is_none() {
                return Ok(());
            }
        }
    }

    /// Queues the turn, if its state has changed.
    async fn queue_turn(&mut self) -> Result<(), Refusal> {
        let turn = if let Some(only) = &self.only {
            self.daemon
                .supervisor
                .registry
                .turn(only.clone())
                .await?
                .filter(|turn| turn.asked.session == self.key)
        } else {
            let page = self
                .daemon
                .supervisor
                .registry
                .turns(self.key.clone(), Side::Before(u64::MAX), 1, BYTES)
                .await?;
            let newest = page.turns.into_iter().next();
            // A turn that had ended before the stream began is not sent.
            newest.filter(|turn| self.sent_turn.is_some() || turn.state == TurnState::Running)
        };
        let Some(turn) = turn else { return Ok(()) };
        let now = (turn.asked.id.clone(), turn.state);
        if self.sent_turn.as_ref() != Some(&now) {
            self.ends = self.only.is_some() && turn.state != TurnState::Running;
            self.sent_turn = Some(now);
            self.ready.push_back(turn_event(&tenure_agents::sessions::shown(turn, BYTES)));
        }
        Ok(())
    }
}

fn entry_event(entry: &EntryJson) -> Event {
    let text = serde_json::to_string(entry).unwrap_or_default();
    Event::default().id(entry.number.to_string()).event("entry").data(text)
}

fn turn_event(turn: &TurnJson) -> Event {
    Event::default().event("turn").data(serde_json::to_string(turn).unwrap_or_default())
}
