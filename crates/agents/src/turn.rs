//! What is started for one turn of an agent.

use crate::agent::{Agent, PromptGoes, Silence, Terminal};
use crate::environment::Environment;
use crate::session::AgentSession;
use crate::template::{Argument, Place, Template};
use std::path::Path;
use std::time::Duration;
use tenure_core::limits::Activity;
use tenure_core::session::AgentId;
use tenure_core::spec::{Argv, BadSpec};
use tenure_core::watchdog::Begins;

/// The longest argument that is given to a program: Linux takes 128 KiB with the NUL after it.
pub const ARGUMENT_BYTES: usize = (128 << 10) - 1;

/// One turn.
#[derive(Debug, Clone, Copy)]
pub struct Turn<'a> {
    /// What the agent is asked.
    pub prompt: &'a str,
    /// The session that it goes on with; `None` begins one.
    pub resume: Option<&'a AgentSession>,
    /// Where it works. Agents find their sessions by it: a resumed turn belongs where the session began.
    pub cwd: &'a Path,
    /// The model; `None` is the description's.
    pub model: Option<&'a str>,
    /// How long the turn may take; `None` is as the description says.
    pub timeout: Option<Duration>,
}

/// What to start, and its limits.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// The program and its arguments.
    pub argv: Argv,
    /// What its standard input gets before it ends; `None` ends it at once.
    pub stdin: Option<Vec<u8>>,
    /// What it sees of the environment.
    pub env: Environment,
    /// What it is connected to.
    pub terminal: Terminal,
    /// How the turn begins.
    pub begins: Begins,
    /// How long it may take; `None` is "no limit".
    pub timeout: Option<Duration>,
    /// How long it may be silent; `None` is "no limit".
    pub no_output: Option<Duration>,
    /// What counts against silence.
    pub activity: Activity,
    /// The scope in which only one process may be: that of the agent's session, if it is known.
    pub scope: Option<String>,
}

/// A turn that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Nothing is asked.
    #[error("the prompt is empty: say what {agent} is to do")]
    Empty {
        /// Which agent.
        agent: AgentId,
    },
    /// The agent has no way to go on with a session.
    #[error(
        "{agent} cannot go on with a session: begin a new one, or set agents.{agent}.resume in config.toml"
    )]
    CannotResume {
        /// Which agent.
        agent: AgentId,
    },
    /// An argument that the system would not take.
    #[error(
        "the prompt makes an argument of {bytes} bytes, and {ARGUMENT_BYTES} is the most: \
         set agents.{agent}.prompt = \"stdin\" in config.toml if the agent can read it there"
    )]
    TooLong {
        /// Which agent.
        agent: AgentId,
        /// How long it would be.
        bytes: usize,
    },
    /// A value that the agent would take for one of its options.
    #[error(
        "the {what} begins with a dash, and {agent} would take it for an option: put something before it, \
         or have the template say what it is, as in --prompt={{prompt}}"
    )]
    LikeAnOption {
        /// Which agent.
        agent: AgentId,
        /// Which value.
        what: &'static str,
    },
    /// A command that the system would not take.
    #[error(transparent)]
    Spec(#[from] BadSpec),
}

/// Plans a turn.
pub fn turn(agent: &Agent, turn: &Turn<'_>) -> Result<Planned, Refused> {
    let name = || agent.name.clone();
    if turn.prompt.trim().is_empty() {
        return Err(Refused::Empty { agent: name() });
    }
    let (begins, arguments) = match turn.resume {
        None => (Begins::Fresh, &agent.fresh),
        Some(_) => {
            (Begins::Resumed, agent.resume.as_ref().ok_or_else(|| Refused::CannotResume { agent: name() })?)
        }
    };
    let mut words = vec![agent.command.clone().into_bytes()];
    let values = Values { agent, turn };
    for argument in arguments {
        values.put(argument, &mut words)?;
    }
    let timeout = turn.timeout.or(agent.timeout);
    Ok(Planned {
        argv: Argv::new(words)?,
        stdin: (agent.prompt == PromptGoes::Stdin).then(|| turn.prompt.as_bytes().to_vec()),
        env: agent.env.clone(),
        terminal: agent.terminal,
        begins,
        timeout,
        no_output: agent.no_output(begins, timeout),
        activity: if agent.silence == Silence::Unlimited { Activity::Output } else { agent.activity },
        scope: turn.resume.map(|session| format!("cli:{}:{session}", agent.name.as_str())),
    })
}

/// What the places of a template hold in one turn.
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

    fn put(&self, argument: &Argument, words: &mut Vec<Vec<u8>>) -> Result<(), Refused> {
        let filled = match argument {
            Argument::Extra => Some(self.agent.extra.iter().map(|word| word.clone().into_bytes()).collect()),
            Argument::Word(word) => word.fill(|place| self.of(place)).map(|word| vec![word]),
            Argument::Group(group) => group.iter().map(|word| word.fill(|place| self.of(place))).collect(),
        };
        let filled: Vec<Vec<u8>> = filled.unwrap_or_default();
        // After `--` nothing is an option any more.
        let may_be_option = !words.iter().any(|word| word == b"--");
        for (template, word) in argument.words().iter().zip(&filled) {
            self.check(template, word, may_be_option)?;
        }
        words.extend(filled);
        Ok(())
    }

    fn check(&self, template: &Template, word: &[u8], may_be_option: bool) -> Result<(), Refused> {
        let agent = || self.agent.name.clone();
        if word.len() > ARGUMENT_BYTES {
            return Err(Refused::TooLong { agent: agent(), bytes: word.len() });
        }
        let named = [(Place::Prompt, "prompt"), (Place::Model, "model")];
        let begun = named.into_iter().find(|(place, _)| template.begins_with(*place));
        match begun {
            Some((_, what)) if may_be_option && word.starts_with(b"-") => {
                Err(Refused::LikeAnOption { agent: agent(), what })
            }
            _ => Ok(()),
        }
    }
}
