//! Sessions and the agents behind them. [`Agents`] carries out turns: by a CLI agent's command, by an ACP adapter, or by
//! a command line.
//!
//! Descriptions are pure data. For CLI agents such as `claude -p` or `codex exec`: the description
//! (`agent_description`, read by `agent_config`), the command of one turn (`turn_command`), and the reader of its output
//! (`output_reader`). For ACP adapters: the description (`adapter_description`). The built-in descriptions are in
//! `builtin/`; `description_layers` merges `config.toml` over them.
#![forbid(unsafe_code)]

pub mod acp;
mod adapter_description;
mod agent_config;
mod agent_description;
mod agents;
mod description_layers;
mod environment;
#[cfg(test)]
mod fixture;
mod lines;
mod output_reader;
mod rule;
mod session;
pub mod sessions;
mod template;
mod turn_command;

pub use adapter_description::{Adapter, adapters};
pub use agent_config::agents;
pub use agent_description::{Agent, Output, PromptChannel, Read, Silence, Span, Terminal, TurnLimits};
pub use agents::Agents;
pub use description_layers::{BUILT_IN, Described};
pub use environment::Environment;
pub use output_reader::{Answer, Event, LINE_BYTES, NoContent, OutputSummary, Reader, Usage};
pub use rule::Rule;
pub use session::{AgentSession, BadAgentSession};
pub use template::{Argument, Template};
pub use tenure_settings::described::BadTable as BadAgent;
pub use turn_command::{ARGUMENT_BYTES, BadTurn, Turn, TurnCommand, turn};
