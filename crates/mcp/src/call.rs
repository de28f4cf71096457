//! The handling of one call: its arguments are parsed, the tool is awaited, and the call is given up if the client
//! is gone.

use crate::receipts::{Gone, Receipts};
use crate::schema::Hidden;
use crate::{Progress, Tools, catalog, reply_text, structured};
use hyper::http::request::Parts;
use rmcp::model::{
    CallToolResult, ContentBlock, ErrorData, JsonObject, MetaObject, ProgressNotificationParam, ProgressToken,
};
use rmcp::service::RequestContext;
use rmcp::{Peer, RoleServer};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::future::{Future, pending};
use std::pin::pin;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tenure_core::api::Problem;
use tenure_core::receipt::{Receipt, ToolReply};
use tenure_core::session::TurnState;
use tenure_core::tools::sessions::{self, SessionsReply, SessionsRequest};
use tenure_core::tools::tasks::TasksRequest;
use tenure_core::tools::{Action, ExecRequest, ProcessRequest, Status};
use tokio::sync::watch;
use tokio::time::timeout;

/// Time limit for a client to read a progress notification; after that, it is skipped.
const PATIENCE: Duration = Duration::from_secs(1);

/// The hidden field of `exec`: the calling process, which only the daemon knows.
const OF_EXEC: Hidden = Hidden { fields: &["process"], actions: &[] };

/// The error for a client whose connection ends during a call.
const LEFT: &str = "the server is leaving. Commands and turns that were begun go on: call process or sessions with \
                    action list to see them, and poll or wait to hear how they end";

/// Handles `exec`.
pub(crate) async fn exec<T: Tools>(
    tools: &T,
    arguments: JsonObject,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResult, ErrorData> {
    let request = match read::<ExecRequest>(arguments, OF_EXEC) {
        Ok(request) if request.command.trim().is_empty() => {
            return Ok(failed(&not_understood("command is missing or empty: give the command line to run")));
        }
        Ok(request) => request,
        Err(problem) => return Ok(failed(&problem)),
    };
    let (progress, news) = watch::channel(None);
    let work = tools.exec(request, move |now| {
        progress.send_replace(Some(now));
    });
    match waited_for(work, Some(news), &context).await? {
        Ok(ToolReply { reply, receipt }) => {
            let is_error = reply.status == Status::Failed;
            Ok(answer(&context, receipt, (reply_text::exec(&reply), is_error), structured::exec(&reply)))
        }
        Err(problem) => Ok(failed(&problem)),
    }
}

/// Handles `process`.
pub(crate) async fn process<T: Tools>(
    tools: &T,
    arguments: JsonObject,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResult, ErrorData> {
    let request = match read::<ProcessRequest>(arguments, Hidden::default()) {
        Ok(request) => request,
        Err(problem) => return Ok(failed(&problem)),
    };
    let action = request.action;
    match waited_for(tools.process(request), None, &context).await? {
        Ok(ToolReply { reply, receipt }) => {
            // A failed run is an error of an action that asks for its status, not of one that shows its log or ends
            // it.
            let is_error =
                action == Action::Poll && reply.run.as_ref().is_some_and(|run| run.status == Status::Failed);
            Ok(answer(
                &context,
                receipt,
                (reply_text::process(action, &reply), is_error),
                structured::process(action, &reply),
            ))
        }
        Err(problem) => Ok(failed(&problem)),
    }
}

/// Handles `sessions`.
pub(crate) async fn sessions<T: Tools>(
    tools: &T,
    arguments: JsonObject,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResult, ErrorData> {
    let request = match read::<SessionsRequest>(arguments, catalog::OF_SESSIONS) {
        Ok(request) => request,
        Err(problem) => return Ok(failed(&problem)),
    };
    let (action, key) = (request.action, request.session_key.clone());
    match waited_for(tools.sessions(request), None, &context).await? {
        Ok(ToolReply { reply, receipt }) => {
            let is_error = action == sessions::Action::Wait && was_not_answered(&reply);
            let text = reply_text::sessions(action, key.as_deref().unwrap_or_default(), &reply);
            Ok(answer(&context, receipt, (text, is_error), structured::sessions(action, &reply)))
        }
        Err(problem) => Ok(failed(&problem)),
    }
}

/// Handles `tasks`. A failed task is no error of the call that shows it.
pub(crate) async fn tasks<T: Tools>(
    tools: &T,
    arguments: JsonObject,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResult, ErrorData> {
    let request = match read::<TasksRequest>(arguments, catalog::OF_TASKS) {
        Ok(request) => request,
        Err(problem) => return Ok(failed(&problem)),
    };
    let action = request.action;
    match waited_for(tools.tasks(request), None, &context).await? {
        Ok(reply) => {
            let text = reply_text::tasks(action, &reply, now_ms());
            Ok(answer(&context, Receipt::default(), (text, false), structured::tasks(&reply)))
        }
        Err(problem) => Ok(failed(&problem)),
    }
}

/// Returns the time in Unix milliseconds, to compute the age of things.
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Returns true if a turn has ended neither with an answer nor by a cancel.
fn was_not_answered(reply: &SessionsReply) -> bool {
    reply.turn.as_ref().is_some_and(|turn| match turn.state {
        TurnState::Failed | TurnState::TimedOut | TurnState::Lost => true,
        TurnState::Running | TurnState::Done | TurnState::Cancelled => false,
    })
}

/// Parses the arguments of a call. A null counts as a missing field. Hidden fields are refused as unknown.
fn read<T: DeserializeOwned>(mut arguments: JsonObject, hidden: Hidden) -> Result<T, Problem> {
    arguments.retain(|_, value| !value.is_null());
    let names = || hidden.fields.iter().chain(hidden.actions);
    let unlisted = |text: String| names().fold(text, |text, name| text.replace(&format!(", `{name}`"), ""));
    if let Some(name) = hidden.fields.iter().find(|name| arguments.contains_key(**name)) {
        return Err(not_understood(&format!("unknown field `{name}`")));
    }
    let action = arguments.get("action").and_then(Value::as_str);
    if let Some(action) = action.filter(|action| hidden.actions.contains(action)) {
        return Err(not_understood(&format!("action: `{action}` is for operators, on the command line")));
    }
    // The error names the field that it is about.
    serde_path_to_error::deserialize(Value::Object(arguments))
        .map_err(|error| not_understood(&unlisted(error.to_string())))
}

fn not_understood(why: &str) -> Problem {
    Problem {
        status: 400,
        code: "bad-request".to_owned(),
        title: "Bad Request".to_owned(),
        detail: format!("the arguments are not understood: {why}"),
    }
}

/// Waits for a call, and sends progress if the client asked for it. Dropping `work` gives the call up.
async fn waited_for<F: Future>(
    work: F,
    news: Option<watch::Receiver<Option<Progress>>>,
    context: &RequestContext<RoleServer>,
) -> Result<F::Output, ErrorData> {
    let gone = context.extensions.get::<Gone>().cloned().unwrap_or_default();
    let given_up = async {
        tokio::select! {
            biased;
            () = gone.0.cancelled() => ErrorData::internal_error(LEFT, None),
            () = context.ct.cancelled() => ErrorData::internal_error("the request was cancelled", None),
        }
    };
    let mut news = News::new(news, context);
    let (mut work, mut given_up) = (pin!(work), pin!(given_up));
    loop {
        tokio::select! {
            biased;
            why = &mut given_up => return Err(why),
            done = &mut work => return Ok(done),
            progress = news.next() => {
                // A client that got the result gets no progress after it, so this is awaited.
                let telling = timeout(PATIENCE, news.tell(progress));
                tokio::select! {
                    why = &mut given_up => return Err(why),
                    _ = telling => {}
                }
            }
        }
    }
}

/// The progress of a call, for a client that asked.
struct News<'a> {
    from: Option<(watch::Receiver<Option<Progress>>, ProgressToken)>,
    peer: &'a Peer<RoleServer>,
    told: u32,
}

impl<'a> News<'a> {
    fn new(from: Option<watch::Receiver<Option<Progress>>>, context: &'a RequestContext<RoleServer>) -> Self {
        let from = from.zip(context.meta.get_progress_token());
        Self { from, peer: &context.peer, told: 0 }
    }

    /// Returns the next progress to send; waits for ever if the client did not ask.
    async fn next(&mut self) -> Progress {
        let Some((from, _)) = &mut self.from else { return pending().await };
        loop {
            if from.changed().await.is_err() {
                return pending().await;
            }
            let now = from.borrow_and_update().clone();
            if let Some(now) = now {
                return now;
            }
        }
    }

    async fn tell(&mut self, progress: Progress) {
        let Some((_, token)) = &self.from else { return };
        self.told += 1;
        let message =
            if progress.line.is_empty() { reply_text::bytes(progress.bytes) } else { progress.line };
        let news = ProgressNotificationParam::new(token.clone(), f64::from(self.told)).with_message(message);
        // A client that cannot be reached is gone, which is noticed elsewhere.
        let _ = self.peer.notify_progress(news).await;
    }
}

fn answer(
    context: &RequestContext<RoleServer>,
    receipt: Receipt,
    (text, is_error): (String, bool),
    reply: Value,
) -> CallToolResult {
    leave_receipt(context, receipt);
    let text = vec![ContentBlock::text(text)];
    let mut result = if is_error { CallToolResult::error(text) } else { CallToolResult::success(text) };
    result.structured_content = Some(reply);
    result
}

/// Stores the receipt of a reply. Over HTTP a reply is written when the connection has taken it from its own
/// response's body; on a stream, when it was sent.
fn leave_receipt(context: &RequestContext<RoleServer>, receipt: Receipt) {
    let of_body = context.extensions.get::<Parts>().and_then(|parts| parts.extensions.get::<Receipts>());
    if let Some(receipts) = of_body.or_else(|| context.extensions.get::<Receipts>()) {
        receipts.put(context.id.clone(), receipt);
    }
}

/// Makes a refusal: the tool's own error, for the model to read.
fn failed(problem: &Problem) -> CallToolResult {
    let mut result = CallToolResult::error(vec![ContentBlock::text(reply_text::problem(problem))]);
    let mut meta = MetaObject::default();
    // Not in the structured content, which clients validate against the schema of a reply.
    if let Ok(problem) = serde_json::to_value(problem) {
        meta.insert("tenure/problem".to_owned(), problem);
    }
    result.meta = Some(meta);
    result
}
