//! The event stream: server-sent events, numbered, so that a client goes on where it was cut off.

use super::answer::Asks;
use crate::daemon::{Daemon, Phase, until};
use crate::events::shown;
use crate::refusal::Refusal;
use crate::requester::Requester;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::{Stream, StreamExt};
use serde::Deserialize;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::api::Problem;
use tenure_store::EventRow;
use tokio::sync::OwnedSemaphorePermit;
use utoipa::IntoParams;

/// How many events are read at a time.
const BATCH: usize = 200;
/// How often a quiet stream shows that it is alive.
const ALIVE: Duration = Duration::from_secs(30);

/// Where the stream begins.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct EventAsks {
    /// After this event; without it and without `Last-Event-ID`, after the newest.
    since: Option<u64>,
    /// Whether to go on as more happens; if not, the stream ends with the newest.
    follow: Option<bool>,
    /// Only about this run.
    run: Option<String>,
}

/// What happened and happens.
#[utoipa::path(get, path = "/v1/events", params(EventAsks), responses(
    (status = 200, content_type = "text/event-stream", body = tenure_core::api::Event), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn events(
    State(daemon): State<Arc<Daemon>>,
    who: Requester,
    headers: HeaderMap,
    Asks(asks): Asks<EventAsks>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refusal> {
    let run = match &asks.run {
        Some(text) => Some(daemon.find(text, &who).await?.ticket.run_id),
        None => None,
    };
    let resumed = match headers.get("last-event-id") {
        Some(value) => {
            let number = value.to_str().ok().and_then(|text| text.trim().parse().ok());
            Some(number.ok_or_else(|| Refusal::bad_request("Last-Event-ID is not the number of an event"))?)
        }
        None => None,
    };
    let since = resumed.or(asks.since);
    let at = match since {
        Some(at) => at,
        None => daemon.registry.last_event().await?,
    };
    // Whoever begins with the newest is told which that is, by an event without data: it can come back to that place
    // though it has heard nothing yet.
    let place = since.is_none().then(|| Ok(Event::default().id(at.to_string())));
    let changes = daemon.changes();
    let follow = asks.follow.unwrap_or(true);
    let place_held = if follow { Some(daemon.follow()?) } else { None };
    let stream = Following {
        daemon,
        who,
        run,
        at,
        changes,
        follow,
        ready: Vec::new().into_iter(),
        _place: place_held,
    };
    let stream = futures_util::stream::unfold(stream, async |mut stream| {
        let row = stream.next().await?;
        let event = shown(row);
        let text = serde_json::to_string(&event).unwrap_or_default();
        let sent = Event::default().id(event.seq.to_string()).event(event.kind).data(text);
        Some((Ok(sent), stream))
    });
    let stream = futures_util::stream::iter(place).chain(stream);
    Ok(Sse::new(stream).keep_alive(KeepAlive::new().interval(ALIVE)))
}

/// One client's place among the events.
struct Following {
    daemon: Arc<Daemon>,
    who: Requester,
    run: Option<tenure_core::ids::RunId>,
    at: u64,
    changes: tokio::sync::watch::Receiver<u64>,
    follow: bool,
    ready: std::vec::IntoIter<EventRow>,
    _place: Option<OwnedSemaphorePermit>,
}

impl Following {
    /// The next event; `None` once there will be none.
    async fn next(&mut self) -> Option<EventRow> {
        loop {
            if let Some(row) = self.ready.next() {
                self.at = row.seq;
                let mine =
                    self.who.only_session().is_none_or(|only| row.event.session.as_deref() == Some(only));
                if mine {
                    return Some(row);
                }
                continue;
            }
            self.changes.mark_unchanged();
            let batch = self.daemon.registry.events(self.at, self.run.clone(), BATCH).await.ok()?;
            if batch.is_empty() {
                if !self.follow {
                    return None;
                }
                let mut phase = self.daemon.phase.subscribe();
                tokio::select! {
                    changed = self.changes.changed() => changed.ok()?,
                    // Whoever follows comes back to the next daemon.
                    () = until(&mut phase, |phase| *phase != Phase::Serving) => return None,
                }
            }
            self.ready = batch.into_iter();
        }
    }
}
