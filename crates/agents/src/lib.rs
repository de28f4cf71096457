//! Sessions and the agents behind them. [`Agents`] carries out turns: by a CLI agent's command, by an ACP adapter, or by
//! a command line.
//!
//! Descriptions are pure data. For CLI agents such as `claude -p` or `codex exec`: the description
//! (`agent_description`, read by `agent_config`), the command of one turn (`turn_command`), and the reader of its output
//! (`output_reader`). For ACP adapters: the description (`adapter_description`). The built-in descriptions are in
//! `builtin/`; `description_layers` merges `config.toml` over them.
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
pub use agent::{Agent, Output, PromptGoes, Read, Silence, Span, Terminal, TurnLimits};
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
