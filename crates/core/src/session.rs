//! Sessions: their names, ownership, visibility and end. The row holds all of it: a decision reads one row and
//! needs no second one. Storage and processes are handled elsewhere.

mod a2a;
mod close;
mod grant;
mod key;
pub mod legacy;
mod narrow;
mod row;
mod spawn;
#[cfg(test)]
mod tests;
mod visibility;
mod words;

pub use a2a::{AgentToAgent, BadRoute, Pattern, Route};
pub use close::{Closing, LeftAlone, close_order};
pub use grant::{is_cautious_mode, is_harmless_option};
pub(crate) use key::is_unseen;
pub use key::{AgentId, BadAgent, BadKey, KEY_BYTES, SessionKey};
pub use narrow::{Narrowing, Term, narrow};
pub use row::{Disagreement, IllegalSessionMove, Origin, SessionRow, Work};
pub use spawn::{Known, Refused, SpawnLimits, SpawnRequest, spawn};
pub use visibility::{Access, Reason, Requester, can_see};
pub use words::{
    Action, Backend, BadWord, Interaction, Kind, Mode, Permissions, SessionState, Stop, TurnState, Visibility,
};

/// Returns the agent of a session: sessions of agents are called `agent:<name>` or `agent:<name>:…`.
pub fn agent_of(key: &str) -> Option<&str> {
    let name = key.strip_prefix("agent:")?.split(':').next()?;
    (!name.is_empty()).then_some(name)
}
