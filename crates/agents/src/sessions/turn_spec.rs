//! Plans the run of a turn: a process of the agent's command, or a command line by the exec tool's rules.

use super::caller_env::CallerEnv;
use super::cli_turn_result;
use crate::Agents;
use crate::{Agent, AgentSession, Environment, Terminal, Turn as AgentTurn};
use std::path::Path;
use std::time::Duration;
use tenure_core::defaults;
use tenure_core::ids::RunId;
use tenure_core::session::{AgentId, Backend, SessionKey};
use tenure_core::spec::Spec;
use tenure_core::task::Progress;
use tenure_store::{Session, Turn};
use tenure_supervisor::Refusal;
use tenure_supervisor::start_request::{self, StartRequest, set_variable};

/// The run of a turn, and the reader of its output.
pub(crate) struct TurnSpec {
    pub(crate) request: StartRequest,
    /// The input, after which stdin is closed.
    pub(crate) stdin: Option<Vec<u8>>,
    pub(crate) reads: TurnOutput,
}

/// The way to read a turn's output.
pub(crate) enum TurnOutput {
    /// By the agent's description.
    Agent {
        agent: Box<Agent>,
        /// The silence limit.
        silence: Option<Duration>,
    },
    /// As a command's output.
    Command,
}

/// Checks that a session takes messages: one that is run elsewhere does not.
pub(crate) fn check_takes_messages(key: &SessionKey, backend: Backend) -> Result<(), Refusal> {
    match backend {
        Backend::Cli | Backend::Exec | Backend::Acp => Ok(()),
        Backend::Run => Err(Refusal::wrong_state(format!(
            "session {key} takes no messages: another program runs it, and Tenure only supervises its runs"
        ))),
    }
}

impl Agents {
    /// Returns the progress of the agent's turn with this output directory; empty if there is no such agent.
    pub async fn cli_progress(&self, name: &AgentId, dir: &Path) -> Progress {
        let Ok(agent) = agent_description(self, name) else { return Progress::default() };
        let dir = dir.to_owned();
        let reading = tokio::task::spawn_blocking(move || cli_turn_result::progress(&dir, &agent));
        reading.await.unwrap_or_default()
    }
}

/// Returns the description of an agent's command, if there is one. An invalid one is an error.
pub(crate) fn find_description(agents: &Agents, name: &AgentId) -> Result<Option<Agent>, Refusal> {
    let file = agents.supervisor.settings.config().unwrap_or(Path::new("config.toml"));
    let mut all = crate::agents(file, agents.supervisor.settings.agents());
    match all.remove(name.as_str()) {
        Some(described) => described.map(Some).map_err(Refusal::invalid),
        None => Ok(None),
    }
}

/// Returns the description of an agent's command.
pub(crate) fn agent_description(agents: &Agents, name: &AgentId) -> Result<Agent, Refusal> {
    find_description(agents, name)?.ok_or_else(|| {
        let file = agents.supervisor.settings.config().unwrap_or(Path::new("config.toml"));
        let all = crate::agents(file, agents.supervisor.settings.agents());
        let known = all.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        Refusal::invalid(format!(
            "there is no agent {name} with a command: the configured ones are {known}; describe it in config.toml as \
                 [agents.{name}], or use backend exec"
        ))
    })
}

/// Plans the run of a turn, with this id.
pub(crate) async fn job(
    agents: &Agents,
    session: &Session,
    turn: &Turn,
    run: RunId,
) -> Result<TurnSpec, Refusal> {
    let row = &session.row;
    check_takes_messages(&row.key, row.backend)?;
    if row.backend == Backend::Exec {
        let request = agents.approvals.command_of_turn(row, &turn.asked.message, run).await?;
        return Ok(TurnSpec { request, stdin: None, reads: TurnOutput::Command });
    }
    let Some(name) = &row.agent else {
        return Err(Refusal::wrong_state(format!("session {} has no agent to carry out its turns", row.key)));
    };
    agent_job(agents, agent_description(agents, name)?, session, turn, run)
}

fn agent_job(
    agents: &Agents,
    agent: Agent,
    session: &Session,
    turn: &Turn,
    run: RunId,
) -> Result<TurnSpec, Refusal> {
    let row = &session.row;
    let mut spec = agents.supervisor.inherited_spec();
    if let Some(cwd) = &row.work.cwd {
        spec.cwd = cwd.clone().into_bytes();
    }
    let cwd = String::from_utf8_lossy(&spec.cwd).into_owned();
    let resume = session.resume.as_deref().filter(|_| agent.resume.is_some());
    let resume = resume.map(AgentSession::new).transpose().map_err(Refusal::invalid)?;
    let planned = crate::turn(
        &agent,
        &AgentTurn {
            prompt: &turn.asked.message,
            resume: resume.as_ref(),
            cwd: Path::new(&cwd),
            model: row.work.model.as_deref(),
            timeout: row.work.timeout_ms.map(Duration::from_millis),
        },
    )
    .map_err(Refusal::invalid)?;
    set_environment(&mut spec, &planned.env, agents.caller_envs.of(&row.key).as_deref())?;
    spec.argv = planned.argv;
    let options = &mut spec.options;
    (options.scope, options.label) = (planned.scope, session.label.clone());
    match planned.terminal {
        Terminal::Pipes => options.stdin = planned.stdin.is_some(),
        Terminal::Pty => options.use_terminal(defaults::PTY_SIZE),
    }
    let limits = &mut options.limits;
    (limits.overall, limits.no_output) = (planned.timeout, planned.no_output);
    limits.activity = planned.activity;
    let request = StartRequest::of_session(&row.key, Backend::Cli, run, spec)?;
    let reads = TurnOutput::Agent { agent: Box::new(agent), silence: planned.no_output };
    Ok(TurnSpec { request, stdin: planned.stdin, reads })
}

/// Sets the environment that an agent's description defines: from the caller's variables if a caller sent them, else from
/// the daemon's own.
pub(crate) fn set_environment(
    spec: &mut Spec,
    environment: &Environment,
    caller: Option<&CallerEnv>,
) -> Result<(), Refusal> {
    let mut names: Vec<String> = environment.set.keys().cloned().collect();
    match caller {
        Some(caller) => {
            for (name, value) in caller.iter() {
                set_variable(&mut spec.env, name, value)?;
                names.push(name.to_owned());
            }
        }
        None => {
            for (name, value) in start_request::own_variables().filter(|(name, _)| environment.passes(name)) {
                set_variable(&mut spec.env, &name, &value)?;
            }
        }
    }
    for (name, value) in &environment.set {
        set_variable(&mut spec.env, name, value)?;
    }
    spec.env.retain(|entry| {
        let name = entry.split(|&b| b == b'=').next().unwrap_or_default();
        !std::str::from_utf8(name).is_ok_and(|name| environment.removes(name))
    });
    names.sort_unstable();
    names.dedup();
    spec.options.env_names = names;
    Ok(())
}
