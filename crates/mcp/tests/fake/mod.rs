//! Tools that act as their command line says, and a client that speaks JSON lines.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "this is a test's")]

pub(crate) mod sessions;
pub(crate) mod tasks;

use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tenure_core::api::Problem;
use tenure_core::ids::RunId;
use tenure_core::receipt::{Receipt, ToolReply};
use tenure_core::tools::sessions::{SessionsReply, SessionsRequest};
use tenure_core::tools::tasks::{TasksReply, TasksRequest};
use tenure_core::tools::{
    Action, ExecReply, ExecRequest, FailureKind, Listed, ProcessReply, ProcessRequest, Status, Waiting,
};
use tenure_mcp::{Handle, Progress, Terms, Tools, serve_stream};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Time limit of every wait in a test.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

pub(crate) const RUN: &str = "0123456789abcdef01234567";

/// The counted events of the tools.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) begun: usize,
    pub(crate) dropped: usize,
    pub(crate) returned: usize,
    pub(crate) written: usize,
    pub(crate) gone: usize,
    pub(crate) connected: usize,
}

/// The events of all tools of a test.
#[derive(Clone)]
pub(crate) struct Log(Arc<watch::Sender<Seen>>);

impl Log {
    pub(crate) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(Seen::default())))
    }

    pub(crate) fn seen(&self) -> Seen {
        self.0.borrow().clone()
    }

    fn note(&self, change: impl FnOnce(&mut Seen)) {
        self.0.send_modify(change);
    }

    /// Waits until the condition is true.
    pub(crate) async fn until(&self, is: impl Fn(&Seen) -> bool) {
        let mut seen = self.0.subscribe();
        let waited = tokio::time::timeout(DEADLINE, seen.wait_for(|seen| is(seen))).await;
        assert!(waited.is_ok(), "this did not come: {:?}", self.seen());
    }
}

/// Counts a drop, unless it was told that all went well.
struct Dropped(Log, bool);

impl Drop for Dropped {
    fn drop(&mut self) {
        if !self.1 {
            self.0.note(|seen| seen.dropped += 1);
        }
    }
}

struct Client(Log);

impl Drop for Client {
    fn drop(&mut self) {
        self.0.note(|seen| seen.gone += 1);
    }
}

/// The tools of one client.
#[derive(Clone)]
pub(crate) struct Fake {
    log: Log,
    client: Arc<Client>,
    handle: Arc<watch::Sender<Option<Handle>>>,
}

impl Fake {
    pub(crate) fn new(log: &Log) -> Self {
        let handle = Arc::new(watch::Sender::new(None));
        Self { log: log.clone(), client: Arc::new(Client(log.clone())), handle }
    }

    /// Returns the client, once it is ready.
    pub(crate) fn handle(&self) -> watch::Receiver<Option<Handle>> {
        self.handle.subscribe()
    }

    fn answered<T>(&self, reply: T) -> ToolReply<T> {
        let log = self.log.clone();
        self.log.note(|seen| seen.returned += 1);
        ToolReply { reply, receipt: Receipt::new(move || log.note(|seen| seen.written += 1)) }
    }
}

pub(crate) fn reply(status: Status, output: &str) -> ExecReply {
    ExecReply {
        status,
        run_id: RUN.parse::<RunId>().unwrap(),
        exit_code: (status == Status::Completed).then_some(0),
        exit_signal: None,
        exit_reason: None,
        failure_kind: (status == Status::Failed).then_some(FailureKind::OverallTimeout),
        duration_ms: 12,
        output: output.to_owned(),
        truncated: false,
        next_line: None,
        next_offset: None,
        tail: String::new(),
        follow_up: None,
        warnings: Vec::new(),
    }
}

pub(crate) fn listed() -> Listed {
    Listed {
        status: Status::Running,
        run_id: RUN.parse().unwrap(),
        command: "npm start".to_owned(),
        cwd: "/".to_owned(),
        pty: false,
        session_key: None,
        pid: None,
        created_at_ms: 0,
        duration_ms: 1500,
        last_output_at_ms: None,
        exit_code: None,
        exit_signal: None,
        exit_reason: None,
        failure_kind: None,
        stdin_writable: true,
        waiting_for_input: Waiting::Yes,
        tail: String::new(),
    }
}

pub(crate) fn refused(code: &str, detail: &str) -> Problem {
    Problem { status: 409, code: code.to_owned(), title: "Conflict".to_owned(), detail: detail.to_owned() }
}

impl Tools for Fake {
    fn terms(&self) -> Terms {
        Terms { yield_after: Duration::from_secs(7), ends: false }
    }

    async fn exec(
        &self,
        request: ExecRequest,
        progress: impl Fn(Progress) + Send + Sync + 'static,
    ) -> Result<ToolReply<ExecReply>, Problem> {
        let mut guard = Dropped(self.log.clone(), false);
        self.log.note(|seen| seen.begun += 1);
        let (verb, rest) = request.command.split_once(' ').unwrap_or((&request.command, ""));
        let done = match verb {
            "echo" => Ok(reply(Status::Completed, rest)),
            "long" => Ok(reply(Status::Completed, &"x".repeat(rest.parse().unwrap()))),
            "fail" => Ok(reply(Status::Failed, rest)),
            "refuse" => Err(refused("scope-taken", rest)),
            "hang" => {
                progress(Progress { bytes: 3, line: "one".to_owned() });
                std::future::pending().await
            }
            other => panic!("no such verb: {other}"),
        };
        guard.1 = true;
        done.map(|reply| self.answered(reply))
    }

    async fn process(&self, request: ProcessRequest) -> Result<ToolReply<ProcessReply>, Problem> {
        let of_run = ProcessReply { run: Some(listed()), ..ProcessReply::default() };
        let reply = match request.action {
            Action::List => {
                let message = "one line a run".to_owned();
                ProcessReply { runs: Some(vec![listed()]), message, ..ProcessReply::default() }
            }
            Action::Poll => {
                let output = Some("new line\n".to_owned());
                ProcessReply { output, retry_in_ms: Some(5000), ..of_run }
            }
            Action::Screen => {
                let cursor = json!({"row": 1, "col": 2, "visible": true});
                let screen = json!({"cols": 80, "rows": 2, "cursor": cursor, "lines": ["a", "b"]});
                ProcessReply { screen: Some(screen), ..of_run }
            }
            _ => return Err(refused("no-such-run", "no run has this id")),
        };
        Ok(self.answered(reply))
    }

    async fn sessions(&self, request: SessionsRequest) -> Result<ToolReply<SessionsReply>, Problem> {
        let mut guard = Dropped(self.log.clone(), false);
        self.log.note(|seen| seen.begun += 1);
        if request.action == tenure_core::tools::sessions::Action::Wait
            && request.session_key.as_deref() == Some("hang")
        {
            std::future::pending::<()>().await;
        }
        guard.1 = true;
        sessions::answer(&request).map(ToolReply::plain)
    }

    async fn tasks(&self, request: TasksRequest) -> Result<TasksReply, Problem> {
        self.log.note(|seen| seen.begun += 1);
        tasks::answer(&request)
    }

    fn connected(&self, client: Handle) {
        self.handle.send_replace(Some(client));
        self.log.note(|seen| seen.connected += 1);
    }
}

/// A client on a stream.
pub(crate) struct Wire {
    read: BufReader<ReadHalf<DuplexStream>>,
    write: WriteHalf<DuplexStream>,
    pub(crate) served: JoinHandle<()>,
}

impl Wire {
    /// Connects a client that has sent nothing yet; the pipe's capacity is `holds` bytes.
    pub(crate) fn open(tools: Fake, holds: usize) -> Self {
        let (near, far) = tokio::io::duplex(holds);
        let served = tokio::spawn(serve_stream(tools, far));
        let (read, write) = tokio::io::split(near);
        Self { read: BufReader::new(read), write, served }
    }

    /// Connects a client and initializes it.
    pub(crate) async fn ready(tools: Fake, holds: usize) -> Self {
        let mut wire = Self::open(tools, holds);
        wire.send(&initialize()).await;
        assert_eq!(wire.receive().await["result"]["serverInfo"]["name"], "tenure");
        wire.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        wire
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.write.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    pub(crate) async fn receive(&mut self) -> Value {
        let mut line = String::new();
        let read = tokio::time::timeout(DEADLINE, self.read.read_line(&mut line)).await;
        read.expect("no answer").unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// Disconnects, and waits until that was noticed.
    pub(crate) async fn hang_up(self) {
        let Self { read, write, served } = self;
        drop((read, write));
        tokio::time::timeout(DEADLINE, served).await.expect("it is still served").unwrap();
    }

    /// Calls a tool and returns its result.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.send(&call(7, tool, &arguments)).await;
        let answer = self.receive().await;
        assert_eq!(answer["id"], 7, "{answer}");
        answer["result"].clone()
    }
}

pub(crate) fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}})
}

pub(crate) fn call(id: u32, tool: &str, arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

/// Returns the only text of a result.
pub(crate) fn text(result: &Value) -> &str {
    assert_eq!(result["content"].as_array().map(Vec::len), Some(1), "{result}");
    result["content"][0]["text"].as_str().unwrap()
}
