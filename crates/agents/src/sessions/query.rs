//! Lists sessions, and shows the status, the history and the entries of one.

use super::authorize::Asker;
use super::call::{HistoryPart, PAGE, TEXT};
use crate::Agents;
use crate::acp::query;
use std::sync::Arc;
use tenure_core::ids::RunId;
use tenure_core::receipt::{Receipt, ToolReply};
use tenure_core::session::{Action, SessionKey};
use tenure_core::talk::Entry;
use tenure_core::task::Notice;
use tenure_core::tools::sessions::{EntryJson, SessionJson, SessionsReply, TurnJson};
use tenure_os::{clock, pause};
use tenure_store::{Query, Session, SessionQuery, Side, Turn};
use tenure_supervisor::Refusal;
use tenure_supervisor::runs::LIVE;

/// Maximum size of a turn's texts beside its entries, which have the full texts.
const TURN_SHOWN: u64 = 200;
/// Maximum number of runs in a status.
const RUNS: usize = 100;
/// Maximum number of notices in a history.
const NOTICES: usize = 100;

/// Lists the sessions that the requester may see.
pub(crate) async fn list_sessions(
    agents: &Agents,
    query: SessionQuery,
    asker: &Asker,
) -> Result<SessionsReply, Refusal> {
    let limit = query.limit;
    let mut query = SessionQuery { narrowing: asker.narrowing(), ..query };
    let mut shown = Vec::new();
    loop {
        let page = agents.supervisor.registry.sessions(query.clone()).await?;
        shown.extend(page.sessions.into_iter().filter(|session| asker.lists(&session.row)));
        match page.next {
            // The filter passes more than the requester may see: fill up the page.
            Some(next) if shown.len() < limit => {
                (query.after, query.limit) = (Some(next), limit - shown.len());
            }
            next => {
                return Ok(SessionsReply {
                    sessions: Some(shown.into_iter().map(view).collect()),
                    next: next.map(|at| format!("{}:{}", at.created_at_ms, at.key)),
                    ..SessionsReply::default()
                });
            }
        }
    }
}

/// Shows the status of a session.
pub(crate) async fn session_status(
    agents: &Agents,
    key: &SessionKey,
    asker: &Asker,
) -> Result<SessionsReply, Refusal> {
    let session = agents.seen(key, asker, Action::Status).await?;
    let active = agents.supervisor.registry.active_turn(key.clone()).await?;
    let runs = live_runs_of(agents, key, RUNS).await?;
    let session = SessionJson {
        active_turn: active.map(|turn| shown(turn, TEXT.0)),
        live_runs: Some(runs),
        questions: agents.approvals.questions_of(key).await?,
        adapter: query::adapter_json(agents, key).await,
        ..view(session)
    };
    Ok(SessionsReply { session: Some(session), ..SessionsReply::default() })
}

/// Returns the live runs of a session, at most `limit`.
pub(crate) async fn live_runs_of(
    agents: &Agents,
    key: &SessionKey,
    limit: usize,
) -> Result<Vec<RunId>, Refusal> {
    let query = Query {
        states: LIVE.to_vec(),
        session: Some(key.to_string()),
        scope: None,
        agent: None,
        after: None,
        limit,
    };
    let page = agents.supervisor.registry.runs(query).await?;
    Ok(page.runs.into_iter().map(|row| row.ticket.run_id).collect())
}

/// Shows the turns of a session, and its waiting notices. They count as delivered once the session itself has the reply.
pub(crate) async fn history(
    agents: &Arc<Agents>,
    HistoryPart { session, side, limit, bytes, is_first: _ }: HistoryPart,
    asker: &Asker,
) -> Result<ToolReply<SessionsReply>, Refusal> {
    let session = agents.seen(&session, asker, Action::History).await?;
    let key = session.row.key;
    let page = agents.supervisor.registry.turns(key.clone(), side, limit, bytes).await?;
    let next = page.next.map(|(Side::After(at) | Side::Before(at))| at.to_string());
    let turns = page.turns.into_iter().map(|turn| shown(turn, bytes)).collect();
    let waiting = agents.supervisor.registry.queued_notices(key.clone(), NOTICES).await?;
    let notices: Vec<Notice> = waiting.into_iter().map(|queued| queued.notice).collect();
    let receipt = match asker.key() {
        Some(own) if *own == key && !notices.is_empty() => delivery_receipt(agents, key, &notices),
        Some(_) | None => Receipt::default(),
    };
    let notices = Some(notices).filter(|notices| !notices.is_empty());
    let reply = SessionsReply { turns: Some(turns), notices, next, ..SessionsReply::default() };
    Ok(ToolReply { reply, receipt })
}

/// Shows the entries of a session: messages, tool calls and so on.
pub(crate) async fn entries(
    agents: &Agents,
    HistoryPart { session, side, is_first, limit, bytes }: HistoryPart,
    asker: &Asker,
) -> Result<SessionsReply, Refusal> {
    let session = agents.seen(&session, asker, Action::History).await?;
    let key = session.row.key;
    let page = agents.supervisor.registry.entries(key.clone(), side, limit, bytes).await?;
    let is_last = page.next.is_none();
    let (from_oldest, to_newest) = match side {
        Side::After(_) => (is_first, is_last),
        Side::Before(_) => (is_last, is_first),
    };
    let turns = turns_of_page(agents, &key, &page.entries, (from_oldest, to_newest)).await?;
    let next = page.next.map(|(Side::After(at) | Side::Before(at))| at.to_string());
    let entries = page.entries.into_iter().map(entry).collect();
    let turns = Some(turns).filter(|turns| !turns.is_empty());
    Ok(SessionsReply { entries: Some(entries), turns, next, ..SessionsReply::default() })
}

/// Returns the turns of a page of entries, the oldest first, and those between them without entries; at either end of the
/// history, also those before or after them. They have the beginnings of their texts.
async fn turns_of_page(
    agents: &Agents,
    key: &SessionKey,
    entries: &[Entry],
    (from_oldest, to_newest): (bool, bool),
) -> Result<Vec<TurnJson>, Refusal> {
    let (mut least, mut most) = (u64::MAX, 0);
    for id in [entries.first(), entries.last()].into_iter().flatten().filter_map(|it| it.turn.clone()) {
        if let Some(turn) = agents.supervisor.registry.turn(id).await? {
            (least, most) = (least.min(turn.number), most.max(turn.number));
        }
    }
    let least = if from_oldest { 1 } else { least };
    let most = if to_newest { u64::MAX } else { most };
    if least > most {
        return Ok(Vec::new());
    }
    let limit = usize::try_from(PAGE.1).unwrap_or(usize::MAX);
    let page = agents.supervisor.registry.turns(key.clone(), Side::After(least - 1), limit, u64::MAX).await?;
    let turns = page.turns.into_iter().filter(|turn| turn.number <= most);
    Ok(turns.map(|turn| shown(turn, TURN_SHOWN)).collect())
}

/// Returns the receipt that records the delivery of these notices to their session.
fn delivery_receipt(agents: &Arc<Agents>, key: SessionKey, notices: &[Notice]) -> Receipt {
    let keys = notices.iter().map(|notice| notice.key.clone()).collect();
    let agents = Arc::clone(agents);
    Receipt::new(move || {
        pause::point("daemon-before-seen");
        let taking = agents.supervisor.registry.take_notices(key, keys, clock::unix_ms());
        tokio::spawn(async move {
            if let Err(error) = taking.await {
                tracing::error!(%error, "delivery of notices not recorded: they are sent again");
            }
            pause::point("daemon-after-seen");
        });
    })
}

/// Returns the public view of a session.
pub(crate) fn view(session: Session) -> SessionJson {
    let Session { mut row, label, resume, turns, queued } = session;
    // A session without an owner owns itself.
    row.owner.get_or_insert_with(|| row.key.clone());
    row.legacy = None;
    SessionJson {
        row,
        label,
        agent_session_id: resume,
        turns,
        queued,
        active_turn: None,
        live_runs: None,
        questions: Vec::new(),
        adapter: None,
    }
}

/// Returns the public view of a turn, with at most `most` bytes of each text.
pub fn shown(turn: Turn, most: u64) -> TurnJson {
    let Turn { asked, number, state, stop, run, began_at_ms, ended_at_ms, text, error, instance: _ } = turn;
    let (message, message_cut_bytes) = cut(asked.message, most);
    let (text, text_cut_bytes) = match text {
        Some(it) => {
            let (text, cut) = cut(it.text, most);
            (Some(text), cut + it.cut_bytes)
        }
        None => (None, 0),
    };
    TurnJson {
        turn_id: asked.id,
        number,
        state,
        stop,
        asked_by: asked.asked_by,
        message,
        message_cut_bytes,
        text,
        text_cut_bytes,
        error,
        run_id: run,
        sent_at_ms: asked.sent_at_ms,
        began_at_ms,
        ended_at_ms,
    }
}

/// Returns the public view of an entry.
pub fn entry(entry: Entry) -> EntryJson {
    let Entry { number, turn, at_ms, kind, body } = entry;
    // The registry accepts only JSON.
    let body = serde_json::from_str(&body).unwrap_or_default();
    EntryJson { number, turn_id: turn, at_ms, kind, body }
}

/// Cuts a text between two characters; returns it, and the number of bytes left out.
fn cut(mut text: String, most: u64) -> (String, u64) {
    let end = text.floor_char_boundary(usize::try_from(most).unwrap_or(usize::MAX).min(text.len()));
    let left = text.len() - end;
    text.truncate(end);
    (text, left as u64)
}
