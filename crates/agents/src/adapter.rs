//! The description of an ACP adapter: a process of an agent that goes on from turn to turn and speaks the Agent Client
//! Protocol on its pipes. Read from `[agents.NAME.acp]`.

use crate::agent::{Silence, acts_unasked};
use crate::environment::{ENV, ENV_PASS, ENV_REMOVE, Environment};
use crate::layers::{ACP, Described, Layers, command};
use std::path::Path;
use std::time::Duration;
use tenure_core::defaults;
use tenure_core::session::{AgentId, Permissions};
use tenure_core::spec::{Argv, BadSpec};
use tenure_core::watchdog::Begins;
use tenure_settings::described::{BadTable as BadAgent, Length, Table, literal};
use tenure_settings::raw::RawTable;

const KEYS: [&str; 14] = [
    "command",
    "args",
    ENV,
    ENV_PASS,
    ENV_REMOVE,
    "timeout",
    "no-output-timeout",
    "permissions",
    "mode",
    "auth",
    "model",
    "idle",
    "files",
    "install",
];

/// An agent's ACP adapter. Made by [`adapters`], which checks it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adapter {
    /// What people call the agent.
    pub name: AgentId,
    /// The program: a name to look for, or an absolute path.
    pub command: String,
    /// Its arguments, as they are.
    pub args: Vec<String>,
    /// What it sees of the environment.
    pub env: Environment,
    /// How long a turn may take; `None` is "no limit".
    pub timeout: Option<Duration>,
    /// How long a turn may be silent while no process of it works.
    pub silence: Silence,
    /// How it is answered when it asks before it does something.
    pub permissions: Permissions,
    /// The permissions that the description sets, if it does: a session that another spawns gets no more than these.
    pub permissions_given: Option<Permissions>,
    /// The mode that is set after a session was opened.
    pub mode: Option<String>,
    /// The way to log in, if it wants one.
    pub auth: Option<String>,
    /// The model, where a session names none.
    pub model: Option<String>,
    /// How long it is kept while it has nothing to do; `None` keeps it.
    pub idle: Option<Duration>,
    /// Whether its files are read and written by us; otherwise it does that itself.
    pub serves_files: bool,
    /// How people get it.
    pub install: Option<String>,
}

impl Adapter {
    /// Returns the argument by which the agent acts without asking anybody, if its description has one.
    pub fn acts_unasked(&self) -> Option<String> {
        acts_unasked(&self.command, self.args.iter().map(String::as_str))
    }

    /// How long a turn with this time limit may be silent; `None` is "no limit".
    pub fn no_output(&self, timeout: Option<Duration>) -> Option<Duration> {
        // A turn in a process that is there may think as long as a fresh one.
        self.silence.limit(Begins::Fresh, timeout)
    }

    /// The program and its arguments.
    pub fn argv(&self) -> Result<Argv, BadSpec> {
        let words = std::iter::once(&self.command).chain(&self.args);
        Argv::new(words.map(|word| word.clone().into_bytes()).collect())
    }
}

/// Every adapter there is: the built-in ones and those that the file describes. `given` are its tables below `agents`.
pub fn adapters(file: &Path, given: &RawTable) -> Described<Adapter> {
    Layers::new(file, given).each(|name, table| {
        let is_given = table.values.contains_key(ACP);
        is_given.then(|| adapter(name.clone(), &table.table(ACP)?)).transpose()
    })
}

fn adapter(name: AgentId, table: &Table<'_>) -> Result<Adapter, BadAgent> {
    table.known(&KEYS)?;
    let permissions: Vec<_> = Permissions::ALL.iter().map(|word| (word.word(), *word)).collect();
    let permissions_given = match table.text("permissions")? {
        Some(_) => Some(table.word("permissions", &permissions, Permissions::ApproveReads)?),
        None => None,
    };
    Ok(Adapter {
        name,
        command: command(table, "args")?,
        args: table.each("args", table.array("args")?.unwrap_or_default(), literal)?,
        env: Environment::read(table)?,
        timeout: limit(table, "timeout", defaults::AGENT_TURN)?,
        silence: silence(table)?,
        permissions: permissions_given.unwrap_or(Permissions::ApproveReads),
        permissions_given,
        mode: id(table, "mode")?,
        auth: id(table, "auth")?,
        model: id(table, "model")?,
        idle: limit(table, "idle", defaults::ADAPTER_IDLE)?,
        serves_files: table.word("files", &[("served", true), ("own", false)], true)?,
        install: table.text("install")?.map(str::to_owned),
    })
}

/// How long something may take; `None` is "no limit".
pub(crate) fn limit(table: &Table<'_>, key: &str, otherwise: Duration) -> Result<Option<Duration>, BadAgent> {
    Ok(match table.length(key)? {
        Length::NotGiven => Some(otherwise),
        Length::Off => None,
        Length::Of(limit) => Some(limit),
    })
}

/// How long a turn may be silent.
pub(crate) fn silence(table: &Table<'_>) -> Result<Silence, BadAgent> {
    Ok(match table.length("no-output-timeout")? {
        Length::NotGiven => Silence::Default,
        Length::Off => Silence::Unlimited,
        Length::Of(limit) => Silence::After(limit),
    })
}

/// What the agent itself calls something.
fn id(table: &Table<'_>, key: &str) -> Result<Option<String>, BadAgent> {
    match table.text(key)? {
        Some("") => Err(table.bad(key, "it is empty: write an id, or leave it out")),
        text => Ok(text.map(str::to_owned)),
    }
}
