//! The table of settings, with a line for each.

use crate::kind::{
    Count, File, Kind, Length, Loopback, Off, OwnOr, Place, RegistryUrl, Routes, Size, Switch, Word,
};
use crate::{OnLeave, Settings};
use tenure_core::policy::{Ask, Mode};
use tenure_core::session::Visibility;
use tenure_core::tools::Notify;

/// The effect of a variable on a setting.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Env {
    /// Sets it to the variable's value.
    Is(&'static str),
    /// Sets it to the opposite of the variable's value.
    Negates(&'static str),
}

impl Env {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Env::Is(name) | Env::Negates(name) => name,
        }
    }
}

/// A setting.
#[derive(Debug)]
pub(crate) struct Setting {
    /// The key in `config.toml`, with a dot after the section.
    pub(crate) key: &'static str,
    pub(crate) env: Env,
    /// The purpose of the setting.
    pub(crate) about: &'static str,
    pub(crate) is_path: bool,
    /// Sets it from a text; the error says what to write.
    pub(crate) set: fn(&mut Settings, &str, Place<'_>) -> Result<(), String>,
    /// Returns its value, as it could be written.
    pub(crate) show: fn(&Settings) -> String,
}

macro_rules! settings {
    ($($key:literal $env:expr, $kind:ty, $($field:ident).+, $about:literal;)*) => {
        /// All settings.
        pub(crate) const TABLE: &[Setting] = &[$(Setting {
            key: $key,
            env: $env,
            about: $about,
            is_path: <$kind as Kind>::IS_PATH,
            set: |settings, text, place| {
                settings.$($field).+ = <$kind as Kind>::read(text, place)?;
                Ok(())
            },
            show: |settings| <$kind as Kind>::write(&settings.$($field).+),
        },)*];
    };
}

use Env::{Is, Negates};

settings! {
    "state"            Is("TENURE_STATE"), File, state, "records, output and sockets of this installation";
    "registry"         Is("TENURE_REGISTRY"), RegistryUrl, registry, "the registry: sqlite, sqlite:/path or /path";
    "autostart"        Negates("TENURE_NO_AUTOSTART"), Switch, autostart, "automatic start of the daemon on first use";
    "cgroup"           Is("TENURE_CGROUP"), Switch, cgroup, "a cgroup for each run, where possible";
    "output.head"      Is("TENURE_OUTPUT_HEAD"), Size, output.head, "bytes kept from the beginning of a run's output";
    "output.tail"      Is("TENURE_OUTPUT_TAIL"), Size, output.tail, "bytes kept from the end of a run's output";
    "retention.age"    Is("TENURE_RETENTION_AGE"), Off<Length>, retention.age, "age at which finished runs are removed";
    "retention.count"  Is("TENURE_RETENTION_COUNT"), Off<Count>, retention.count, "maximum number of finished runs kept";
    "retention.bytes"  Is("TENURE_RETENTION_BYTES"), Off<Size>, retention.bytes, "maximum size of the output of finished runs";
    "retention.every"  Is("TENURE_RETENTION_EVERY"), Length, retention.every, "interval between cleanups of finished runs and old events";
    "events.age"       Is("TENURE_EVENTS_AGE"), Off<Length>, events.age, "age at which events are removed";
    "events.count"     Is("TENURE_EVENTS_COUNT"), Off<Count>, events.count, "maximum number of events kept";
    "runs.max"         Is("TENURE_RUNS_MAX"), Off<Count>, runs.max, "maximum number of concurrent runs";
    "runs.queue"       Is("TENURE_RUNS_QUEUE"), Count, runs.queue, "maximum number of queued runs";
    "log.bytes"        Is("TENURE_LOG_BYTES"), Size, log.bytes, "maximum size of one file of the daemon's log";
    "log.files"        Is("TENURE_LOG_FILES"), Count, log.files, "maximum number of files of the daemon's log";
    "api.listen"       Is("TENURE_API_LISTEN"), Off<Loopback>, api.listen, "loopback address of the API, beside its socket";
    "api.token"        Is("TENURE_API_TOKEN"), OwnOr, api.token, "file with the token for api.listen; default: api-token in the state root";
    "daemon.replace-after" Is("TENURE_DAEMON_REPLACE_AFTER"), Off<Length>, daemon.replace_after, "time that a daemon may hang before its warden replaces it";
    "lease.ttl"        Is("TENURE_LEASE_TTL"), Length, lease.ttl, "time that a lease holds after a heartbeat";
    "lease.heartbeat"  Is("TENURE_HEARTBEAT"), Length, lease.heartbeat, "interval between two renewals of a lease";
    "run.timeout"      Is("TENURE_RUN_TIMEOUT"), Off<Length>, run.overall, "time limit of a run";
    "run.grace"        Is("TENURE_RUN_GRACE"), Length, run.grace, "time between SIGTERM and SIGKILL";
    "mcp.on-leave"     Is("TENURE_MCP_ON_LEAVE"), Word<OnLeave>, mcp.on_leave, "fate of an MCP client's runs when it disconnects: end or keep";
    "exec.mode"        Is("TENURE_EXEC_MODE"), Word<Mode>, exec.mode, "policy of the exec tool: deny, allowlist, ask or full";
    "exec.ask"         Is("TENURE_EXEC_ASK"), Word<Ask>, exec.ask, "approval before a command starts: off, on-miss or always";
    "exec.timeout"     Is("TENURE_EXEC_TIMEOUT"), Off<Length>, exec.timeout, "time limit of a command of the exec tool";
    "exec.yield"       Is("TENURE_EXEC_YIELD"), Length, exec.yield_after, "time that exec waits before a command continues in the background";
    "exec.notify"      Is("TENURE_EXEC_NOTIFY"), Word<Notify>, exec.notify, "notice when a background command ends: auto, always or never";
    "exec.approval"    Is("TENURE_EXEC_APPROVAL"), Length, exec.approval, "time limit for answering an approval request";
    "sessions.visibility" Is("TENURE_SESSIONS_VISIBILITY"), Word<Visibility>, sessions.visibility, "sessions that a session may see: self, tree, agent or all";
    "sessions.agent-to-agent" Is("TENURE_SESSIONS_AGENT_TO_AGENT"), Switch, sessions.agent_to_agent.enabled, "access to other agents' sessions, if visibility is all";
    "sessions.agent-to-agent-allow" Is("TENURE_SESSIONS_AGENT_TO_AGENT_ALLOW"), Routes, sessions.agent_to_agent.allow, "routes between agents: REQUESTER->TARGET, separated by commas, or none";
    "sessions.depth"   Is("TENURE_SESSIONS_DEPTH"), Count, sessions.depth, "maximum number of ancestors of a session";
    "sessions.children" Is("TENURE_SESSIONS_CHILDREN"), Count, sessions.children, "maximum number of open children of a session";
    "sessions.queue"   Is("TENURE_SESSIONS_QUEUE"), Count, sessions.queue, "maximum number of messages queued for a busy session";
    "sessions.age"     Is("TENURE_SESSIONS_AGE"), Off<Length>, sessions.age, "age at which closed sessions are removed";
    "sessions.count"   Is("TENURE_SESSIONS_COUNT"), Off<Count>, sessions.count, "maximum number of closed sessions kept";
    "run.orphan-grace" Is("TENURE_RUN_ORPHAN_GRACE"), Length, run.orphan_grace, "time that a run continues without a daemon";
}
