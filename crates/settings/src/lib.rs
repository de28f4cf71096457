//! Every setting of Tenure, and where its value came from: a flag, the environment, `config.toml`, or the default,
//! the first of these that has one. All settings stand in one `table`; each is read from text by its kind
//! (`kind`), whichever layer the text is from, so that a value means the same everywhere.
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
use tenure_core::tools::Notify;
use tenure_os::place::Variables;

/// Every setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The state root: records, output and sockets of this installation.
    pub state: PathBuf,
    /// Where the registry is.
    pub registry: Registry,
    /// Whether a client starts the daemon that it does not find.
    pub autostart: bool,
    /// Whether runs get a control group where one can be had.
    pub cgroup: bool,
    /// How much of each run's output is kept.
    pub output: Keep,
    /// Which finished runs are kept.
    pub retention: Retention,
    /// Which events are kept.
    pub events: Events,
    /// How many runs there may be.
    pub runs: Capacity,
    /// The daemon's own log.
    pub log: Log,
    /// The HTTP API beyond its socket in the state root.
    pub api: Api,
    /// Settings of the daemon itself.
    pub daemon: DaemonLife,
    /// How the right to act on runs is renewed.
    pub lease: Lease,
    /// The limits of a run that was given none.
    pub run: RunDefaults,
    /// MCP clients.
    pub mcp: Mcp,
    /// The exec tool.
    pub exec: Exec,
    /// Sessions.
    pub sessions: Sessions,
    config: Option<PathBuf>,
    agents: raw::RawTable,
    channels: raw::RawTable,
    origins: BTreeMap<&'static str, Origin>,
}

/// Where the registry is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Registry {
    /// An `SQLite` file in the state root.
    InState,
    /// This `SQLite` file.
    Sqlite(PathBuf),
}

/// Which finished runs are kept: those that every limit allows. `None` is "no limit".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// The longest time since the end.
    pub age: Option<Duration>,
    /// The most runs.
    pub count: Option<u64>,
    /// The most output, in bytes.
    pub bytes: Option<u64>,
    /// How often it is looked whether some are to go.
    pub every: Duration,
}

/// Which events are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Events {
    /// The longest.
    pub age: Option<Duration>,
    /// The most.
    pub count: Option<u64>,
}

/// How many runs there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// The most at a time.
    pub max: Option<u64>,
    /// How many more may wait for their turn; beyond that they are refused.
    pub queue: u64,
}

/// The daemon's own log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Log {
    /// How long a file may become before the next is begun, in bytes.
    pub bytes: u64,
    /// How many files are kept.
    pub files: u64,
}

/// The HTTP API beyond its socket in the state root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Api {
    /// The loopback address that it listens on as well.
    pub listen: Option<SocketAddr>,
    /// The file with the token that callers on that address must show; `None`: in the state root.
    pub token: Option<PathBuf>,
}

/// Settings of the daemon itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DaemonLife {
    /// Time without a sign of life after which the warden replaces the daemon; `None` is "never".
    pub replace_after: Option<Duration>,
}

/// How the right to act on runs is renewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// How long it holds after the last heartbeat.
    pub ttl: Duration,
    /// How often it is renewed.
    pub heartbeat: Duration,
}

/// MCP clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mcp {
    /// What becomes of a client's runs when it leaves.
    pub on_leave: OnLeave,
}

/// What becomes of the runs of a client that leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnLeave {
    /// They are ended.
    End,
    /// They go on.
    Keep,
}

/// The limits of a run that was given none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunDefaults {
    /// From its start to its end.
    pub timeout: Option<Duration>,
    /// From SIGTERM to SIGKILL.
    pub grace: Duration,
    /// How long it goes on without a daemon.
    pub orphan_grace: Duration,
}

impl RunDefaults {
    /// The limits of a run that may take as long as it likes, also silently.
    pub fn without_time_limits(&self) -> Limits {
        Limits { grace: self.grace, orphan_grace: self.orphan_grace, ..Limits::default() }
    }
}

/// The exec tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exec {
    /// What it may run.
    pub mode: Mode,
    /// When a person is asked first.
    pub ask: Ask,
    /// How long a command may take.
    pub timeout: Option<Duration>,
    /// How long a command is waited for before it goes on in the background.
    pub yield_after: Duration,
    /// Whether its end there is told.
    pub notify: Notify,
    /// How long a question to a person can be answered.
    pub approval: Duration,
}

/// Sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sessions {
    /// Which sessions a session may see.
    pub visibility: Visibility,
    /// Which agents may reach which others.
    pub agent_to_agent: AgentToAgent,
    /// How many may stand above one.
    pub depth: u64,
    /// How many children of one may be open at a time.
    pub children: u64,
    /// How many messages may wait for one that is busy.
    pub queue: u64,
    /// The longest that closed ones are kept.
    pub age: Option<Duration>,
    /// The most closed ones that are kept.
    pub count: Option<u64>,
}

impl Sessions {
    /// How many there may be below one.
    pub fn limits(&self) -> SpawnLimits {
        let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        SpawnLimits { depth: count(self.depth), children: count(self.children) }
    }
}

impl Settings {
    /// The settings of an installation where nothing is set.
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
            run: RunDefaults { timeout: None, grace: defaults::GRACE, orphan_grace: defaults::ORPHAN_GRACE },
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

    /// Reads all layers. A flag is the key of its setting with its text.
    pub fn load(flags: &[(&str, &str)]) -> Result<Self, BadSettings> {
        Self::load_with(flags, &|name| std::env::var_os(name))
    }

    /// Reads all layers, with these variables instead of this process's.
    pub fn load_with(flags: &[(&str, &str)], variables: Variables<'_>) -> Result<Self, BadSettings> {
        layers::load(flags, variables)
    }

    /// Reads all layers as far as they can be used, with defaults for the rest; returns what is wrong beside. For commands
    /// that look, stop or repair: a mistake must not keep anybody from that.
    pub fn load_leniently() -> Result<(Self, Vec<BadSettings>), BadSettings> {
        layers::load_leniently(&|name| std::env::var_os(name))
    }

    /// How the leases are renewed.
    pub fn rhythm(&self) -> Rhythm {
        Rhythm { ttl: self.lease.ttl, heartbeat: self.lease.heartbeat }
    }

    /// Which agents may reach which others.
    pub fn agent_to_agent(&self) -> AgentToAgent {
        self.sessions.agent_to_agent.clone()
    }

    /// The registry's database.
    pub fn database(&self) -> PathBuf {
        match &self.registry {
            Registry::InState => self.state.join("tenure.db"),
            Registry::Sqlite(path) => path.clone(),
        }
    }

    /// The file with the API's token.
    pub fn api_token(&self) -> PathBuf {
        self.api.token.clone().unwrap_or_else(|| self.state.join("api-token"))
    }

    /// The configuration file that was looked for, whether it is there or not.
    pub fn config(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    /// The tables `[agents.NAME]` of the configuration file, as they are written.
    pub fn agents(&self) -> &raw::RawTable {
        &self.agents
    }

    /// The tables `[channels.NAME]` of the configuration file, as they are written.
    pub fn channels(&self) -> &raw::RawTable {
        &self.channels
    }

    /// Where a setting's value came from; the key is as in `config.toml`, with a dot after the section.
    pub fn origin(&self, key: &str) -> &Origin {
        self.origins.get(key).unwrap_or(&Origin::Default)
    }

    /// Every setting as people read it.
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

    /// The variables that hold paths, with absolute ones: for a process that starts in another directory.
    pub fn pinned(&self) -> Vec<(&'static str, String)> {
        let from_env = |key: &str| matches!(self.origin(key), Origin::Environment(_));
        let paths = table::TABLE.iter().filter(|setting| setting.is_path && from_env(setting.key));
        let config = self.config.iter().filter(|_| from_env("config")).filter_map(|path| path.to_str());
        let config = config.map(|path| ("TENURE_CONFIG", path.to_owned()));
        paths.map(|setting| (setting.env.name(), (setting.show)(self))).chain(config).collect()
    }
}
