//! CLI agents such as `claude -p` or `codex exec`: how each is described (`agent`, `describe`, the built-in ones in
//! `builtin/`), what is started for one turn (`turn`), and what its output says (`reader`). All of it is computed:
//! nothing here starts a process, reads a file or knows the time.
#![forbid(unsafe_code)]

mod agent;
mod describe;
mod lines;
mod reader;
mod rule;
mod session;
mod template;
mod turn;

pub use agent::{Agent, Output, PromptGoes, Read, Silence, Span, Terminal};
pub use describe::{BUILT_IN, agents};
pub use reader::{Answer, Event, LINE_BYTES, Reader, Told, Untold, Usage};
pub use rule::Rule;
pub use session::{AgentSession, BadAgentSession};
pub use template::{Argument, Template};
pub use tenure_settings::described::BadTable as BadAgent;
pub use turn::{ARGUMENT_BYTES, Planned, Refused, Turn, turn};
