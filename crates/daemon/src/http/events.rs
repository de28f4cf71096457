//! The event stream: server-sent events, numbered, so that a client goes on where it was cut off.

use super::answer::Asks;
use super::answer::Rejection;
use super::answer::Who;
use crate::daemon::Daemon;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::{Stream, StreamExt};
use serde::Deserialize;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::api::{Event as EventJson, Problem};
use tenure_store::kind;
use tenure_supervisor::Phase;
use tenure_supervisor::Refusal;
use tenure_supervisor::Requester;
use tenure_supervisor::events::shown;
use tenure_supervisor::heartbeats::HeartbeatFollower;
use tenure_supervisor::sync::until;
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
    Who(who): Who,
    headers: HeaderMap,
    Asks(asks): Asks<EventAsks>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Rejection> {
    let run = match &asks.run {
        Some(text) => Some(daemon.supervisor.find(text, &who).await?.ticket.run_id),
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
        None => daemon.supervisor.registry.last_event().await?,
    };
    // Whoever begins with the newest is told which that is, by an event without data: it can come back to that place
    // though it has heard nothing yet.
    let place = since.is_none().then(|| Ok(Event::default().id(at.to_string())));
    let changes = daemon.supervisor.events.changes();
    let follow = asks.follow.unwrap_or(true);
    let place_held = if follow { Some(daemon.supervisor.events.follow()?) } else { None };
    let heartbeats = follow.then(|| HeartbeatFollower::new(&daemon.supervisor));
    let stream = Following {
        daemon,
        who,
        run,
        at,
        changes,
        heartbeats,
        ready: Vec::new().into_iter(),
        _place: place_held,
    };
    let stream = futures_util::stream::unfold(stream, async |mut stream| {
        let event = stream.next().await?;
        let text = serde_json::to_string(&event).unwrap_or_default();
        let sent = Event::default().event(event.kind).data(text);
        // Nobody can resume at an event that has no number.
        let sent = event.seq.into_iter().fold(sent, |sent, seq| sent.id(seq.to_string()));
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
    /// Set while the client follows.
    heartbeats: Option<HeartbeatFollower>,
    ready: std::vec::IntoIter<EventJson>,
    _place: Option<OwnedSemaphorePermit>,
}

impl Following {
    /// The next event; `None` once there will be none.
    async fn next(&mut self) -> Option<EventJson> {
        loop {
            if let Some(event) = self.ready.next() {
                self.at = event.seq.unwrap_or(self.at);
                let only = self.who.only_session();
                if only.is_none_or(|only| event.session_id.as_deref() == Some(only)) {
                    return Some(event);
                }
                continue;
            }
            self.changes.mark_unchanged();
            let rows = self.daemon.supervisor.registry.events(self.at, self.run.clone(), BATCH).await.ok()?;
            let is_full = rows.len() == BATCH;
            let mut batch: Vec<EventJson> = rows.into_iter().map(shown).collect();
            // Taken after the rows were read, so that none is missing that came before one of them.
            let mut beats = self.heartbeats.as_mut().map(HeartbeatFollower::take).unwrap_or_default();
            beats.retain(|beat| self.run.is_none() || beat.run_id == self.run);
            // Whoever is far behind does not miss a heartbeat.
            if !is_full {
                beats.into_iter().for_each(|beat| insert_heartbeat(&mut batch, beat));
            }
            if batch.is_empty() && !self.wait().await {
                return None;
            }
            self.ready = batch.into_iter();
        }
    }

    /// Waits until something happens; false if the stream ends here.
    async fn wait(&mut self) -> bool {
        let Some(heartbeats) = &mut self.heartbeats else { return false };
        let mut phase = self.daemon.supervisor.lifecycle.phase.subscribe();
        tokio::select! {
            changed = self.changes.changed() => changed.is_ok(),
            () = heartbeats.wait() => true,
            // Whoever follows comes back to the next daemon.
            () = until(&mut phase, |phase| *phase != Phase::Serving) => false,
        }
    }
}

/// Puts a heartbeat after what was recorded before it. Of its own run only the end can be later.
fn insert_heartbeat(batch: &mut Vec<EventJson>, beat: EventJson) {
    let is_end = |event: &EventJson| event.kind == kind::RUN_ENDED && event.run_id == beat.run_id;
    let at = batch.iter().position(is_end).unwrap_or(batch.len());
    batch.insert(at, beat);
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_core::ids::{InstanceId, RunId};

    fn event(seq: Option<u64>, kind: &str, run: u8) -> EventJson {
        EventJson {
            seq,
            at_ms: 0,
            kind: kind.to_owned(),
            run_id: Some(RunId::from_random([run; 12])),
            session_id: None,
            instance_id: InstanceId::from_random([9; 12]),
            detail: serde_json::Value::Null,
        }
    }

    #[test]
    fn a_heartbeat_comes_after_the_start_and_before_the_end_of_its_run() {
        let mut batch = vec![
            event(Some(1), kind::RUN_STARTED, 1),
            event(Some(2), kind::RUN_ENDED, 2),
            event(Some(3), kind::RUN_ENDED, 1),
        ];
        insert_heartbeat(&mut batch, event(None, kind::RUN_OUTPUT, 1));
        insert_heartbeat(&mut batch, event(None, kind::RUN_OUTPUT, 3));
        let seqs: Vec<_> = batch.iter().map(|event| event.seq).collect();
        assert_eq!(seqs, [Some(1), Some(2), None, Some(3), None]);
    }
}
