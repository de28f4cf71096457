//! The description of the server and its tools for clients.
#![expect(
    deprecated,
    reason = "MCP drops log messages in 2026-07-28 and has nothing else for this; clients show them"
)]

use crate::schema::Hidden;
use crate::{Terms, reply_text, schema};
use rmcp::model::{Implementation, ServerCapabilities, ServerConfig, Tool, ToolAnnotations};
use std::sync::{Arc, LazyLock};
use tenure_core::tools::sessions::SessionsRequest;
use tenure_core::tools::tasks::TasksRequest;
use tenure_core::tools::{ExecReply, ExecRequest, ProcessRequest};

pub(crate) const EXEC: &str = "exec";
pub(crate) const PROCESS: &str = "process";
pub(crate) const SESSIONS: &str = "sessions";
pub(crate) const TASKS: &str = "tasks";

/// Hidden fields of `sessions`: the requester and its process. A client is bound to its session and cannot name
/// another, and it always waits for its own message.
pub(crate) const OF_SESSIONS: Hidden =
    Hidden { fields: &["as", "visibility", "sandboxed", "process", "foreground"], actions: &[] };
/// Hidden fields and actions of `tasks`: the requester, and the actions of operators.
pub(crate) const OF_TASKS: Hidden = Hidden {
    fields: &["as", "visibility", "sandboxed", "apply"],
    actions: &["retry", "acknowledge", "audit", "maintenance", "reset"],
};
/// Hidden fields of `exec` and `process`: the session.
const OF_RUNS: Hidden = Hidden { fields: &["sessionKey"], actions: &[] };

fn instructions(Terms { yield_after, ends }: Terms) -> String {
    let wait = reply_text::duration(u64::try_from(yield_after.as_millis()).unwrap_or(u64::MAX));
    let after = if ends { "are ended" } else { "go on" };
    format!(
        "Tenure runs shell commands and holds their whole process trees. `exec` runs a command line and waits for it, \
         {wait} unless `yieldMs` says otherwise; what takes longer goes on in the background and has a `runId`. Start \
         servers and watchers with `background: true`. `process` does the rest by that id: `poll` waits for new output \
         or the end, `log` shows any lines again, `write`, `send-keys`, `submit` and `paste` give input, `screen` shows \
         a terminal, `kill` ends the whole tree, `list` shows what there is. Use `pty: true` for programs that need a \
         terminal. `sessions` hands work to another agent, or to a session of commands, asks how it goes and reads what \
         came of it. `tasks` answers how anything goes that was left in the background. Commands that still run when the client leaves {after}."
    )
}

const ABOUT_EXEC: &str = "\
Runs a command line in the user's shell and returns its output. Waits `yieldMs` for the end; after that, or at once with \
`background`, the command goes on and the answer has status `running` and a `runId` for `process`. A non-zero exit code \
is status `completed`; `failed` means that it did not get to its end.";

const ABOUT_PROCESS: &str = "\
Works with commands that `exec` started: list them, poll for new output or the end, read the log, give input, see the \
terminal, kill. Every action but `list` needs `runId`.";

const ABOUT_SESSIONS: &str = "\
Hands work to another agent, or to a session of commands, and follows it. `spawn` makes a session and, with `task`, begins \
its first turn; `wait` waits for the end of a turn and returns the answer; `send` says more to a session; `status` tells how \
it is, `history` what was said in it, `list` which sessions there are; `cancel` ends the turn that is under way; `close` \
ends a session and all that it owns. An agent behind an ACP adapter goes on from turn to turn (`backend` `acp`): `entries` \
shows what it said, thought, did and asks, `set-mode` and `set-option` change how it works and `answer` answers what it asks, as `status` lists. Every action \
but `spawn` and `list` needs `sessionKey`. Use it for work that needs an \
agent of its own or is to go on beside yours; for a single command use `exec`.";

const ABOUT_TASKS: &str = "\
The record of everything that goes on in the background: commands, turns of agents, sessions that you gave work. To answer \
\"how is it going?\" or \"is it done?\", call `show` with the task's id, the run's id or the session's key, and say what it \
answers: do not read logs or screens for that. `list` shows what there is; `notify` changes what you are told of a task \
without asking; `cancel` ends it. When a task ends you are told once, so do not ask again and again. Every action but `list` \
needs `lookup`.";

static TOOLS: LazyLock<[Tool; 4]> = LazyLock::new(|| {
    let acts = |title: &str| {
        ToolAnnotations::with_title(title)
            .read_only(false)
            .destructive(true)
            .idempotent(false)
            .open_world(true)
    };
    let mut exec = Tool::new(EXEC, ABOUT_EXEC, schema::input::<ExecRequest>(&["command"], OF_RUNS));
    exec.title = Some("Run a command".to_owned());
    exec.output_schema =
        Some(Arc::new(schema::output::<ExecReply>(&["status", "runId", "durationMs", "output"])));
    exec.annotations = Some(acts("Run a command"));
    let asks = schema::input::<ProcessRequest>(&["action"], OF_RUNS);
    let mut process = Tool::new(PROCESS, ABOUT_PROCESS, asks);
    process.title = Some("Work with running commands".to_owned());
    process.annotations = Some(acts("Work with running commands"));
    let asks = schema::input::<SessionsRequest>(&["action"], OF_SESSIONS);
    let mut sessions = Tool::new(SESSIONS, ABOUT_SESSIONS, asks);
    sessions.title = Some("Work with other agents".to_owned());
    sessions.annotations = Some(acts("Work with other agents"));
    let asks = schema::input::<TasksRequest>(&["action"], OF_TASKS);
    let mut tasks = Tool::new(TASKS, ABOUT_TASKS, asks);
    tasks.title = Some("Ask how work goes".to_owned());
    tasks.annotations = Some(acts("Ask how work goes"));
    [exec, process, sessions, tasks]
});

/// Returns the tools.
pub(crate) fn tools() -> &'static [Tool] {
    &*TOOLS
}

/// Returns the server's description, with the terms of a client's commands.
pub(crate) fn server(terms: Terms, logs: bool) -> ServerConfig {
    let tools = ServerCapabilities::builder().enable_tools();
    let capabilities = if logs { tools.enable_logging().build() } else { tools.build() };
    let mut own = Implementation::new("tenure", env!("CARGO_PKG_VERSION"));
    own.title = Some("Tenure".to_owned());
    ServerConfig::new(capabilities).with_server_info(own).with_instructions(instructions(terms))
}
