//! What happens in a session, as it happens: server-sent events. An entry that changes is told again under its number, so
//! whoever was cut off begins with the last one that they have.

use super::answer::Rejection;
use super::answer::{Asks, Caller, Key};
use super::query_params::asks;
use crate::daemon::Daemon;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::Stream;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tenure_agents::acp::{Followed, Update};
use tenure_agents::sessions::Acting;
use tenure_core::api::Problem;
use tenure_core::ids::TurnId;
use tenure_core::session::{SessionKey, TurnState};
use tenure_core::tools::sessions::{EntryJson, TurnJson};
use tenure_store::Side;
use tenure_supervisor::Phase;
use tenure_supervisor::Refusal;
use tenure_supervisor::notice_suppression::Sight;
use tenure_supervisor::sync::until;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::broadcast::error::RecvError;

/// How many entries are read at a time.
const BATCH: usize = 200;
/// How many bytes of them.
const BYTES: u64 = 4 << 20;
/// How often a quiet stream shows that it is alive.
const ALIVE: Duration = Duration::from_secs(30);

asks! {
    /// Where the stream begins and ends, and who asks.
    pub(super) struct UpdateAsks {
        /// After this entry; without it, with what happens from now on.
        since: Option<u64>,
        /// Until this turn has ended.
        turn: Option<String>,
        /// Whether the caller sent the message of that turn and waits for its answer: once it has that, nobody else is told.
        foreground: Option<bool>,
    }
}

/// What happens in a session.
#[utoipa::path(get, path = "/v1/sessions/{key}/updates", operation_id = "sessions_updates",
    params(("key" = String, Path), UpdateAsks), responses(
    (status = 200, content_type = "text/event-stream", body = EntryJson),
    (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn updates(
    caller: Caller,
    Key(key): Key,
    Asks(asks): Asks<UpdateAsks>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Rejection> {
    let acting = Acting {
        requester: asks.requester.as_deref(),
        visibility: asks.visibility,
        sandboxed: asks.sandboxed,
    };
    let is_caller = asks.foreground.unwrap_or(false);
    let key = caller.daemon.agents.follows((&key, is_caller), acting, &caller.who).await?;
    let only: Option<TurnId> = asks.turn.as_deref().map(str::parse).transpose().map_err(Refusal::invalid)?;
    let sight = match &only {
        Some(turn) if is_caller => Some(caller.daemon.supervisor.about_to_see_turn(true, turn).await),
        Some(_) | None => None,
    };
    // Before the look: what happens in between is told twice, not never.
    let place = caller.daemon.supervisor.events.follow()?;
    let followed = caller.daemon.agents.follow_session(&key);
    let at = match asks.since {
        Some(at) => at,
        None => caller.daemon.agents.newest_entry(&key).await?,
    };
    let watching = Watching {
        daemon: caller.daemon,
        key,
        only,
        followed,
        at,
        told: None,
        ready: VecDeque::new(),
        ends: false,
        sight,
        _place: place,
    };
    let stream = futures_util::stream::unfold(watching.begin().await?, async |mut watching| {
        let event = watching.next().await?;
        Some((Ok(event), watching))
    });
    Ok(Sse::new(stream).keep_alive(KeepAlive::new().interval(ALIVE)))
}

/// One client's place in a session.
struct Watching {
    daemon: Arc<Daemon>,
    key: SessionKey,
    /// The turn after whose end the stream ends.
    only: Option<TurnId>,
    followed: Followed,
    /// The last entry that was told.
    at: u64,
    /// The last turn that was told, and how it was.
    told: Option<(TurnId, TurnState)>,
    ready: VecDeque<Event>,
    ends: bool,
    /// That the caller of the turn is about to see its end.
    sight: Option<Sight>,
    _place: OwnedSemaphorePermit,
}

impl Watching {
    /// What there is at the beginning.
    async fn begin(mut self) -> Result<Self, Refusal> {
        self.catch_up().await?;
        self.look_at_turn().await?;
        Ok(self)
    }

    /// The next event; `None` once there will be none.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if self.ends {
                // More is wanted, so the end was taken.
                if let Some(sight) = self.sight.take() {
                    sight.seen().await;
                }
                return None;
            }
            let mut phase = self.daemon.supervisor.lifecycle.phase.subscribe();
            let update = tokio::select! {
                update = self.followed.recv() => update,
                // Whoever looks on comes back to the next daemon.
                () = until(&mut phase, |phase| *phase != Phase::Serving) => return None,
            };
            let told = match update {
                Ok(Update::Entries(numbers)) => self.tell(&numbers).await,
                Ok(Update::Turn) | Err(RecvError::Lagged(_)) => self.catch_up_and_look().await,
                Err(RecvError::Closed) => return None,
            };
            told.ok()?;
        }
    }

    /// Tells the entries with these numbers: those that are known already, and all that are new.
    async fn tell(&mut self, numbers: &[u64]) -> Result<(), Refusal> {
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
        self.catch_up().await
    }

    async fn catch_up_and_look(&mut self) -> Result<(), Refusal> {
        self.catch_up().await?;
        self.look_at_turn().await
    }

    /// Tells what is new.
    async fn catch_up(&mut self) -> Result<(), Refusal> {
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

    /// Tells how the turn is, if that is new.
    async fn look_at_turn(&mut self) -> Result<(), Refusal> {
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
            // One that was over before is of no interest.
            newest.filter(|turn| self.told.is_some() || turn.state == TurnState::Running)
        };
        let Some(turn) = turn else { return Ok(()) };
        let now = (turn.asked.id.clone(), turn.state);
        if self.told.as_ref() != Some(&now) {
            self.ends = self.only.is_some() && turn.state != TurnState::Running;
            self.told = Some(now);
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
