//! Notices. [`Notifier`] takes them from the registry's outbox and delivers them.
//!
//! A notice reaches a channel by pure parts and a client: what channels there are (`channel`, `describe`), a webhook's call
//! (`webhook`, with `url` and `address`, which say where it may go, `secret`, which signs it, and `answer`, which reads
//! what came back), and a command's (`command`).
#![forbid(unsafe_code)]

mod address;
mod answer;
mod channel;
mod command;
mod delivered;
mod describe;
mod message;
mod notifier;
mod secret;
mod tls;
mod url;
mod webhook;

pub use address::permits;
pub use answer::{LONGEST_AFTER, SHORTEST_AFTER};
pub use channel::{BadName, Channel, ChannelName, Command, Listeners, Target, Webhook};
pub use command::{OUTPUT_BYTES, Plan, judge, plan};
pub use delivered::{Delivered, WHY_CHARS};
pub use describe::channels;
pub use message::{BODY_BYTES, BadMessage, KEY_BYTES, Message};
pub use notifier::Notifier;
pub use secret::{BadSecret, Secret, Signer};
pub use tenure_settings::described::BadTable as BadChannel;
pub use tls::Authorities;
pub use url::{BadUrl, Host, Scheme, Url};
pub use webhook::{Lookup, Resolve, System, Webhooks};
