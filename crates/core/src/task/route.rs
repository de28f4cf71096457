//! Who hears what. One decision for everything that could reach a person's channel: what a session in the background
//! says and that it types never do; how its work went is told by the notifier, to where its owner was asked.

use super::words::{DeliveryStatus, NotifyPolicy};
use crate::session::Interaction;

/// What could be heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Occasion {
    /// The session itself says something.
    Speech,
    /// The session itself shows that it is about to.
    Typing,
    /// The task began or goes on.
    Change,
    /// The task ended.
    Terminal,
    /// The task was called lost and had ended all the same.
    Correction,
}

/// What is known when it is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Setting {
    /// With whom the session speaks that does the work.
    pub interaction: Interaction,
    /// Whether there is a channel: of speech, the session's own; of a notice, where the owner was asked.
    pub has_origin: bool,
    /// How the owner is.
    pub owner: Standing,
    /// What the owner wants to hear.
    pub policy: NotifyPolicy,
}

/// How the session is that owns a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// No session owns it.
    Nobody,
    /// It can be told.
    Open,
    /// It is closing, closed or gone.
    Over,
}

/// Who hears it.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "each is an answer of its own")]
pub struct Routing {
    /// Whether it goes to the channel.
    pub to_origin: bool,
    /// Whether it waits for the owner's next turn. It does instead where the channel does not take it.
    pub to_session: bool,
    /// Whether what the session itself says is kept from the channel.
    pub suppress_chatter: bool,
    /// Whether it is kept from the channel that the session is about to say something.
    pub suppress_typing: bool,
    /// How it stands with the delivery of the task's end, if this is it.
    pub delivery: DeliveryStatus,
}

/// Decides who hears it.
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
