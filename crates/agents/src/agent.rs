//! The description of a CLI agent.

use crate::environment::Environment;
use crate::rule::Rule;
use crate::template::Argument;
use std::time::Duration;
use tenure_core::limits::Activity;
use tenure_core::session::AgentId;
use tenure_core::watchdog::{Begins, no_output_limit};

/// A CLI agent: what to start for a turn, and how to read what it says. Made by [`crate::agents`], which checks it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// What people call it.
    pub name: AgentId,
    /// The program: a name to look for, or an absolute path.
    pub command: String,
    /// The arguments of a turn in a new session.
    pub fresh: Vec<Argument>,
    /// The arguments of a turn in a session that there is; `None` if the agent cannot go on with one.
    pub resume: Option<Vec<Argument>>,
    /// Where the prompt goes.
    pub prompt: PromptGoes,
    /// The model, where a turn names none.
    pub model: Option<String>,
    /// More arguments, put where the templates say `{extra}`.
    pub extra: Vec<String>,
    /// What it sees of the environment.
    pub env: Environment,
    /// What it is connected to.
    pub terminal: Terminal,
    /// How long a turn may take; `None` is "no limit".
    pub timeout: Option<Duration>,
    /// How long a turn may be silent.
    pub silence: Silence,
    /// What counts against silence.
    pub activity: Activity,
    /// What its standard output is.
    pub output: Output,
}

impl Agent {
    /// How long a turn with this time limit may be silent; `None` is "no limit".
    pub fn no_output(&self, begins: Begins, timeout: Option<Duration>) -> Option<Duration> {
        match self.silence {
            Silence::Default => Some(no_output_limit(begins, timeout, None)),
            Silence::After(limit) => Some(no_output_limit(begins, timeout, Some(limit))),
            Silence::Unlimited => None,
        }
    }
}

/// Where the prompt goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptGoes {
    /// To standard input, which ends after it.
    Stdin,
    /// Where the templates say `{prompt}`.
    Argument,
}

/// What an agent is connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Terminal {
    /// Three pipes.
    Pipes,
    /// A terminal of its own.
    Pty,
}

/// How long a turn may be silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silence {
    /// As long as `core::watchdog` says.
    Default,
    /// This long, within the bounds that hold for all.
    After(Duration),
    /// As long as it likes.
    Unlimited,
}

/// What an agent's standard output is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// The answer itself.
    Text,
    /// A JSON object per line.
    JsonLines(Box<Read>),
}

/// Where in the JSON lines something stands. Of several rules the first that finds something counts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Read {
    /// The agent's own name for its session.
    pub session: Vec<Rule>,
    /// A piece of a message.
    pub delta: Vec<Rule>,
    /// A message as a whole, whether it came in pieces before or not.
    pub message: Vec<Rule>,
    /// The final text; a rule without a path says that the last message was it.
    pub last: Vec<Rule>,
    /// What went wrong.
    pub error: Vec<Rule>,
    /// The tokens read.
    pub usage_input: Vec<Rule>,
    /// The tokens written.
    pub usage_output: Vec<Rule>,
    /// What the figures of the usage are for.
    pub usage_of: Span,
}

/// What a figure of usage is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Span {
    /// One step of a turn: the figures of a turn are their sum.
    Step,
    /// The turn.
    #[default]
    Turn,
    /// All turns of the session so far.
    Session,
}
