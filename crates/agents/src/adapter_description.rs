//! Description of an ACP adapter: a process of an agent that lives for many turns and speaks the Agent Client Protocol
//! on its pipes. Read from `[agents.NAME.acp]`.

use crate::agent_description::{Silence, acts_unasked};
use crate::description_layers::{ACP, Described, Layers, command};
use crate::environment::{ENV, ENV_PASS, ENV_REMOVE, Environment};
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

/// Description of an agent's ACP adapter. [`adapters`] reads and checks it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adapter {
    /// Name of the agent.
    pub name: AgentId,
    /// Program: a name to look up in PATH, or an absolute path.
    pub command: String,
    /// Arguments, passed unchanged.
    pub args: Vec<String>,
    /// Environment of the process.
    pub env: Environment,
    /// Time limit of a turn; `None` means no limit.
    pub timeout: Option<Duration>,
    /// Limit of a turn's silence while none of its processes works.
    pub silence: Silence,
    /// Policy for the agent's permission requests, if the description sets one. A session that another spawns gets no
    /// more than this.
    pub permissions_given: Option<Permissions>,
    /// Values for opening a session.
    pub session: SessionSetup,
    /// Time after which an idle adapter is ended; `None` keeps it.
    pub idle: Option<Duration>,
    /// True if Tenure reads and writes files for the agent; false if the agent does that itself.
    pub serves_files: bool,
    /// Instructions to install the adapter.
    pub install: Option<String>,
}

/// Values for opening a session of an ACP agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSetup {
    /// Mode to set after the session was opened.
    pub mode: Option<String>,
    /// Id of the login method, if the agent needs one.
    pub auth: Option<String>,
    /// Model for sessions that name none.
    pub model: Option<String>,
}

impl Adapter {
    /// Returns the policy for the agent's permission requests.
    pub fn permissions(&self) -> Permissions {
        self.permissions_given.unwrap_or(Permissions::ApproveReads)
    }

    /// Returns the first argument that lets the agent act without asking, if the description has one.
    pub fn acts_unasked(&self) -> Option<String> {
        acts_unasked(&self.command, self.args.iter().map(String::as_str))
    }

    /// Returns the silence limit of a turn with this time limit; `None` means no limit.
    pub fn no_output(&self, timeout: Option<Duration>) -> Option<Duration> {
        // A turn in a running process may think as long as one in a fresh process.
        self.silence.limit(Begins::Fresh, timeout)
    }

    /// Returns the program and its arguments.
    pub fn argv(&self) -> Result<Argv, BadSpec> {
        let words = std::iter::once(&self.command).chain(&self.args);
        Argv::new(words.map(|word| word.clone().into_bytes()).collect())
    }
}

/// Returns the descriptions of all adapters: the built-in ones and those of the config file. `given` is the file's
/// `agents` table.
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
        permissions_given,
        session: SessionSetup {
            mode: id(table, "mode")?,
            auth: id(table, "auth")?,
            model: id(table, "model")?,
        },
        idle: limit(table, "idle", defaults::ADAPTER_IDLE)?,
        serves_files: table.word("files", &[("served", true), ("own", false)], true)?,
        install: table.text("install")?.map(str::to_owned),
    })
}

/// Reads a time limit; `None` means no limit.
pub(crate) fn limit(table: &Table<'_>, key: &str, otherwise: Duration) -> Result<Option<Duration>, BadAgent> {
    Ok(match table.length(key)? {
        Length::NotGiven => Some(otherwise),
        Length::Off => None,
        Length::Of(limit) => Some(limit),
    })
}

/// Reads the silence limit of a turn.
pub(crate) fn silence(table: &Table<'_>) -> Result<Silence, BadAgent> {
    Ok(match table.length("no-output-timeout")? {
        Length::NotGiven => Silence::Default,
        Length::Off => Silence::Unlimited,
        Length::Of(limit) => Silence::After(limit),
    })
}

/// Reads an id that the agent defines: of a mode, a login method or a model.
fn id(table: &Table<'_>, key: &str) -> Result<Option<String>, BadAgent> {
    match table.text(key)? {
        Some("") => Err(table.bad(key, "it is empty: write an id, or leave it out")),
        text => Ok(text.map(str::to_owned)),
    }
}
