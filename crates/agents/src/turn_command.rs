//! Command of one turn of a CLI agent.

use crate::agent_description::{Agent, PromptChannel, Silence, Terminal};
use crate::environment::Environment;
use crate::session::AgentSession;
use crate::template::{Argument, Place, Template};
use std::path::Path;
use std::time::Duration;
use tenure_core::limits::Activity;
use tenure_core::session::AgentId;
use tenure_core::spec::{Argv, BadSpec};
use tenure_core::watchdog::Begins;

/// Maximum length of an argument. Linux takes 128 KiB with the final NUL.
pub const ARGUMENT_BYTES: usize = (128 << 10) - 1;

/// Turn to plan.
#[derive(Debug, Clone, Copy)]
pub struct Turn<'a> {
    /// Prompt for the agent.
    pub prompt: &'a str,
    /// Session to resume; `None` starts a new one.
    pub resume: Option<&'a AgentSession>,
    /// Working directory. Agents find their sessions by it, so a resumed turn needs that of the session's first turn.
    pub cwd: &'a Path,
    /// Model; `None` uses that of the description.
    pub model: Option<&'a str>,
    /// Time limit; `None` uses that of the description.
    pub timeout: Option<Duration>,
}

/// Command of a turn, and its limits.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnCommand {
    /// Program and its arguments.
    pub argv: Argv,
    /// Input to write to stdin before it is closed; `None` closes it at once.
    pub stdin: Option<Vec<u8>>,
    /// Environment of the process.
    pub env: Environment,
    /// Kind of its standard streams.
    pub terminal: Terminal,
    /// Start of the turn: fresh or resumed.
    pub begins: Begins,
    /// Time limit; `None` means no limit.
    pub timeout: Option<Duration>,
    /// Silence limit; `None` means no limit.
    pub no_output: Option<Duration>,
    /// Activity that counts against silence.
    pub activity: Activity,
    /// Scope that allows one process per agent session. `None` for a new session, whose id is not known yet.
    pub scope: Option<String>,
}

/// Reason why a turn cannot be planned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadTurn {
    /// The prompt is empty.
    #[error("the prompt is empty: write what {agent} is to do")]
    Empty {
        /// Agent of the turn.
        agent: AgentId,
    },
    /// The agent's description has no arguments that resume a session.
    #[error("{agent} cannot resume a session: start a new one, or set agents.{agent}.resume in config.toml")]
    CannotResume {
        /// Agent of the turn.
        agent: AgentId,
    },
    /// The system does not accept an argument of this length.
    #[error(
        "an argument with the prompt has {bytes} bytes, and the limit is {ARGUMENT_BYTES}: \
         set agents.{agent}.prompt = \"stdin\" in config.toml if the agent can read it there"
    )]
    TooLong {
        /// Agent of the turn.
        agent: AgentId,
        /// Length of the argument.
        bytes: usize,
    },
    /// The agent would read a value as an option.
    #[error(
        "the {what} begins with a dash, and {agent} would read it as an option: put something before it, \
         or name it in the template, as in --prompt={{prompt}}"
    )]
    LikeAnOption {
        /// Agent of the turn.
        agent: AgentId,
        /// Name of the value.
        what: &'static str,
    },
    /// The system does not accept the command.
    #[error(transparent)]
    Spec(#[from] BadSpec),
}

/// Plans a turn.
pub fn turn(agent: &Agent, turn: &Turn<'_>) -> Result<TurnCommand, BadTurn> {
    let name = || agent.name.clone();
    if turn.prompt.trim().is_empty() {
        return Err(BadTurn::Empty { agent: name() });
    }
    let (begins, arguments) = match turn.resume {
        None => (Begins::Fresh, &agent.fresh),
        Some(_) => {
            (Begins::Resumed, agent.resume.as_ref().ok_or_else(|| BadTurn::CannotResume { agent: name() })?)
        }
    };
    let mut words = vec![agent.command.clone().into_bytes()];
    let values = Values { agent, turn };
    for argument in arguments {
        values.put(argument, &mut words)?;
    }
    let timeout = turn.timeout.or(agent.limits.timeout);
    Ok(TurnCommand {
        argv: Argv::new(words)?,
        stdin: (agent.prompt == PromptChannel::Stdin).then(|| turn.prompt.as_bytes().to_vec()),
        env: agent.env.clone(),
        terminal: agent.terminal,
        begins,
        timeout,
        no_output: agent.no_output(begins, timeout),
        activity: if agent.limits.silence == Silence::Unlimited {
            Activity::Output
        } else {
            agent.limits.activity
        },
        scope: turn.resume.map(|session| format!("cli:{}:{session}", agent.name.as_str())),
    })
}

/// Values of the placeholders in one turn.
struct Values<'a> {
    agent: &'a Agent,
    turn: &'a Turn<'a>,
}

impl<'a> Values<'a> {
    fn of(&self, place: Place) -> Option<&'a [u8]> {
        let model = || self.turn.model.or(self.agent.model.as_deref());
        match place {
            Place::Prompt => Some(self.turn.prompt.as_bytes()),
            Place::Session => self.turn.resume.map(|session| session.as_str().as_bytes()),
            Place::Cwd => Some(self.turn.cwd.as_os_str().as_encoded_bytes()),
            Place::Model => model().map(str::as_bytes),
        }
    }

    fn put(&self, argument: &Argument, words: &mut Vec<Vec<u8>>) -> Result<(), BadTurn> {
        let filled = match argument {
            Argument::Extra => Some(self.agent.extra.iter().map(|word| word.clone().into_bytes()).collect()),
            Argument::Word(word) => word.fill(|place| self.of(place)).map(|word| vec![word]),
            Argument::Group(group) => group.iter().map(|word| word.fill(|place| self.of(place))).collect(),
        };
        let filled: Vec<Vec<u8>> = filled.unwrap_or_default();
        // Arguments after `--` are not options.
        let may_be_option = !words.iter().any(|word| word == b"--");
        for (template, word) in argument.words().iter().zip(&filled) {
            self.check(template, word, may_be_option)?;
        }
        words.extend(filled);
        Ok(())
    }

    fn check(&self, template: &Template, word: &[u8], may_be_option: bool) -> Result<(), BadTurn> {
        let agent = || self.agent.name.clone();
        if word.len() > ARGUMENT_BYTES {
            return Err(BadTurn::TooLong { agent: agent(), bytes: word.len() });
        }
        let named = [(Place::Prompt, "prompt"), (Place::Model, "model")];
        let begun = named.into_iter().find(|(place, _)| template.begins_with(*place));
        match begun {
            Some((_, what)) if may_be_option && word.starts_with(b"-") => {
                Err(BadTurn::LikeAnOption { agent: agent(), what })
            }
            _ => Ok(()),
        }
    }
}
