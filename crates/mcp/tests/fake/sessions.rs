//! Sessions in the state that their keys say.

use super::{RUN, refused};
use tenure_core::api::Problem;
use tenure_core::ids::TurnId;
use tenure_core::session::{
    Backend, Disagreement, Interaction, Kind, LeftAlone, Mode, SessionKey, SessionRow, SessionState,
    TurnState, Work,
};
use tenure_core::tools::sessions::{
    Action, ClosedJson, Delivery, Sent, SessionJson, SessionsReply, SessionsRequest, TurnJson,
};

pub(crate) const TURN: &str = "abcdefabcdefabcdefabcdef";

pub(crate) fn session(key: &str) -> SessionJson {
    let named = |key: &str| key.parse::<SessionKey>().unwrap();
    let row = SessionRow {
        key: named(key),
        agent: Some("helper".parse().unwrap()),
        kind: Kind::Subagent,
        mode: Mode::Persistent,
        spawned_by: Some(named("mcp:1")),
        parent: Some(named("mcp:1")),
        owner: Some(named("mcp:1")),
        lineage: vec![named("mcp:1")],
        backend: Backend::Cli,
        instance: RUN.parse().unwrap(),
        origin: None,
        interaction: Interaction::ParentOwnedBackground,
        sandboxed: false,
        work: Work::default(),
        state: SessionState::Idle,
        created_at_ms: 1,
        updated_at_ms: 1,
        closed_at_ms: None,
        legacy: None,
    };
    SessionJson {
        row,
        label: None,
        agent_session_id: None,
        turns: 1,
        queued: 0,
        active_turn: None,
        live_runs: None,
        questions: Vec::new(),
        adapter: None,
    }
}

/// The first turn, in this state.
pub(crate) fn turn(state: TurnState) -> TurnJson {
    let (done, running) = (state == TurnState::Done, state == TurnState::Running);
    TurnJson {
        turn_id: TURN.parse::<TurnId>().unwrap(),
        number: 1,
        state,
        stop: None,
        asked_by: "session mcp:1".to_owned(),
        message: "count the files\nall of them".to_owned(),
        message_cut_bytes: 0,
        text: done.then(|| "there are 12".to_owned()),
        text_cut_bytes: 0,
        error: (!done && !running).then(|| "it broke".to_owned()),
        run_id: Some(RUN.parse().unwrap()),
        sent_at_ms: 500,
        began_at_ms: 1000,
        ended_at_ms: (!running).then_some(2500),
    }
}

/// Returns the reply. A wait is for a turn in the state at the end of the key.
pub(crate) fn answer(request: &SessionsRequest) -> Result<SessionsReply, Problem> {
    let key = request.session_key.as_deref().unwrap_or("helper:1");
    let mut reply = SessionsReply::default();
    match request.action {
        Action::Spawn => {
            reply.session = Some(session(key));
            reply.sent = request.task.as_ref().map(|_| sent(Delivery::Started, 0));
        }
        Action::Entries => reply.entries = Some(Vec::new()),
        Action::SetMode | Action::SetOption | Action::Answer => reply.session = Some(session(key)),
        Action::Send => reply.sent = Some(sent(Delivery::Queued, 2)),
        Action::List => {
            reply.sessions = Some(vec![session("helper:1"), session("helper:2")]);
            reply.next = Some("helper:2".to_owned());
        }
        Action::History => {
            let mut cut = turn(TurnState::Done);
            cut.text_cut_bytes = 7;
            reply.turns = Some(vec![cut, turn(TurnState::Failed)]);
        }
        Action::Status => {
            let mut session = session(key);
            session.row.state = SessionState::Busy;
            session.label = Some("counts".to_owned());
            session.queued = 2;
            session.active_turn = Some(turn(TurnState::Running));
            session.live_runs = Some(vec![RUN.parse().unwrap()]);
            reply.session = Some(session);
        }
        Action::Wait => {
            let state = key.rsplit(':').next().and_then(|state| state.parse().ok());
            reply.turn = state.map(turn);
        }
        Action::Cancel if key == "nobody" => {
            return Err(refused("no-such-session", "there is no session nobody"));
        }
        Action::Cancel => reply.turn = (key != "idle").then(|| turn(TurnState::Cancelled)),
        Action::Close => reply.closed = Some(closed(key)),
    }
    Ok(reply)
}

fn sent(delivery: Delivery, ahead: u64) -> Sent {
    let note = (ahead > 0).then(|| "it cannot be steered".to_owned());
    Sent { delivery, turn_id: TURN.parse().unwrap(), ahead, note }
}

fn closed(key: &str) -> ClosedJson {
    if key == "closed" {
        return ClosedJson::default();
    }
    let left = LeftAlone { key: "other".parse().unwrap(), why: Disagreement::OwnerIsNotParent };
    ClosedJson {
        closed: vec!["helper:1:1".parse().unwrap(), key.parse().unwrap()],
        runs: vec![RUN.parse().unwrap()],
        unconfirmed: vec![RUN.parse().unwrap()],
        left: vec![left],
        processes: Vec::new(),
    }
}
