//! Sessions and the agents behind them. [`Agents`] carries out turns: by a CLI agent's command, by an ACP adapter, or by
//! a command line.
//!
//! The descriptions are pure. CLI agents such as `claude -p` or `codex exec`: how each is described (`agent`,
//! `describe`), what is started for one turn (`turn`), and what its output says (`reader`). ACP adapters: how each is
//! described (`adapter`). The built-in descriptions are in `builtin/`; `layers` lays `config.toml` over them.
#![forbid(unsafe_code)]

pub mod acp;
mod adapter;
mod agent;
mod agents;
mod describe;
mod environment;
#[cfg(test)]
mod fixture;
mod layers;
mod lines;
mod reader;
mod rule;
mod session;
pub mod sessions;
mod template;
mod turn;

pub use adapter::{Adapter, adapters};
pub use agent::{Agent, Output, PromptGoes, Read, Silence, Span, Terminal};
pub use agents::Agents;
pub use describe::agents;
pub use environment::Environment;
pub use layers::{BUILT_IN, Described};
pub use reader::{Answer, Event, LINE_BYTES, Reader, Told, Untold, Usage};
pub use rule::Rule;
pub use session::{AgentSession, BadAgentSession};
pub use template::{Argument, Template};
pub use tenure_settings::described::BadTable as BadAgent;
pub use turn::{ARGUMENT_BYTES, Planned, Refused, Turn, turn};
