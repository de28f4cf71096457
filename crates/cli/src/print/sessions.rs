//! Sessions: a table, or one in full.

use super::record::{self, Group, Rows};
use super::{Context, Table, Tone, ago, escaped, lines, plain, short};
use crate::failure::Failure;
use serde_json::Value;
use std::time::Duration;
use tenure_core::duration::show;
use tenure_core::session::{SessionKey, SessionRow, SessionState};
use tenure_core::tools::sessions::{AdapterJson, SessionJson, TurnJson};

/// Prints the sessions as a table.
pub(crate) fn sessions(list: &[SessionJson]) -> Result<(), Failure> {
    lines(&sessions_lines(&Context::of_stdout(), list))
}

/// Formats that table. Keys are not shortened: only the whole key names a session.
pub(crate) fn sessions_lines(context: &Context, list: &[SessionJson]) -> Vec<String> {
    let headings = ["KEY", "AGENT", "KIND", "STATE", ">TURNS", ">QUEUED", ">AGE", "LABEL"];
    let mut table = Table::new(context.style, &headings);
    for session in list {
        let row = &session.row;
        let agent = row.agent.as_ref().map_or("-", |agent| agent.as_str());
        table.row([
            (row.key.to_string(), Tone::Plain),
            (agent.to_owned(), Tone::Plain),
            (row.kind.to_string(), Tone::Plain),
            (row.state.to_string(), tone(row.state)),
            (session.turns.to_string(), Tone::Plain),
            (session.queued.to_string(), if session.queued > 0 { Tone::Warning } else { Tone::Plain }),
            (ago(context.since(row.created_at_ms)), Tone::Plain),
            (session.label.as_deref().map_or("-".to_owned(), plain), Tone::Plain),
        ]);
    }
    table.lines()
}

fn tone(state: SessionState) -> Tone {
    match state {
        SessionState::Idle => Tone::Plain,
        SessionState::Busy => Tone::Good,
        SessionState::Closing => Tone::Warning,
        SessionState::Closed => Tone::Dim,
    }
}

/// Prints one session, in groups.
pub(crate) fn session(session: &SessionJson) -> Result<(), Failure> {
    lines(&session_lines(&Context::of_stdout(), session))
}

/// Formats one session.
pub(crate) fn session_lines(context: &Context, session: &SessionJson) -> Vec<String> {
    record::lines(context.style, &groups(context, session))
}

fn groups(context: &Context, session: &SessionJson) -> Vec<Group> {
    let row = &session.row;
    let turn = session.active_turn.as_ref().map(|turn| self::turn(context, turn)).unwrap_or_default();
    vec![
        ("Session", session_rows(context, session)),
        ("Ownership", ownership_rows(row)),
        ("Work", work_rows(session)),
        ("Active turn", turn),
        ("Adapter", session.adapter.as_ref().map(adapter).unwrap_or_default()),
    ]
}

fn session_rows(context: &Context, session: &SessionJson) -> Rows {
    let row = &session.row;
    let mut rows = vec![("key", row.key.to_string())];
    rows.extend(session.label.as_deref().map(|label| ("label", plain(label))));
    rows.push(("state", row.state.to_string()));
    rows.extend(row.agent.as_ref().map(|agent| ("agent", agent.to_string())));
    rows.extend([("kind", row.kind.to_string()), ("mode", row.mode.to_string())]);
    rows.push(("turns", session.turns.to_string()));
    if session.queued > 0 {
        rows.push(("queued", session.queued.to_string()));
    }
    rows.push(("created", context.moment(row.created_at_ms)));
    rows.extend(row.closed_at_ms.map(|at| ("closed", context.moment(at))));
    rows
}

/// Formats the owner, the ancestors and the channel of a session.
fn ownership_rows(row: &SessionRow) -> Rows {
    let nobody = || "nobody: created from outside of all sessions".to_owned();
    let key = |key: &SessionKey| key.to_string();
    let mut rows = Vec::new();
    rows.extend(row.parent.as_ref().map(|parent| ("parent", key(parent))));
    rows.extend(row.owner.as_ref().map(|owner| ("owner", key(owner))));
    rows.push(("spawned by", row.spawned_by.as_ref().map_or_else(nobody, key)));
    if !row.lineage.is_empty() {
        let above: Vec<String> = row.lineage.iter().map(key).collect();
        rows.push(("lineage", above.join(" ← ")));
    }
    rows.push(("interaction", row.interaction.to_string()));
    rows.extend(row.origin.as_ref().map(|origin| {
        let parts = [Some(&origin.channel), origin.to.as_ref(), origin.thread.as_ref()];
        let parts: Vec<String> = parts.into_iter().flatten().map(|part| plain(part)).collect();
        ("channel", parts.join(", "))
    }));
    if row.sandboxed {
        rows.push(("sandboxed", "yes: it sees only itself and the sessions that it spawns".to_owned()));
    }
    rows
}

fn work_rows(session: &SessionJson) -> Rows {
    let work = &session.row.work;
    let mut rows = vec![("backend", session.row.backend.to_string())];
    rows.extend(work.cwd.as_deref().map(|cwd| ("directory", escaped(cwd))));
    rows.extend(work.model.as_deref().map(|model| ("model", plain(model))));
    rows.extend(work.permissions.map(|permissions| ("permissions", permissions.to_string())));
    rows.extend(work.timeout_ms.map(|ms| ("timeout", show(Duration::from_millis(ms)))));
    rows.extend(session.agent_session_id.as_deref().map(|id| ("conversation", plain(id))));
    let runs: Vec<&str> = session.live_runs.iter().flatten().map(|run| short(run.as_str())).collect();
    if !runs.is_empty() {
        rows.push(("live runs", runs.join(" ")));
    }
    rows
}

/// Formats an ACP agent's process, and the agent's description of itself.
fn adapter(adapter: &AdapterJson) -> Rows {
    let mut rows = vec![("run", adapter.run_id.to_string())];
    rows.extend(adapter.agent.as_deref().map(|agent| ("agent", plain(agent))));
    rows.extend(adapter.agent_session_id.as_deref().map(|id| ("conversation", plain(id))));
    rows.push(("resumes", if adapter.resumes { "yes" } else { "no" }.to_owned()));
    rows.extend(adapter.modes.iter().map(|mode| {
        let is_set = adapter.mode.as_deref() == Some(mode.id.as_str());
        let mark = if is_set { " (set)" } else { "" };
        ("mode", format!("{}: {}{mark}", plain(&mode.id), plain(&mode.name)))
    }));
    rows.extend(adapter.options.iter().map(|option| ("option", self::option(option))));
    rows
}

/// Formats an option of an agent, with its current and its possible values.
fn option(option: &Value) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| plain(&value.to_string()), plain);
    let mut values = Vec::new();
    values_of(&option["options"], &mut values);
    let values: Vec<String> = values.iter().map(|value| text(value)).collect();
    let others = if values.is_empty() { String::new() } else { format!(" (of {})", values.join(", ")) };
    format!("{}: {}{others}", text(&option["id"]), text(&option["currentValue"]))
}

/// Collects the values of an option, which may be nested in groups.
fn values_of<'a>(options: &'a Value, values: &mut Vec<&'a Value>) {
    for option in options.as_array().into_iter().flatten() {
        match option.get("value") {
            Some(value) => values.push(value),
            None => values_of(&option["options"], values),
        }
    }
}

fn turn(context: &Context, turn: &TurnJson) -> Rows {
    let mut rows = vec![
        ("number", turn.number.to_string()),
        ("id", turn.turn_id.to_string()),
        ("sent by", plain(&turn.asked_by)),
        ("message", plain(&turn.message)),
        ("started", context.moment(turn.began_at_ms)),
    ];
    if turn.message_cut_bytes > 0 {
        rows[3].1.push('…');
    }
    rows.extend(turn.run_id.as_ref().map(|run| ("run", run.to_string())));
    rows
}

#[cfg(test)]
mod tests;
