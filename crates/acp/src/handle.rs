//! What a driver is told, and by whom.

use crate::conversation::Verb;
use crate::history::Kind;
use crate::host::{Answer, Over};
use crate::message::raw;
use crate::replay::Messages;
use crate::schema::SessionId;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tenure_core::ids::TurnId;
use tokio::sync::{mpsc, oneshot};

/// What a driver is told.
pub(crate) enum Order {
    Ask {
        verb: Verb,
        params: Box<RawValue>,
        turn: Option<TurnId>,
        told: Vec<(Kind, Value)>,
        reply: oneshot::Sender<Answer>,
    },
    Await {
        id: i64,
        reply: oneshot::Sender<Answer>,
    },
    Cancel(SessionId),
    AwaitReplay {
        recorded: Messages,
        reply: oneshot::Sender<()>,
    },
    NoteBadLoad,
}

/// Speaks to a driver. The driver ends when the last of these is gone, and the adapter goes on.
#[derive(Debug, Clone)]
pub struct Handle(pub(crate) mpsc::UnboundedSender<Order>);

impl Handle {
    /// Asks the agent something, and waits for the answer.
    pub async fn ask(&self, verb: Verb, params: &impl Serialize) -> Result<Answer, Over> {
        let (reply, answer) = oneshot::channel();
        let params = raw(params);
        self.0.send(Order::Ask { verb, params, turn: None, told: Vec::new(), reply }).map_err(|_| Over)?;
        answer.await.map_err(|_| Over)
    }

    /// Begins a turn, and waits for its end. What is told of it first is what was said to the agent.
    pub async fn prompt(
        &self,
        turn: TurnId,
        params: &impl Serialize,
        told: Vec<(Kind, Value)>,
    ) -> Result<Answer, Over> {
        let (reply, answer) = oneshot::channel();
        let order = Order::Ask { verb: Verb::Prompt, params: raw(params), turn: Some(turn), told, reply };
        self.0.send(order).map_err(|_| Over)?;
        answer.await.map_err(|_| Over)
    }

    /// Waits for the answer to a question that an earlier driver asked.
    pub async fn answer_to(&self, id: i64) -> Result<Answer, Over> {
        let (reply, answer) = oneshot::channel();
        self.0.send(Order::Await { id, reply }).map_err(|_| Over)?;
        answer.await.map_err(|_| Over)
    }

    /// Waits until the agent has replayed a conversation that it loaded, of which this is recorded, or is quiet.
    pub async fn replayed(&self, recorded: Messages) -> Result<(), Over> {
        let (reply, answer) = oneshot::channel();
        self.0.send(Order::AwaitReplay { recorded, reply }).map_err(|_| Over)?;
        answer.await.map_err(|_| Over)
    }

    /// Records that the agent does not load its conversations well.
    pub fn note_bad_load(&self) {
        // A driver that is over keeps no adapter, which is what this is about.
        let _ = self.0.send(Order::NoteBadLoad);
    }

    /// Has the agent end its turn. It is the agent that does; nothing is signalled.
    pub fn cancel(&self, session: SessionId) {
        // One that is over has no turn.
        let _ = self.0.send(Order::Cancel(session));
    }
}
