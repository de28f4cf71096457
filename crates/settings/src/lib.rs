//! The settings of Tenure, and the origin of each value: a flag, the environment, `config.toml`, or the default,
//! the first of these that has one. All settings are in one `table`; each is parsed from text by its kind (`kind`),
//! whatever the layer, so that a value means the same everywhere.
#![forbid(unsafe_code)]

pub mod described;
mod file;
mod kind;
mod layers;
mod origin;
pub mod raw;
mod table;
#[cfg(test)]
mod tests;

pub use kind::size;
pub use origin::{BadSettings, Origin, Shown};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tenure_core::defaults;
use tenure_core::lease::Rhythm;
use tenure_core::limits::Limits;
use tenure_core::output::Keep;
use tenure_core::policy::{Ask, Mode};
use tenure_core::session::{AgentToAgent, SpawnLimits, Visibility};
use tenure_core::spec::{RunOptions, Spec};
use tenure_core::tools::Notify;
use tenure_os::place::Variables;

/// All settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The state root: records, output and sockets of this installation.
    pub state: PathBuf,
    /// The location of the registry.
    pub registry: Registry,
    /// True if a client starts a missing daemon.
    pub autostart: bool,
    /// True if runs get a control group where possible.
    pub cgroup: bool,
    /// The amount of each run's output that is kept.
    pub output: Keep,
    /// The retention of finished runs.
    pub retention: Retention,
    /// The retention of events.
    pub events: Events,
    /// The maximum number of runs.
    pub runs: Capacity,
    /// The daemon's own log.
    pub log: Log,
    /// The HTTP API beyond its socket in the state root.
    pub api: Api,
    /// The settings of the daemon itself.
    pub daemon: DaemonLife,
    /// The renewal of leases.
    pub lease: Lease,
    /// The default limits of a run.
    pub run: Limits,
    /// The settings for MCP clients.
    pub mcp: Mcp,
    /// The settings of the exec tool.
    pub exec: Exec,
    /// The settings of sessions.
    pub sessions: Sessions,
    config: Option<PathBuf>,
    agents: raw::RawTable,
    channels: raw::RawTable,
    origins: BTreeMap<&'static str, Origin>,
}

/// The location of the registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Registry {
    /// An `SQLite` file in the state root.
    InState,
    /// This `SQLite` file.
    Sqlite(PathBuf),
}

/// The retention of finished runs: a run is kept as long as no limit is exceeded. `None` is "no limit".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// The longest time since the end.
    pub age: Option<Duration>,
    /// The maximum number of runs.
    pub count: Option<u64>,
    /// The maximum output, in bytes.
    pub bytes: Option<u64>,
    /// The interval between two cleanups.
    pub every: Duration,
}

/// The retention of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Events {
    /// The longest time.
    pub age: Option<Duration>,
    /// The maximum number.
    pub count: Option<u64>,
}

/// The maximum number of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// The maximum number of concurrent runs.
    pub max: Option<u64>,
    /// The maximum number of queued runs; more are refused.
    pub queue: u64,
}

/// The daemon's own log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Log {
    /// The maximum size of a file, in bytes.
    pub bytes: u64,
    /// The maximum number of files.
    pub files: u64,
}

/// The HTTP API beyond its socket in the state root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Api {
    /// The loopback address to listen on, in addition.
    pub listen: Option<SocketAddr>,
    /// The file of the token for that address; `None` is the default in the state root.
    pub token: Option<PathBuf>,
}

/// Settings of the daemon itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DaemonLife {
    /// Time without a sign of life after which the warden replaces the daemon; `None` is "never".
    pub replace_after: Option<Duration>,
}

/// The renewal of leases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// The time that a lease holds after the last heartbeat.
    pub ttl: Duration,
    /// The interval between two heartbeats.
    pub heartbeat: Duration,
}

/// The settings for MCP clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mcp {
    /// The treatment of a client's runs when it disconnects.
    pub on_leave: OnLeave,
}

/// The treatment of the runs of a client that disconnects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnLeave {
    /// The runs are ended.
    End,
    /// The runs go on.
    Keep,
}

/// The settings of the exec tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exec {
    /// The commands that it may run.
    pub mode: Mode,
    /// The cases in which a person must approve.
    pub ask: Ask,
    /// The time limit of a command.
    pub timeout: Option<Duration>,
    /// The time that a command is waited for before it goes on in the background.
    pub yield_after: Duration,
    /// The cases in which the end of a background command is told.
    pub notify: Notify,
    /// The time until a request for approval expires.
    pub approval: Duration,
}

/// The settings of sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sessions {
    /// The sessions that a session may see.
    pub visibility: Visibility,
    /// The rules by which agents may reach other agents.
    pub agent_to_agent: AgentToAgent,
    /// The maximum number of ancestors of a session.
    pub depth: u64,
    /// The maximum number of open children of a session.
    pub children: u64,
    /// The maximum number of queued messages of a busy session.
    pub queue: u64,
    /// The longest retention of closed sessions.
    pub age: Option<Duration>,
    /// The maximum number of closed sessions kept.
    pub count: Option<u64>,
}

impl Sessions {
    /// Returns the limits on the sessions below a session.
    pub fn limits(&self) -> SpawnLimits {
        let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        SpawnLimits { depth: count(self.depth), children: count(self.children) }
    }
}

impl Settings {
    /// Returns the settings of an installation without any explicit ones.
    pub fn defaults(state: PathBuf) -> Self {
        Self {
            state,
            registry: Registry::InState,
            autostart: true,
            cgroup: true,
            output: Keep::default(),
            retention: Retention {
                age: Some(defaults::KEEP_RUNS_FOR),
                count: Some(defaults::KEEP_RUNS),
                bytes: Some(defaults::KEEP_RUN_BYTES),
                every: defaults::TIDY_EVERY,
            },
            events: Events { age: Some(defaults::KEEP_EVENTS_FOR), count: Some(defaults::KEEP_EVENTS) },
            runs: Capacity { max: None, queue: defaults::RUN_QUEUE },
            log: Log { bytes: defaults::LOG_BYTES, files: defaults::LOG_FILES },
            api: Api { listen: None, token: None },
            daemon: DaemonLife { replace_after: Some(defaults::REPLACE_AFTER) },
            lease: Lease { ttl: defaults::LEASE_TTL, heartbeat: defaults::HEARTBEAT },
            run: Limits::default(),
            mcp: Mcp { on_leave: OnLeave::End },
            exec: Exec {
                mode: Mode::Full,
                ask: Ask::Off,
                timeout: Some(defaults::EXEC_TIMEOUT),
                yield_after: defaults::EXEC_YIELD,
                notify: Notify::Auto,
                approval: defaults::APPROVAL,
            },
            sessions: Sessions {
                visibility: Visibility::Tree,
                agent_to_agent: AgentToAgent::default(),
                depth: defaults::SESSION_DEPTH as u64,
                children: defaults::SESSION_CHILDREN as u64,
                queue: defaults::SESSION_QUEUE as u64,
                age: Some(defaults::KEEP_SESSIONS_FOR),
                count: Some(defaults::KEEP_SESSIONS),
            },
            config: None,
            agents: raw::RawTable::new(),
            channels: raw::RawTable::new(),
            origins: BTreeMap::new(),
        }
    }

    /// Loads all layers. A flag is the key of its setting with its text.
    pub fn load(flags: &[(&str, &str)]) -> Result<Self, BadSettings> {
        Self::load_with(flags, &|name| std::env::var_os(name))
    }

    /// Loads all layers, with these variables instead of this process's.
    pub fn load_with(flags: &[(&str, &str)], variables: Variables<'_>) -> Result<Self, BadSettings> {
        layers::load(flags, variables)
    }

    /// Loads all layers as far as they are usable, with defaults for the rest; returns the mistakes too. For
    /// commands that look, stop or repair, which a mistake must not prevent.
    pub fn load_leniently() -> Result<(Self, Vec<BadSettings>), BadSettings> {
        layers::load_leniently(&|name| std::env::var_os(name))
    }

    /// A spec with the options that hold where nothing else is asked for.
    pub fn spec(&self) -> Spec {
        let options = RunOptions { limits: self.run.clone(), keep: self.output, ..RunOptions::default() };
        Spec { cgroup: self.cgroup, options, ..Spec::default() }
    }

    /// Returns the timing of the leases.
    pub fn rhythm(&self) -> Rhythm {
        Rhythm { ttl: self.lease.ttl, heartbeat: self.lease.heartbeat }
    }

    /// Returns the rules by which agents may reach other agents.
    pub fn agent_to_agent(&self) -> AgentToAgent {
        self.sessions.agent_to_agent.clone()
    }

    /// Returns the registry's database.
    pub fn database(&self) -> PathBuf {
        match &self.registry {
            Registry::InState => self.state.join("tenure.db"),
            Registry::Sqlite(path) => path.clone(),
        }
    }

    /// Returns the file with the API's token.
    pub fn api_token(&self) -> PathBuf {
        self.api.token.clone().unwrap_or_else(|| self.state.join("api-token"))
    }

    /// Returns the configuration file, which may be missing.
    pub fn config(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    /// Returns the tables `[agents.NAME]` of the configuration file, as they are written.
    pub fn agents(&self) -> &raw::RawTable {
        &self.agents
    }

    /// Returns the tables `[channels.NAME]` of the configuration file, as they are written.
    pub fn channels(&self) -> &raw::RawTable {
        &self.channels
    }

    /// Returns the origin of a setting's value; the key is as in `config.toml`, with a dot after the section.
    pub fn origin(&self, key: &str) -> &Origin {
        self.origins.get(key).unwrap_or(&Origin::Default)
    }

    /// Returns every setting for people.
    pub fn shown(&self) -> Vec<Shown> {
        let show = |setting: &table::Setting| Shown {
            key: setting.key,
            variable: setting.env.name(),
            value: (setting.show)(self),
            origin: self.origin(setting.key).clone(),
            about: setting.about,
        };
        table::TABLE.iter().map(show).collect()
    }

    /// Returns the variables with paths, made absolute: for a process that starts in another directory.
    pub fn pinned(&self) -> Vec<(&'static str, String)> {
        let from_env = |key: &str| matches!(self.origin(key), Origin::Environment(_));
        let paths = table::TABLE.iter().filter(|setting| setting.is_path && from_env(setting.key));
        let config = self.config.iter().filter(|_| from_env("config")).filter_map(|path| path.to_str());
        let config = config.map(|path| ("TENURE_CONFIG", path.to_owned()));
        paths.map(|setting| (setting.env.name(), (setting.show)(self))).chain(config).collect()
    }
}
