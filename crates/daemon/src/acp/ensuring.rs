//! Having an adapter there for a session: the one that is alive, if it can be gone on with, or a new one. Never two: a new
//! one is noted before there is one, in the session's scope, and what was there before is gone first.

use super::adapter::Adapter;
use super::hosting::Hosting;
use super::wants::Bounds;
use crate::asked::{self, Asked};
use crate::daemon::Daemon;
use crate::held::Held;
use crate::refusal::Refusal;
use crate::requester::Requester;
use crate::sessions::dress;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tenure_acp::driver;
use tenure_acp::handle::Handle;
use tenure_acp::history::History;
use tenure_acp::opening::{self, NotOpened, Opened, Wanted};
use tenure_agents::Adapter as Description;
use tenure_core::ids::RunId;
use tenure_core::session::{AgentId, Backend, Permissions, SessionRow};
use tenure_core::spec::{Spec, Transport};
use tenure_core::talk::OpenTalk;
use tenure_os::{clock, pause, random};
use tenure_store::{Session, Side};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

/// How long an adapter may take until its conversation is open.
const OPENING: Duration = Duration::from_mins(2);
/// How long a run of ours may take to be held after this daemon's start.
const ADOPTION: Duration = Duration::from_secs(30);
/// How often it is looked whether it is.
const LOOK: Duration = Duration::from_millis(100);
/// How many entries a turn that is gone on with may have left open, at most.
const OPEN: usize = 500;

/// An adapter, and what is otherwise than it was wanted.
pub(super) type Ensured = (Arc<Adapter>, Vec<String>);

/// The scope in which a session's adapter is.
fn scope(row: &SessionRow) -> String {
    format!("acp:{}", row.key)
}

/// Where a session's agent works.
fn root_of(row: &SessionRow) -> PathBuf {
    PathBuf::from(row.work.cwd.clone().unwrap_or_else(asked::home))
}

/// How the agent of a session is answered when it asks before it does something.
fn permissions_of(row: &SessionRow, description: &Description) -> Permissions {
    row.work.permissions.unwrap_or(description.permissions)
}

impl Daemon {
    /// Whether somebody is asked what the agent of a session may do.
    pub(super) fn asks_somebody(&self, row: &SessionRow) -> bool {
        self.description_of(row).is_ok_and(|it| permissions_of(row, &it) == Permissions::Ask)
    }

    /// The description of an agent's adapter.
    pub(crate) fn adapter_of(&self, name: &AgentId) -> Result<Description, Refusal> {
        let all = self.adapters.described(&self.settings).map_err(Refusal::invalid)?;
        all.get(name).cloned().ok_or_else(|| {
            let known = all.keys().map(AgentId::as_str).collect::<Vec<_>>().join(", ");
            Refusal::invalid(format!(
                "there is no agent {name} with an ACP adapter: there are {known}; describe it in config.toml as \
                 [agents.{name}.acp]"
            ))
        })
    }

    /// Every agent with an adapter, and the bare name of its program.
    pub(crate) fn adapters_described(&self) -> Vec<(AgentId, String)> {
        let all = self.adapters.described(&self.settings).into_iter().flatten();
        let bare = |command: &str| command.rsplit('/').next().unwrap_or(command).to_owned();
        all.map(|(name, description)| (name.clone(), bare(&description.command))).collect()
    }

    /// The adapter of a session, with its conversation open. Whoever stops waiting for it leaves one that the next one uses.
    pub(super) async fn ensure_adapter(self: &Arc<Self>, session: Session) -> Result<Ensured, Refusal> {
        let daemon = Arc::clone(self);
        let ensuring = tokio::spawn(async move {
            let _gate = daemon.adapters.gates.turn(session.row.key.as_str()).await;
            daemon.find_or_start(&session).await
        });
        ensuring.await.map_err(Refusal::internal)?
    }

    async fn find_or_start(self: &Arc<Self>, session: &Session) -> Result<Ensured, Refusal> {
        let key = &session.row.key;
        let known = self.adapters.get(key).filter(|adapter| !adapter.is_over());
        if let Some(adapter) = known.as_ref().filter(|it| !it.owes_an_answer.load(Ordering::Relaxed)) {
            adapter.was_used();
            return Ok((Arc::clone(adapter), Vec::new()));
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
            return Ok((adapter, Vec::new()));
        }
        if let Some(held) = self.adapter_run(&open.talk.run).await? {
            return self.join(session, &open, held).await;
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
    async fn start_adapter(self: &Arc<Self>, session: &Session) -> Result<Ensured, Refusal> {
        let row = &session.row;
        let description = self.description_of(row)?;
        let run = RunId::from_random(random::bytes().map_err(Refusal::internal)?);
        let asked = self.adapter_asked(session, &description, run.clone())?;
        if !self.registry.begin_talk(run.clone(), row.key.clone(), clock::unix_ms()).await? {
            return Err(Refusal::wrong_state(format!("session {} has an adapter that is not over", row.key)));
        }
        pause::point("daemon-acp-talk-begun");
        let who = Requester::Operator { about: format!("the adapter of session {}", row.key) };
        let started = self.start(asked, who.to_string(), None).await;
        let held = match started {
            Ok(held) => held,
            Err(refusal) => {
                self.registry.end_talk(run, clock::unix_ms()).await?;
                return Err(refusal);
            }
        };
        held.set_tracked(false);
        let Some(open) = self.registry.open_talk(row.key.clone()).await? else {
            return Err(Refusal::wrong_state(format!("session {} was closed", row.key)));
        };
        self.join(session, &open, held).await
    }

    fn description_of(&self, row: &SessionRow) -> Result<Description, Refusal> {
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
        dress(&mut process, &description.env)?;
        let command = description.argv().map_err(Refusal::invalid)?;
        let limits = self.settings.run.without_time_limits();
        let spec = Spec {
            scope: Some(scope(row)),
            label: session.label.clone(),
            ..process.spec(Transport::Pipes { command, stdin: true }, limits)
        };
        Asked::of_session(&row.key, Backend::Acp, run, spec)
    }

    /// Speaks with an adapter from now on: goes on where the record is, and opens the conversation if it is not.
    async fn join(
        self: &Arc<Self>,
        session: &Session,
        open: &OpenTalk,
        held: Arc<Held>,
    ) -> Result<Ensured, Refusal> {
        let row = &session.row;
        let description = self.description_of(row)?;
        let root = root_of(row);
        let bounds = Bounds {
            permissions: permissions_of(row, &description),
            root: root.clone(),
            description: description.clone(),
        };
        let wanted = Wanted {
            cwd: &root,
            resume: session.resume.as_deref(),
            model: row.work.model.as_deref().or(description.model.as_deref()),
            mode: description.mode.as_deref(),
            login: description.auth.as_deref(),
            serves_files: description.serves_files,
        };
        let (handle, over) = self.drive(row, open, held, bounds).await?;
        let opened = timeout(OPENING, opening::open(&handle, open, wanted)).await;
        let Opened { session: agent_session, notes } = match opened {
            Ok(Ok(opened)) => opened,
            Ok(Err(why)) => return Err(self.not_opened(row, &open.talk.run, &why).await),
            Err(_) => {
                let why =
                    NotOpened::Refused(format!("it did not answer within {} seconds", OPENING.as_secs()));
                return Err(self.not_opened(row, &open.talk.run, &why).await);
            }
        };
        if session.resume.as_deref() != Some(&*agent_session.0) {
            self.registry.set_resume(row.key.clone(), Some(agent_session.0.to_string())).await?;
        }
        let adapter = Arc::new(Adapter {
            run: open.talk.run.clone(),
            handle,
            session: agent_session,
            over,
            idle_since: Mutex::new(Instant::now()),
            idle: description.idle,
            owes_an_answer: AtomicBool::new(false),
        });
        self.adapters.put(row.key.clone(), Arc::clone(&adapter));
        Ok((adapter, notes))
    }

    /// Has a driver go on with a conversation; it stops when the adapter ends, or nobody has its handle any more.
    async fn drive(
        self: &Arc<Self>,
        row: &SessionRow,
        open: &OpenTalk,
        held: Arc<Held>,
        bounds: Bounds,
    ) -> Result<(Handle, watch::Receiver<bool>), Refusal> {
        let history = self.history_of(open).await?;
        let host = Hosting::new(Arc::clone(self), row.key.clone(), held, bounds);
        let (handle, driving) = driver::go_on(Arc::new(host), open, history);
        let (stopped, over) = watch::channel(false);
        let (daemon, key, run) = (Arc::clone(self), row.key.clone(), open.talk.run.clone());
        tokio::spawn(async move {
            driving.await;
            stopped.send_replace(true);
            daemon.adapter_is_over(&key, &run).await;
        });
        Ok((handle, over))
    }

    /// What can still change of the history of the turn that a conversation is in.
    pub(super) async fn history_of(&self, open: &OpenTalk) -> Result<History, Refusal> {
        let key = open.talk.session.clone();
        let newest = self.registry.entries(key, Side::Before(u64::MAX), OPEN, u64::MAX).await?;
        let turn = open.questions.iter().find_map(|line| line.asks.as_ref()?.turn.as_ref());
        let of_turn =
            newest.entries.iter().rev().filter(|entry| turn.is_some() && entry.turn.as_ref() == turn);
        Ok(History::resumed(of_turn.map(|entry| (entry.number, entry.kind.as_str(), entry.body.as_str()))))
    }

    /// Why there is no conversation, in words that help. The adapter is of no use then.
    async fn not_opened(self: &Arc<Self>, row: &SessionRow, run: &RunId, why: &NotOpened) -> Refusal {
        let name = row.agent.as_ref().map_or("the agent", AgentId::as_str);
        let said = match why {
            NotOpened::Over(_) => self.how_it_ended(run, name).await.1,
            NotOpened::Refused(_) => format!("{name}: {why}"),
            NotOpened::Unknown { .. } => {
                let advice = self.doubted(&row.key).await;
                format!("{name}: {why}; {advice}")
            }
        };
        if let Err(refusal) = self.let_go_of(&row.key, run, "its conversation was not opened").await {
            tracing::warn!(%run, why = refusal.detail, "an adapter of no use goes on");
        }
        Refusal::wrong_state(said)
    }
}
