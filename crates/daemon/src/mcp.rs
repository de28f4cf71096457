//! MCP clients. Each acts as a session of its own. When the last client of a session disconnects, the daemon ends the
//! session's runs, unless the settings say otherwise. A shutdown of the daemon does not count: the next daemon gives the
//! clients time to reconnect.

mod client_cleanup;

use crate::daemon::Daemon;
use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use tenure_core::api::Problem;
use tenure_core::ids::InstanceId;
use tenure_core::receipt::ToolReply;
use tenure_core::tools::sessions::{SessionsReply, SessionsRequest};
use tenure_core::tools::tasks::{TasksReply, TasksRequest};
use tenure_core::tools::{
    ClientRequest, ExecReply, ExecRequest, MCP_SESSION, ProcessReply, ProcessRequest, is_made_by, mcp_session,
};
use tenure_mcp::{Handle, Progress, Terms, Tools};
use tenure_os::random;
use tenure_settings::OnLeave;
use tenure_supervisor::Refusal;
use tenure_supervisor::Requester;
use tenure_supervisor::start_request::{CallerProcess, session_key};
use tenure_supervisor::sync::lock;
use tenure_supervisor::sync::until;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;

/// Number of connected clients of each session.
#[derive(Debug, Default)]
pub(crate) struct Clients(Mutex<HashMap<String, usize>>);

impl Clients {
    fn add(&self, session: &str) {
        *lock(&self.0).entry(session.to_owned()).or_default() += 1;
    }

    /// Removes a client. Returns true if it was the last of its session.
    fn remove(&self, session: &str) -> bool {
        let mut all = lock(&self.0);
        let Some(count) = all.get_mut(session) else { return true };
        *count -= 1;
        let last = *count == 0;
        if last {
            all.remove(session);
        }
        last
    }

    fn has(&self, session: &str) -> bool {
        lock(&self.0).contains_key(session)
    }
}

/// A connected client. Dropping the last one of a session starts the cleanup.
struct Connected {
    daemon: Arc<Daemon>,
    session: String,
    /// True if the session's runs end when its last client disconnects.
    ends: bool,
    /// True if the session can have runs: it had a client before, or this one has called a tool.
    used: AtomicBool,
    /// Closes when the client disconnects.
    alive: watch::Sender<()>,
}

impl Connected {
    fn begin(daemon: &Arc<Daemon>, session: String, ends: bool, used: bool) -> Arc<Self> {
        daemon.clients.add(&session);
        let (used, alive) = (AtomicBool::new(used), watch::Sender::new(()));
        Arc::new(Self { daemon: Arc::clone(daemon), session, ends, used, alive })
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        let last = self.daemon.clients.remove(&self.session);
        let ends = self.ends && self.daemon.supervisor.settings.mcp.on_leave == OnLeave::End;
        if !last
            || !ends
            || !self.used.load(Ordering::Relaxed)
            || self.daemon.supervisor.lifecycle.is_draining()
        {
            return;
        }
        // Without a runtime the daemon has already exited.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (daemon, session) = (Arc::clone(&self.daemon), self.session.clone());
        runtime.spawn(async move { daemon.clean_up_session(session).await });
    }
}

/// Returns the session of the HTTP clients that have no MCP session.
pub(crate) fn stateless_session(instance: &InstanceId) -> String {
    format!("{MCP_SESSION}{instance}")
}

/// The tools of one client.
#[derive(Clone)]
pub(crate) struct Client {
    who: Requester,
    /// Directory and environment for the client's commands. `None`: the daemon's own cleaned environment.
    process: Option<CallerProcess>,
    client: Arc<Connected>,
}

impl Client {
    /// Creates a client that has a process on this machine.
    pub(crate) fn local(
        daemon: &Arc<Daemon>,
        request: ClientRequest,
        from_cli: bool,
        who: &Requester,
    ) -> Result<Self, Refusal> {
        let named: Option<String> = session_key(request.session_key.as_ref())?.map(Into::into);
        let ends = match (&named, who.only_session()) {
            // The client's own run would be among those that end.
            (Some(named), Some(own)) if named == own => false,
            (Some(named), Some(own)) if !is_made_by(named, own) => {
                let why = format!("a process of session {own} cannot act as session {named}");
                return Err(Refusal::forbidden(why));
            }
            _ => true,
        };
        let process =
            request.process.map(|process| CallerProcess::of(&process, from_cli, who)).transpose()?;
        let used = named.is_some();
        let session = match named {
            Some(named) => named,
            None => mcp_session(random::bytes().map_err(Refusal::internal)?, who.only_session()),
        };
        let maker = who.only_session().filter(|own| *own != session).and_then(|own| own.parse().ok());
        let about = format!("an MCP client, {who}");
        let who = Requester::Client { session: session.clone(), maker, about };
        let client = Connected::begin(daemon, session, ends, used);
        Ok(Self { who, process, client })
    }

    /// Creates a client over HTTP.
    pub(crate) fn over_http(daemon: &Arc<Daemon>) -> io::Result<Self> {
        let session = mcp_session(random::bytes()?, None);
        let about = "an MCP client over HTTP".to_owned();
        let who = Requester::client(session.clone(), about);
        Ok(Self { who, process: None, client: Connected::begin(daemon, session, true, false) })
    }

    /// Creates the one client that stands for all HTTP clients without an MCP session. Its session is the same for the next
    /// daemon, because these clients do not notice a restart.
    pub(crate) fn without_session(daemon: &Arc<Daemon>) -> Self {
        let session = stateless_session(&daemon.supervisor.instance);
        let who = Requester::client(session.clone(), "an MCP client over HTTP".to_owned());
        Self { who, process: None, client: Connected::begin(daemon, session, true, true) }
    }

    /// Returns the session that the client acts as.
    pub(crate) fn session(&self) -> &str {
        &self.client.session
    }

    fn daemon(&self) -> &Arc<Daemon> {
        self.client.used.store(true, Ordering::Relaxed);
        &self.client.daemon
    }
}

impl Tools for Client {
    fn terms(&self) -> Terms {
        let settings = &self.client.daemon.supervisor.settings;
        let ends = self.client.ends && settings.mcp.on_leave == OnLeave::End;
        Terms { yield_after: settings.exec.yield_after, ends }
    }

    async fn exec(
        &self,
        request: ExecRequest,
        progress: impl Fn(Progress) + Send + Sync + 'static,
    ) -> Result<ToolReply<ExecReply>, Problem> {
        if let Some(process) = &request.process {
            CallerProcess::of(process, false, &self.who).map_err(|refusal| refusal.problem())?;
        }
        let caller = (self.process.clone(), &self.who);
        self.daemon().exec(request, caller, progress).await.map_err(|refusal| refusal.problem())
    }

    async fn process(&self, request: ProcessRequest) -> Result<ToolReply<ProcessReply>, Problem> {
        self.daemon().process(request, &self.who).await.map_err(|refusal| refusal.problem())
    }

    async fn sessions(&self, request: SessionsRequest) -> Result<ToolReply<SessionsReply>, Problem> {
        self.daemon().agents.sessions(request, (None, &self.who)).await.map_err(|refusal| refusal.problem())
    }

    async fn tasks(&self, request: TasksRequest) -> Result<TasksReply, Problem> {
        self.daemon().tasks(request, &self.who).await.map_err(|refusal| refusal.problem())
    }

    fn connected(&self, handle: Handle) {
        let mut ended = self.client.daemon.supervisor.events.ended_execs.subscribe();
        let mut alive = self.client.alive.subscribe();
        let session = self.client.session.clone();
        tokio::spawn(async move {
            loop {
                let event = tokio::select! {
                    event = ended.recv() => event,
                    // The channel never sends: it closes when the client disconnects.
                    () = until(&mut alive, |()| false) => return,
                };
                match event {
                    Ok(event) if event.session.as_deref() == Some(&session) => {
                        handle.notice(event.detail["text"].as_str().unwrap_or_default()).await;
                    }
                    // Missed events are in the event log.
                    Ok(_) | Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return,
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_client_of_a_session_ends_it() {
        let clients = Clients::default();
        clients.add("a");
        clients.add("a");
        clients.add("b");
        assert!(!clients.remove("a"));
        assert!(clients.has("a"));
        assert!(clients.remove("a"));
        assert!(!clients.has("a") && clients.has("b"));
    }
}
