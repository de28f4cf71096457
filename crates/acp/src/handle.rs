//! The handle of a driver, and the orders that it sends.

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

/// An order for a driver.
pub(crate) enum Order {
    /// Send a request, and reply with its response. `told` are history entries that precede it.
    Ask {
        verb: Verb,
        params: Box<RawValue>,
        turn: Option<TurnId>,
        told: Vec<(Kind, Value)>,
        reply: oneshot::Sender<Answer>,
    },
    /// Reply with the response to a request of an earlier driver.
    Await { id: i64, reply: oneshot::Sender<Answer> },
    /// Cancel the turn.
    Cancel(SessionId),
    /// Reply when the replay of the recorded messages is over.
    AwaitReplay { recorded: Messages, reply: oneshot::Sender<()> },
    /// Record that the agent fails to load conversations reliably.
    NoteBadLoad,
}

/// The handle of a driver. The driver ends when the last handle is dropped; the adapter keeps running.
#[derive(Debug, Clone)]
pub struct Handle(pub(crate) mpsc::UnboundedSender<Order>);

impl Handle {
    /// Sends a request to the agent, and waits for the response.
    pub async fn ask(&self, verb: Verb, params: &impl Serialize) -> Result<Answer, Over> {
        let (reply, answer) = oneshot::channel();
        let params = raw(params);
        self.0.send(Order::Ask { verb, params, turn: None, told: Vec::new(), reply }).map_err(|_| Over)?;
        answer.await.map_err(|_| Over)
    }

    /// Begins a turn, and waits for its end. `told` are the turn's first history entries: the prompt.
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

    /// Waits for the response to a request that an earlier driver sent.
    pub async fn answer_to(&self, id: i64) -> Result<Answer, Over> {
        let (reply, answer) = oneshot::channel();
        self.0.send(Order::Await { id, reply }).map_err(|_| Over)?;
        answer.await.map_err(|_| Over)
    }

    /// Waits until the agent has replayed the recorded messages of a loaded conversation, or is silent.
    pub async fn replayed(&self, recorded: Messages) -> Result<(), Over> {
        let (reply, answer) = oneshot::channel();
        self.0.send(Order::AwaitReplay { recorded, reply }).map_err(|_| Over)?;
        answer.await.map_err(|_| Over)
    }

    /// Records that the agent fails to load conversations reliably: its idle adapter is not stopped then.
    pub fn note_bad_load(&self) {
        // If the driver has ended, so has its adapter: nothing is left to keep.
        let _ = self.0.send(Order::NoteBadLoad);
    }

    /// Asks the agent to cancel its turn. No process gets a signal.
    pub fn cancel(&self, session: SessionId) {
        // A driver that has ended has no turn.
        let _ = self.0.send(Order::Cancel(session));
    }
}
