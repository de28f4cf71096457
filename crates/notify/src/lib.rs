//! Delivery of notices. [`Notifier`] takes them from the registry's outbox and delivers them to channels.
//!
//! `describe` reads the channels of the configuration into `channel`. `webhook` calls a webhook: `url` and `address` limit
//! its target, `secret` signs the call, and `response` reads the result. `command` runs a program.
#![forbid(unsafe_code)]

mod address;
mod channel;
mod command;
mod delivery;
mod describe;
mod message;
mod notifier;
mod response;
mod secret;
mod tls;
mod url;
mod webhook;

pub use address::check as check_address;
pub use channel::{BadName, Channel, ChannelName, Command, Listeners, Target, Webhook};
pub use command::{CommandStart, OUTPUT_BYTES, delivery_of, start_of};
pub use delivery::{Delivery, WHY_CHARS};
pub use describe::channels;
pub use message::{BODY_BYTES, BadMessage, KEY_BYTES, Message};
pub use notifier::Notifier;
pub use response::{MAX_RETRY_AFTER, MIN_RETRY_AFTER};
pub use secret::{BadSecret, Secret, Signer};
pub use tenure_settings::described::BadTable as BadChannel;
pub use tls::Authorities;
pub use url::{BadUrl, Host, Scheme, Url};
pub use webhook::{Lookup, Resolve, SystemResolver, WebhookClient};
