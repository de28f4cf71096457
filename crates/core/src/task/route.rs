//! The routing of everything that could reach a person's channel, in one decision. A session in the background
//! never speaks or types there; the notifier tells the result of its work, on the channel of its owner.

use super::words::{DeliveryStatus, NotifyPolicy};
use crate::session::Interaction;

/// An event that could reach a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Occasion {
    /// The session itself speaks.
    Speech,
    /// The session itself shows a typing signal.
    Typing,
    /// The task began or made progress.
    Change,
    /// The task ended.
    Terminal,
    /// The task was called lost although it had ended.
    Correction,
}

/// The facts that the decision depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Setting {
    /// The party that the working session talks to.
    pub interaction: Interaction,
    /// True if there is a channel: for speech, the session's own; for a notice, the owner's.
    pub has_origin: bool,
    /// The state of the owner.
    pub owner: Standing,
    /// The notices that the owner wants.
    pub policy: NotifyPolicy,
}

/// The state of the session that owns a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// The task has no owner.
    Nobody,
    /// The owner accepts notices.
    Open,
    /// The owner is closing, closed or gone.
    Over,
}

/// The decision about an event.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "each is an answer of its own")]
pub struct Routing {
    /// True if it goes to the channel.
    pub to_origin: bool,
    /// True if it waits for the owner's next turn. It also does if the channel does not accept it.
    pub to_session: bool,
    /// True if the session's own words are kept from the channel.
    pub suppress_chatter: bool,
    /// True if the session's typing signal is kept from the channel.
    pub suppress_typing: bool,
    /// The delivery status of the task's end, if the event is that end.
    pub delivery: DeliveryStatus,
}

/// Decides who hears of an event.
pub fn route(setting: Setting, occasion: Occasion) -> Routing {
    let in_background = match setting.interaction {
        Interaction::ParentOwnedBackground => true,
        Interaction::Interactive => false,
    };
    let quiet = Routing {
        to_origin: false,
        to_session: false,
        suppress_chatter: in_background,
        suppress_typing: in_background,
        delivery: DeliveryStatus::NotApplicable,
    };
    match (occasion, setting.policy) {
        (Occasion::Speech | Occasion::Typing, _) => {
            Routing { to_origin: setting.has_origin && !in_background, ..quiet }
        }
        (Occasion::Change, NotifyPolicy::StateChanges)
        | (Occasion::Terminal | Occasion::Correction, NotifyPolicy::DoneOnly | NotifyPolicy::StateChanges) => {
            notice(setting, quiet)
        }
        (Occasion::Change, NotifyPolicy::DoneOnly | NotifyPolicy::Silent)
        | (Occasion::Terminal | Occasion::Correction, NotifyPolicy::Silent) => quiet,
    }
}

fn notice(setting: Setting, quiet: Routing) -> Routing {
    match (setting.has_origin, setting.owner) {
        (true, _) => Routing { to_origin: true, delivery: DeliveryStatus::Pending, ..quiet },
        (false, Standing::Open) => {
            Routing { to_session: true, delivery: DeliveryStatus::SessionQueued, ..quiet }
        }
        (false, Standing::Over) => Routing { delivery: DeliveryStatus::ParentMissing, ..quiet },
        (false, Standing::Nobody) => quiet,
    }
}
