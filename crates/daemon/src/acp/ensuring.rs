//! Having an adapter there for a session: the one that is alive, if it can be gone on with, or a new one. Never two: a new
//! one is noted before there is one, in the session's scope, and what was there before is gone first.

use super::adapter::Adapter;
use super::joining::NotJoined;
use crate::asked::{self, Asked};
use crate::daemon::{Daemon, lock};
use crate::held::Held;
use crate::refusal::Refusal;
use crate::requester::Requester;
use crate::sessions::dress;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tenure_acp::opening::begun_anew;
use tenure_agents::Adapter as Description;
use tenure_core::ids::RunId;
use tenure_core::session::{AgentId, Backend, Permissions, SessionRow};
use tenure_core::spec::{Spec, Transport};
use tenure_core::talk::OpenTalk;
use tenure_os::{clock, pause, random};
use tenure_store::Session;
use tokio::time::{Instant, sleep};

/// How long a run of ours may take to be held after this daemon's start.
const ADOPTION: Duration = Duration::from_secs(30);
/// How often it is looked whether it is.
const LOOK: Duration = Duration::from_millis(100);

/// The scope in which a session's adapter is.
fn scope(row: &SessionRow) -> String {
    format!("acp:{}", row.key)
}

/// Where a session's agent works.
pub(super) fn root_of(row: &SessionRow) -> PathBuf {
    PathBuf::from(row.work.cwd.clone().unwrap_or_else(asked::home))
}

/// How the agent of a session is answered when it asks before it does something.
pub(super) fn permissions_of(row: &SessionRow, description: &Description) -> Permissions {
    row.work.permissions.unwrap_or(description.permissions)
}

impl Daemon {
    /// Whether somebody is asked what the agent of a session may do.
    pub(super) fn asks_somebody(&self, row: &SessionRow) -> bool {
        self.description_of(row).is_ok_and(|it| permissions_of(row, &it) == Permissions::Ask)
    }

    /// The description of an agent's adapter.
    pub(crate) fn adapter_of(&self, name: &AgentId) -> Result<Description, Refusal> {
        let all = self.adapters.described(&self.settings);
        if let Some(described) = all.get(name.as_str()) {
            return described.clone().map_err(Refusal::invalid);
        }
        let known = all.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        Err(Refusal::invalid(format!(
            "there is no agent {name} with an ACP adapter: there are {known}; describe it in config.toml as \
             [agents.{name}.acp]"
        )))
    }

    /// Whether an agent's adapter is described, well or badly.
    pub(crate) fn has_adapter(&self, name: &AgentId) -> bool {
        self.adapters.described(&self.settings).contains_key(name.as_str())
    }

    /// Every agent with an adapter, and the bare name of its program.
    pub(crate) fn adapters_described(&self) -> Vec<(AgentId, String)> {
        let all = self.adapters.described(&self.settings).values().flatten();
        let bare = |command: &str| command.rsplit('/').next().unwrap_or(command).to_owned();
        all.map(|description| (description.name.clone(), bare(&description.command))).collect()
    }

    /// The adapter of a session, with its conversation open. Whoever stops waiting for it leaves one that the next one uses.
    pub(crate) async fn ensure_adapter(self: &Arc<Self>, session: Session) -> Result<Arc<Adapter>, Refusal> {
        let daemon = Arc::clone(self);
        let ensuring = tokio::spawn(async move {
            let _gate = daemon.adapters.gates.turn(session.row.key.as_str()).await;
            daemon.find_or_start(&session).await
        });
        ensuring.await.map_err(Refusal::internal)?
    }

    async fn find_or_start(self: &Arc<Self>, session: &Session) -> Result<Arc<Adapter>, Refusal> {
        let key = &session.row.key;
        let known = self.adapters.get(key).filter(|adapter| !adapter.is_over());
        if let Some(adapter) = known.as_ref().filter(|it| !it.owes_an_answer.load(Ordering::Relaxed)) {
            adapter.was_used();
            return Ok(Arc::clone(adapter));
        }
        let Some(open) = self.registry.open_talk(key.clone()).await? else {
            return self.start_adapter(session).await;
        };
        if self.is_wedged(&open).await? {
            self.let_go_of(key, &open.talk.run, "it has not answered before").await?;
            return self.start_adapter(session).await;
        }
        if let Some(adapter) = known.filter(|adapter| adapter.run == open.talk.run) {
            adapter.owes_an_answer.store(false, Ordering::Relaxed);
            adapter.was_used();
            return Ok(adapter);
        }
        if let Some(held) = self.adapter_run(&open.talk.run).await? {
            let joined = self.join(session, &open, held).await;
            return self.or_begin_anew(session, joined).await;
        }
        self.hear_out(&open).await?;
        self.start_adapter(session).await
    }

    /// Whether an adapter has left a turn without an answer that nobody waits for any more.
    async fn is_wedged(&self, open: &OpenTalk) -> Result<bool, Refusal> {
        let turns = open.questions.iter().filter_map(|line| line.asks.as_ref()?.turn.as_ref());
        let active = self.registry.active_turn(open.talk.session.clone()).await?.map(|turn| turn.asked.id);
        Ok(turns.into_iter().any(|turn| Some(turn) != active.as_ref()))
    }

    /// The run of an adapter, if it is alive and ours. One that is not held yet is waited for.
    pub(super) async fn adapter_run(&self, run: &RunId) -> Result<Option<Arc<Held>>, Refusal> {
        let deadline = Instant::now() + ADOPTION;
        loop {
            if let Some(held) = self.held(run).filter(|held| !held.status().is_over()) {
                return Ok(Some(held));
            }
            match self.registry.run(run.clone()).await? {
                None => return Ok(None),
                Some(row) if row.ending.is_some() => return Ok(None),
                Some(row) if row.hold.instance != self.instance => {
                    return Err(Refusal::held_elsewhere(format!("the adapter {run} is another instance's")));
                }
                Some(_) if Instant::now() > deadline => {
                    return Err(Refusal::keeper_silent(format!(
                        "the adapter {run} is alive, but its keeper does not answer: `tenure why {run}` tells more"
                    )));
                }
                Some(_) => sleep(LOOK).await,
            }
        }
    }

    /// Starts an adapter for a session that has none.
    async fn start_adapter(self: &Arc<Self>, session: &Session) -> Result<Arc<Adapter>, Refusal> {
        let joined = self.start_and_join(session).await;
        self.or_begin_anew(session, joined).await
    }

    /// Begins a new conversation in another process if the agent died or hung while it loaded the one before.
    async fn or_begin_anew(
        self: &Arc<Self>,
        session: &Session,
        joined: Result<Arc<Adapter>, NotJoined>,
    ) -> Result<Arc<Adapter>, Refusal> {
        let why = match joined {
            Ok(ensured) => return Ok(ensured),
            Err(NotJoined::Refused(refusal)) => return Err(refusal),
            Err(NotJoined::NotLoaded(why)) => why,
        };
        let anew = Session { resume: None, ..session.clone() };
        match self.start_and_join(&anew).await {
            Ok(adapter) => {
                adapter.handle.note_bad_load();
                self.adapters.note_bad_load(session.row.agent.as_ref());
                lock(&adapter.notes).insert(0, begun_anew(Some(&why)));
                Ok(adapter)
            }
            Err(NotJoined::Refused(refusal)) => Err(refusal),
            Err(NotJoined::NotLoaded(why)) => Err(Refusal::wrong_state(why)),
        }
    }

    async fn start_and_join(self: &Arc<Self>, session: &Session) -> Result<Arc<Adapter>, NotJoined> {
        let row = &session.row;
        let description = self.description_of(row)?;
        let run = RunId::from_random(random::bytes().map_err(Refusal::internal)?);
        let asked = self.adapter_asked(session, &description, run.clone())?;
        if !self.registry.begin_talk(run.clone(), row.key.clone(), clock::unix_ms()).await? {
            let why = format!("session {} has an adapter that is not over", row.key);
            return Err(Refusal::wrong_state(why).into());
        }
        pause::point("daemon-acp-talk-begun");
        let who = Requester::Operator { about: format!("the adapter of session {}", row.key) };
        let started = self.start(asked, who.to_string(), None).await;
        let held = match started {
            Ok(held) => held,
            Err(refusal) => {
                self.registry.end_talk(run, clock::unix_ms()).await?;
                return Err(refusal.into());
            }
        };
        held.set_tracked(false);
        let Some(open) = self.registry.open_talk(row.key.clone()).await? else {
            return Err(Refusal::wrong_state(format!("session {} was closed", row.key)).into());
        };
        self.join(session, &open, held).await
    }

    pub(super) fn description_of(&self, row: &SessionRow) -> Result<Description, Refusal> {
        let Some(name) = &row.agent else {
            return Err(Refusal::wrong_state(format!("session {} has no agent", row.key)));
        };
        self.adapter_of(name)
    }

    fn adapter_asked(
        &self,
        session: &Session,
        description: &Description,
        run: RunId,
    ) -> Result<Asked, Refusal> {
        let row = &session.row;
        let mut process = asked::handed_down(&self.state_text());
        process.cwd = tenure_os::text::bytes(root_of(row));
        dress(&mut process, &description.env, self.caller_envs.of(&row.key).as_deref())?;
        let command = description.argv().map_err(Refusal::invalid)?;
        let limits = self.settings.run.without_time_limits();
        let spec = Spec {
            scope: Some(scope(row)),
            label: session.label.clone(),
            ..process.spec(Transport::Pipes { command, stdin: true }, limits)
        };
        Asked::of_session(&row.key, Backend::Acp, run, spec)
    }
}
