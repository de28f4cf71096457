//! The replies of `sessions` as text: the words first, then the state of the session or turn and the next step.

use super::entries::entries;
use super::{Text, duration, more};
use serde_json::{Value, json};
use tenure_core::api::Approval;
use tenure_core::session::TurnState;
use tenure_core::tools::sessions::{
    Action, AdapterJson, ClosedJson, Delivery, Named, Sent, SessionJson, SessionsReply, TurnJson,
};

/// Maximum length of a message that only serves to tell turns apart.
const GIST_CHARS: usize = 200;

/// Formats a reply to an action on the session `key`.
pub(crate) fn sessions(action: Action, key: &str, reply: &SessionsReply) -> String {
    let mut text = Text::default();
    match action {
        Action::Spawn | Action::Send => sent(&mut text, action, key, reply),
        Action::List => list(&mut text, reply),
        Action::History => history(&mut text, reply),
        Action::Entries => {
            entries(&mut text, reply.entries.as_deref().unwrap_or_default());
            more(&mut text, reply.next.as_deref());
        }
        Action::Status | Action::SetMode | Action::SetOption | Action::Answer => status(&mut text, reply),
        Action::Wait => wait(&mut text, key, reply),
        Action::Cancel => match &reply.turn {
            Some(turn) => text.line(format_args!("[{}]", turn_status(turn))),
            None => text.line("no turn is under way: there is nothing to cancel"),
        },
        Action::Close => close(&mut text, reply.closed.as_ref()),
    }
    text.0
}

/// Adds a created session, or an accepted message.
fn sent(text: &mut Text, action: Action, key: &str, reply: &SessionsReply) {
    let key = reply.session.as_ref().map_or(key, |session| session.row.key.as_str());
    if let Some(session) = &reply.session {
        text.line(session_line(session));
    }
    match &reply.sent {
        Some(sent) => delivered(text, key, sent),
        None if action == Action::Spawn => {
            let send = call(&json!({"action": "send", "sessionKey": key, "text": "…"}));
            text.line(format_args!("It has nothing to do yet: {send} gives it something."));
        }
        None => {}
    }
}

fn delivered(text: &mut Text, key: &str, sent: &Sent) {
    let turn = &sent.turn_id;
    match sent.delivery {
        Delivery::Started => text.line(format_args!("[started; turnId {turn}]")),
        Delivery::Queued => {
            let before = counted(sent.ahead, "message comes before it", "messages come before it");
            text.line(format_args!("[queued; turnId {turn}; {before}]"));
        }
        Delivery::Steered => text.line(format_args!("[steered into the turn under way; turnId {turn}]")),
    }
    if let Some(note) = &sent.note {
        text.line(format_args!("note: {note}"));
    }
    text.line(format_args!("{} waits for its end and shows the answer.", wait_for(key, turn.as_str())));
}

fn list(text: &mut Text, reply: &SessionsReply) {
    let sessions = reply.sessions.as_deref().unwrap_or_default();
    if sessions.is_empty() {
        text.line("there are no such sessions that you may see");
    }
    for session in sessions {
        text.line(session_line(session));
    }
    more(text, reply.next.as_deref());
}

fn history(text: &mut Text, reply: &SessionsReply) {
    let turns = reply.turns.as_deref().unwrap_or_default();
    if turns.is_empty() {
        text.line("nothing was said here");
    }
    for turn in turns {
        text.line(format_args!("[{}]", turn_status(turn)));
        text.line(format_args!("{} said:\n", turn.asked_by));
        text.block(&turn.message);
        cut(text, turn.message_cut_bytes);
        if let Some(answer) = &turn.text {
            text.line("The answer was:\n");
            text.block(answer);
            cut(text, turn.text_cut_bytes);
        }
        if let Some(error) = &turn.error {
            text.line(format_args!("error: {error}"));
        }
    }
    more(text, reply.next.as_deref());
}

fn status(text: &mut Text, reply: &SessionsReply) {
    let Some(session) = &reply.session else { return };
    text.line(session_line(session));
    if let Some(turn) = &session.active_turn {
        text.line(format_args!("[{}]", turn_status(turn)));
        text.line(format_args!("{} said: {}", turn.asked_by, gist(&turn.message)));
        let wait = wait_for(session.row.key.as_str(), turn.turn_id.as_str());
        text.line(format_args!("{wait} waits for its end and shows the answer."));
    }
    let runs: Vec<_> = session.live_runs.iter().flatten().map(ToString::to_string).collect();
    if !runs.is_empty() {
        text.line(format_args!("runs that have not ended: {}", runs.join(", ")));
    }
    session.adapter.iter().for_each(|it| adapter(text, it));
    session.questions.iter().for_each(|it| question(text, session.row.key.as_str(), it));
}

/// Adds an agent's permission request, and the call that answers it.
fn question(text: &mut Text, key: &str, asked: &Approval) {
    let offers: Vec<String> = asked.options.iter().map(|it| format!("{} ({})", it.id, it.name)).collect();
    let answer = call(&json!({"action": "answer", "sessionKey": key, "question": asked.id, "option": "…"}));
    text.line(format_args!(
        "it asks whether it may {}: {answer} answers with {}",
        asked.command,
        offers.join(", ")
    ));
}

/// Adds an ACP agent's adapter, and its settings.
fn adapter(text: &mut Text, adapter: &AdapterJson) {
    let name = adapter.agent.as_deref().unwrap_or("an agent that does not say its name");
    text.line(format_args!("adapter: {name}; runId {}", adapter.run_id));
    if !adapter.modes.is_empty() {
        let mode = |mode: &Named| format!("{} ({})", mode.id, mode.name);
        let all: Vec<String> = adapter.modes.iter().map(mode).collect();
        let set = adapter.mode.as_deref().unwrap_or("unknown");
        text.line(format_args!("mode: {set}; set-mode takes {}", all.join(", ")));
    }
    for option in &adapter.options {
        text.line(format_args!("option for set-option: {option}"));
    }
}

/// Adds the answer, or the hint for waiting on.
fn wait(text: &mut Text, key: &str, reply: &SessionsReply) {
    let Some(turn) = &reply.turn else {
        let status = call(&json!({"action": "status", "sessionKey": key}));
        text.line(format_args!("The turn has not begun. Wait again; {status} shows how the session is."));
        return;
    };
    if let Some(answer) = &turn.text {
        text.block(answer);
        cut(text, turn.text_cut_bytes);
    }
    text.line(format_args!("[{}]", turn_status(turn)));
    if let Some(error) = &turn.error {
        text.line(format_args!("error: {error}"));
    }
    if turn.state == TurnState::Running {
        let wait = wait_for(key, turn.turn_id.as_str());
        let cancel = call(&json!({"action": "cancel", "sessionKey": key}));
        text.line(format_args!("{wait} goes on waiting; {cancel} ends the turn."));
    }
}

fn close(text: &mut Text, closed: Option<&ClosedJson>) {
    let Some(ended) = closed else { return };
    match &ended.closed[..] {
        [] => text.line("it was closed already"),
        keys => text.line(format_args!("closed: {}", joined(keys))),
    }
    if !ended.runs.is_empty() {
        text.line(format_args!("runs that were ended: {}", joined(&ended.runs)));
    }
    if !ended.unconfirmed.is_empty() {
        let runs = joined(&ended.unconfirmed);
        text.line(format_args!("warning: not every process is known to be gone of: {runs}"));
    }
    for left in &ended.left {
        text.line(format_args!("left alone: {}, because {}", left.key, left.why));
    }
}

/// Returns the line for a session.
fn session_line(session: &SessionJson) -> String {
    let row = &session.row;
    let mut parts = vec![row.state.to_string(), format!("{} by {}", row.kind, row.backend)];
    parts.extend(row.agent.as_ref().map(|agent| format!("agent {agent}")));
    parts.extend(session.label.as_ref().map(|label| format!("label {label:?}")));
    parts.extend(row.parent.as_ref().map(|parent| format!("below {parent}")));
    parts.push(row.mode.to_string());
    parts.push(counted(session.turns, "turn", "turns"));
    if session.queued > 0 {
        parts.push(counted(session.queued, "message waits", "messages wait"));
    }
    format!("{} [{}]", row.key, parts.join("; "))
}

fn turn_status(turn: &TurnJson) -> String {
    let mut parts = vec![turn.state.to_string()];
    parts.extend(turn.stop.map(|stop| format!("stopped by {stop}")));
    parts.push(format!("turn {}", turn.number));
    parts.push(format!("turnId {}", turn.turn_id));
    parts.extend(turn.ended_at_ms.map(|ended| duration(ended.saturating_sub(turn.began_at_ms))));
    parts.extend(turn.run_id.as_ref().map(|run| format!("runId {run}")));
    parts.join("; ")
}

fn cut(text: &mut Text, bytes: u64) {
    if bytes > 0 {
        text.line(format_args!("[{bytes} bytes more are left out; history with maxBytes shows more]"));
    }
}

fn gist(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    let gist: String = line.chars().take(GIST_CHARS).collect();
    if gist.len() < message.trim_end().len() { format!("{gist}…") } else { gist }
}

fn wait_for(key: &str, turn: &str) -> String {
    call(&json!({"action": "wait", "sessionKey": key, "turnId": turn}))
}

/// Returns a call as a model writes it.
fn call(arguments: &Value) -> String {
    format!("sessions {arguments}")
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn joined(all: &[impl ToString]) -> String {
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
