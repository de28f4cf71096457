//! The event stream: numbered server-sent events, so that a client can resume after a lost connection.

use super::extractors::Identity;
use super::extractors::QueryParams;
use super::extractors::Rejection;
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

/// Number of events per read.
const BATCH: usize = 200;
/// Interval of keep-alive messages on a quiet stream.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(30);

/// Query parameters of `GET /v1/events`.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct EventParams {
    /// Begin after this event. The default is `Last-Event-ID`, then the newest event.
    since: Option<u64>,
    /// Wait for new events (default: true). With false, the stream ends with the newest event.
    follow: Option<bool>,
    /// Only events of this run.
    run: Option<String>,
}

/// Stream events.
///
/// Server-sent events, each with its number as id. A client that is bound to a session gets the events of that session
/// only.
#[utoipa::path(get, path = "/v1/events", params(EventParams), responses(
    (status = 200, content_type = "text/event-stream", body = tenure_core::api::Event), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn events(
    State(daemon): State<Arc<Daemon>>,
    Identity(who): Identity,
    headers: HeaderMap,
    QueryParams(params): QueryParams<EventParams>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Rejection> {
    let run = match &params.run {
        Some(text) => Some(daemon.supervisor.find(text, &who).await?.ticket.run_id),
        None => None,
    };
    let resumed = match headers.get("last-event-id") {
        Some(value) => {
            let number = value.to_str().ok().and_then(|text| text.trim().parse().ok());
            Some(number.ok_or_else(|| Refusal::bad_request("Last-Event-ID must be the number of an event"))?)
        }
        None => None,
    };
    let since = resumed.or(params.since);
    let at = match since {
        Some(at) => at,
        None => daemon.supervisor.registry.last_event().await?,
    };
    // A client that begins with the newest event gets its number in an event without data, so that it can resume there
    // before any other event arrives.
    let start = since.is_none().then(|| Ok(Event::default().id(at.to_string())));
    let changes = daemon.supervisor.events.changes();
    let follow = params.follow.unwrap_or(true);
    let permit = if follow { Some(daemon.supervisor.events.follow()?) } else { None };
    let heartbeats = follow.then(|| HeartbeatFollower::new(&daemon.supervisor));
    let stream = EventFollower {
        daemon,
        who,
        run,
        at,
        changes,
        heartbeats,
        ready: Vec::new().into_iter(),
        _permit: permit,
    };
    let stream = futures_util::stream::unfold(stream, async |mut stream| {
        let event = stream.next().await?;
        let text = serde_json::to_string(&event).unwrap_or_default();
        let sent = Event::default().event(event.kind).data(text);
        // A client cannot resume at an event without a number.
        let sent = event.seq.into_iter().fold(sent, |sent, seq| sent.id(seq.to_string()));
        Some((Ok(sent), stream))
    });
    let stream = futures_util::stream::iter(start).chain(stream);
    Ok(Sse::new(stream).keep_alive(KeepAlive::new().interval(KEEP_ALIVE_INTERVAL)))
}

/// A client's position in the event stream.
struct EventFollower {
    daemon: Arc<Daemon>,
    who: Requester,
    run: Option<tenure_core::ids::RunId>,
    at: u64,
    changes: tokio::sync::watch::Receiver<u64>,
    /// `None` if the client does not wait for new events.
    heartbeats: Option<HeartbeatFollower>,
    ready: std::vec::IntoIter<EventJson>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl EventFollower {
    /// Returns the next event, or `None` at the end of the stream.
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
            // After the rows were read, so that no heartbeat is missing that came before one of them.
            let mut beats = self.heartbeats.as_mut().map(HeartbeatFollower::take).unwrap_or_default();
            beats.retain(|beat| self.run.is_none() || beat.run_id == self.run);
            // A client that is far behind gets the heartbeats later.
            if !is_full {
                beats.into_iter().for_each(|beat| insert_heartbeat(&mut batch, beat));
            }
            if batch.is_empty() && !self.wait().await {
                return None;
            }
            self.ready = batch.into_iter();
        }
    }

    /// Waits for a new event. Returns false if the stream ends.
    async fn wait(&mut self) -> bool {
        let Some(heartbeats) = &mut self.heartbeats else { return false };
        let mut phase = self.daemon.supervisor.lifecycle.phase.subscribe();
        tokio::select! {
            changed = self.changes.changed() => changed.is_ok(),
            () = heartbeats.wait() => true,
            // The client reconnects to the next daemon.
            () = until(&mut phase, |phase| *phase != Phase::Serving) => false,
        }
    }
}

/// Inserts a heartbeat after the recorded events, but before the end of its run.
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
