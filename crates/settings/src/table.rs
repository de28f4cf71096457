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
    "autostart"        Negates("TENURE_NO_AUTOSTART"), Switch, autostart, "whether the daemon starts on first use";
    "cgroup"           Is("TENURE_CGROUP"), Switch, cgroup, "whether runs get a cgroup where one can be had";
    "output.head"      Is("TENURE_OUTPUT_HEAD"), Size, output.head, "the first bytes of a run's output that are kept";
    "output.tail"      Is("TENURE_OUTPUT_TAIL"), Size, output.tail, "the last bytes of a run's output that are kept";
    "retention.age"    Is("TENURE_RETENTION_AGE"), Off<Length>, retention.age, "how long finished runs are kept";
    "retention.count"  Is("TENURE_RETENTION_COUNT"), Off<Count>, retention.count, "how many finished runs are kept";
    "retention.bytes"  Is("TENURE_RETENTION_BYTES"), Off<Size>, retention.bytes, "how much of their output is kept";
    "retention.every"  Is("TENURE_RETENTION_EVERY"), Length, retention.every, "how often finished runs and old events are looked through";
    "events.age"       Is("TENURE_EVENTS_AGE"), Off<Length>, events.age, "how long events are kept";
    "events.count"     Is("TENURE_EVENTS_COUNT"), Off<Count>, events.count, "how many events are kept";
    "runs.max"         Is("TENURE_RUNS_MAX"), Off<Count>, runs.max, "how many runs there may be at a time";
    "runs.queue"       Is("TENURE_RUNS_QUEUE"), Count, runs.queue, "how many more may wait for their turn";
    "log.bytes"        Is("TENURE_LOG_BYTES"), Size, log.bytes, "how long one file of the daemon's log may become";
    "log.files"        Is("TENURE_LOG_FILES"), Count, log.files, "how many files of it are kept";
    "api.listen"       Is("TENURE_API_LISTEN"), Off<Loopback>, api.listen, "the API's address beside its socket";
    "api.token"        Is("TENURE_API_TOKEN"), OwnOr, api.token, "the file with that address's token; default: api-token in the state root";
    "daemon.replace-after" Is("TENURE_DAEMON_REPLACE_AFTER"), Off<Length>, daemon.replace_after, "how long a daemon may show no sign of life before its warden replaces it";
    "lease.ttl"        Is("TENURE_LEASE_TTL"), Length, lease.ttl, "how long a lease holds after a heartbeat";
    "lease.heartbeat"  Is("TENURE_HEARTBEAT"), Length, lease.heartbeat, "how often leases are renewed";
    "run.timeout"      Is("TENURE_RUN_TIMEOUT"), Off<Length>, run.overall, "how long a run may take";
    "run.grace"        Is("TENURE_RUN_GRACE"), Length, run.grace, "from SIGTERM to SIGKILL";
    "mcp.on-leave"     Is("TENURE_MCP_ON_LEAVE"), Word<OnLeave>, mcp.on_leave, "what becomes of an MCP client's runs when it leaves: end or keep";
    "exec.mode"        Is("TENURE_EXEC_MODE"), Word<Mode>, exec.mode, "what the exec tool may run: deny, allowlist, ask or full";
    "exec.ask"         Is("TENURE_EXEC_ASK"), Word<Ask>, exec.ask, "when a person is asked first: off, on-miss or always";
    "exec.timeout"     Is("TENURE_EXEC_TIMEOUT"), Off<Length>, exec.timeout, "how long a command of the exec tool may take";
    "exec.yield"       Is("TENURE_EXEC_YIELD"), Length, exec.yield_after, "how long exec waits before a command goes on in the background";
    "exec.notify"      Is("TENURE_EXEC_NOTIFY"), Word<Notify>, exec.notify, "whether the end in the background is told: auto, always or never";
    "exec.approval"    Is("TENURE_EXEC_APPROVAL"), Length, exec.approval, "how long a question to a person can be answered";
    "sessions.visibility" Is("TENURE_SESSIONS_VISIBILITY"), Word<Visibility>, sessions.visibility, "which sessions a session may see: self, tree, agent or all";
    "sessions.agent-to-agent" Is("TENURE_SESSIONS_AGENT_TO_AGENT"), Switch, sessions.agent_to_agent.enabled, "whether visibility all reaches other agents";
    "sessions.agent-to-agent-allow" Is("TENURE_SESSIONS_AGENT_TO_AGENT_ALLOW"), Routes, sessions.agent_to_agent.allow, "which agents reach which: REQUESTER->TARGET with commas between them, or none";
    "sessions.depth"   Is("TENURE_SESSIONS_DEPTH"), Count, sessions.depth, "how many sessions may stand above a session";
    "sessions.children" Is("TENURE_SESSIONS_CHILDREN"), Count, sessions.children, "how many children of one session may be open at a time";
    "sessions.queue"   Is("TENURE_SESSIONS_QUEUE"), Count, sessions.queue, "how many messages may wait for a session that is busy";
    "sessions.age"     Is("TENURE_SESSIONS_AGE"), Off<Length>, sessions.age, "how long closed sessions are kept";
    "sessions.count"   Is("TENURE_SESSIONS_COUNT"), Off<Count>, sessions.count, "how many closed sessions are kept";
    "run.orphan-grace" Is("TENURE_RUN_ORPHAN_GRACE"), Length, run.orphan_grace, "how long a run goes on without a daemon";
}
