//! What a turn starts: a process of the agent's command, or a command line by the exec tool's rules.

use super::answer;
use super::caller_env::CallerEnv;
use crate::asked::{self, Asked, Process};
use crate::daemon::Daemon;
use crate::refusal::Refusal;
use std::path::Path;
use std::time::Duration;
use tenure_agents::{Agent, AgentSession, Environment, Planned, Terminal, Turn as AgentTurn};
use tenure_core::defaults;
use tenure_core::ids::RunId;
use tenure_core::limits::Limits;
use tenure_core::session::{AgentId, Backend, SessionKey};
use tenure_core::spec::{PtyCommand, Size, Spec, Transport};
use tenure_core::task::Progress;
use tenure_store::{Session, Turn};

/// What a turn starts, and how what comes of it is read.
pub(super) struct Job {
    pub(super) asked: Asked,
    /// What its standard input gets before it ends.
    pub(super) stdin: Option<Vec<u8>>,
    pub(super) reads: Reads,
}

/// How what comes of a turn is read.
pub(super) enum Reads {
    /// As the agent's description says.
    Agent {
        agent: Box<Agent>,
        /// How long it may be silent.
        silence: Option<Duration>,
    },
    /// As the output of a command.
    Command,
}

/// Only what carries out turns takes messages.
pub(super) fn check_takes_messages(key: &SessionKey, backend: Backend) -> Result<(), Refusal> {
    match backend {
        Backend::Cli | Backend::Exec | Backend::Acp => Ok(()),
        Backend::Run => Err(Refusal::wrong_state(format!(
            "session {key} is carried on elsewhere: Tenure holds its runs, and nothing here reads messages to it"
        ))),
    }
}

impl Daemon {
    /// The description of an agent's command, if it has one. One that cannot be used is an error, and nothing else takes
    /// its place.
    pub(super) fn find_described(&self, name: &AgentId) -> Result<Option<Agent>, Refusal> {
        let file = self.settings.config().unwrap_or(Path::new("config.toml"));
        let mut all = tenure_agents::agents(file, self.settings.agents());
        match all.remove(name.as_str()) {
            Some(described) => described.map(Some).map_err(Refusal::invalid),
            None => Ok(None),
        }
    }

    /// The description of an agent's command, which must be there.
    pub(super) fn described(&self, name: &AgentId) -> Result<Agent, Refusal> {
        self.find_described(name)?.ok_or_else(|| {
            let file = self.settings.config().unwrap_or(Path::new("config.toml"));
            let all = tenure_agents::agents(file, self.settings.agents());
            let known = all.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            Refusal::invalid(format!(
                "there is no agent {name} with a command: there are {known}; describe it in config.toml as \
                 [agents.{name}], or use backend exec"
            ))
        })
    }

    /// What an agent has said last in the turn whose output is here; nothing, if there is no such agent.
    pub(crate) async fn agent_said(&self, name: &AgentId, dir: &Path) -> Progress {
        let Ok(agent) = self.described(name) else { return Progress::default() };
        let dir = dir.to_owned();
        let reading = tokio::task::spawn_blocking(move || answer::so_far(&dir, &agent));
        reading.await.unwrap_or_default()
    }

    /// What a turn starts, as the run with this id.
    pub(super) async fn job(&self, session: &Session, turn: &Turn, run: RunId) -> Result<Job, Refusal> {
        let row = &session.row;
        check_takes_messages(&row.key, row.backend)?;
        if row.backend == Backend::Exec {
            let asked = self.command_of_turn(row, &turn.asked.message, run).await?;
            return Ok(Job { asked, stdin: None, reads: Reads::Command });
        }
        let Some(name) = &row.agent else {
            return Err(Refusal::wrong_state(format!(
                "session {} has no agent to carry out its turns",
                row.key
            )));
        };
        self.agent_job(self.described(name)?, session, turn, run)
    }

    fn agent_job(&self, agent: Agent, session: &Session, turn: &Turn, run: RunId) -> Result<Job, Refusal> {
        let row = &session.row;
        let mut process = asked::handed_down(&self.state_text());
        if let Some(cwd) = &row.work.cwd {
            process.cwd = cwd.clone().into_bytes();
        }
        let cwd = String::from_utf8_lossy(&process.cwd).into_owned();
        let resume = session.resume.as_deref().filter(|_| agent.resume.is_some());
        let resume = resume.map(AgentSession::new).transpose().map_err(Refusal::invalid)?;
        let planned = tenure_agents::turn(
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
        dress(&mut process, &planned.env, self.caller_envs.of(&row.key).as_deref())?;
        let spec = self.spec(&planned, process, session.label.as_ref());
        let asked = Asked::of_session(&row.key, Backend::Cli, run, spec)?;
        let reads = Reads::Agent { agent: Box::new(agent), silence: planned.no_output };
        Ok(Job { asked, stdin: planned.stdin, reads })
    }

    fn spec(&self, planned: &Planned, process: Process, label: Option<&String>) -> Spec {
        let (cols, rows) = defaults::PTY_SIZE;
        let command = planned.argv.clone();
        let transport = match planned.terminal {
            Terminal::Pipes => Transport::Pipes { command, stdin: planned.stdin.is_some() },
            Terminal::Pty => Transport::Pty { command: PtyCommand::Argv(command), size: Size { cols, rows } },
        };
        let limits = Limits {
            overall: planned.timeout,
            no_output: planned.no_output,
            activity: planned.activity,
            ..self.settings.run.without_time_limits()
        };
        Spec { scope: planned.scope.clone(), label: label.cloned(), ..process.spec(transport, limits) }
    }
}

/// Gives an agent the environment that its description says: of the caller's variables, if a caller sent them, or else of
/// the daemon's own.
pub(crate) fn dress(
    process: &mut Process,
    environment: &Environment,
    caller: Option<&CallerEnv>,
) -> Result<(), Refusal> {
    let mut names: Vec<String> = environment.set.keys().cloned().collect();
    match caller {
        Some(caller) => {
            for (name, value) in caller.iter() {
                process.set(name, value)?;
                names.push(name.to_owned());
            }
        }
        None => {
            for (name, value) in asked::own_variables().filter(|(name, _)| environment.passes(name)) {
                process.set(&name, &value)?;
            }
        }
    }
    for (name, value) in &environment.set {
        process.set(name, value)?;
    }
    process.env.retain(|entry| {
        let name = entry.split(|&b| b == b'=').next().unwrap_or_default();
        !std::str::from_utf8(name).is_ok_and(|name| environment.removes(name))
    });
    names.sort_unstable();
    names.dedup();
    process.env_names = names;
    Ok(())
}
