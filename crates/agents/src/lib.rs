//! Agents. CLI agents such as `claude -p` or `codex exec`: how each is described (`agent`, `describe`), what is started
//! for one turn (`turn`), and what its output says (`reader`). ACP adapters: how each is described (`adapter`). The
//! built-in descriptions are in `builtin/`; `layers` lays `config.toml` over them. All of it is computed: nothing here
//! starts a process, reads a file or knows the time.
#![forbid(unsafe_code)]

mod adapter;
mod agent;
mod describe;
mod environment;
mod layers;
mod lines;
mod reader;
mod rule;
mod session;
mod template;
mod turn;

pub use adapter::{Adapter, adapters};
pub use agent::{Agent, Output, PromptGoes, Read, Silence, Span, Terminal};
pub use describe::agents;
pub use environment::Environment;
pub use layers::{BUILT_IN, Described};
pub use reader::{Answer, Event, LINE_BYTES, Reader, Told, Untold, Usage};
pub use rule::Rule;
pub use session::{AgentSession, BadAgentSession};
pub use template::{Argument, Template};
pub use tenure_settings::described::BadTable as BadAgent;
pub use turn::{ARGUMENT_BYTES, Planned, Refused, Turn, turn};
