//! Parses requests of `sessions`: one variant per action, with the fields that the action needs and no others. Checks
//! that need the settings or the registry are the actions' own.

use std::time::Duration;
use tenure_core::ids::TurnId;
use tenure_core::session::{AgentId, Backend, Interaction, Kind, Mode, Origin, SessionKey, Work};
use tenure_core::tools::TURN_WAIT_MS;
use tenure_core::tools::sessions::{Action, SessionsRequest, WhenBusy};
use tenure_store::{SessionCursor, SessionQuery, Side};
use tenure_supervisor::Refusal;
use tenure_supervisor::start_request::named;

/// The default and the maximum number of sessions, turns or entries on a page.
pub(crate) const PAGE: (u64, u64) = (50, 500);
/// The default and the maximum number of bytes of text in a history.
pub(crate) const TEXT: (u64, u64) = (64 << 10, 4 << 20);
/// The maximum size of a message.
const MESSAGE_BYTES: usize = 1 << 20;

/// A valid request of `sessions`.
#[derive(Debug, PartialEq)]
pub(crate) enum SessionsCall {
    Spawn(Box<SpawnCall>),
    /// The filters, without the limits of the requester.
    List(SessionQuery),
    History(HistoryPart),
    Entries(HistoryPart),
    Send(SendCall),
    Status(SessionKey),
    Wait(WaitCall),
    Cancel(SessionKey),
    Close(CloseCall),
    SetMode {
        session: SessionKey,
        mode: String,
    },
    SetOption {
        session: SessionKey,
        option: String,
        value: String,
    },
    Answer(AnswerCall),
}

/// The session to create.
#[derive(Debug, PartialEq)]
pub(crate) struct SpawnCall {
    pub(crate) key: Option<SessionKey>,
    /// The agent that the request names. The key may name one too: see [`SpawnCall::agent`].
    pub(crate) named_agent: Option<AgentId>,
    pub(crate) backend: SpawnBackend,
    pub(crate) kind: Option<Kind>,
    pub(crate) mode: Mode,
    pub(crate) parent: Option<SessionKey>,
    pub(crate) label: Option<String>,
    /// The first message.
    pub(crate) task: Option<String>,
    /// The conditions of its turns, with the permissions that the requester wants.
    pub(crate) work: Work,
    pub(crate) origin: Option<Origin>,
    pub(crate) interaction: Option<Interaction>,
    pub(crate) sandbox: bool,
}

/// The backend of a session to create.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SpawnBackend {
    /// The agent's ACP adapter.
    Acp(AgentId),
    /// The agent's command.
    Cli(AgentId),
    /// A backend that needs no agent.
    Plain(Backend),
    /// The agent's command or adapter, or `exec` if there is no agent.
    Default,
}

/// The part of a history to read.
#[derive(Debug, PartialEq)]
pub(crate) struct HistoryPart {
    pub(crate) session: SessionKey,
    pub(crate) side: Side,
    /// True if the part begins at an end of the history.
    pub(crate) is_first: bool,
    /// The maximum number of turns or entries.
    pub(crate) limit: usize,
    /// The approximate maximum size of the texts.
    pub(crate) bytes: u64,
}

/// The message to send.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SendCall {
    pub(crate) session: SessionKey,
    pub(crate) text: String,
    pub(crate) when_busy: WhenBusy,
}

/// The turn to wait for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WaitCall {
    pub(crate) session: SessionKey,
    /// `None` means the running turn, else the last.
    pub(crate) turn: Option<TurnId>,
    /// The longest wait.
    pub(crate) timeout: Duration,
    /// True if the caller sent the message and waits for its answer.
    pub(crate) is_caller: bool,
}

/// The session to close.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CloseCall {
    pub(crate) session: SessionKey,
    pub(crate) reason: Option<String>,
    pub(crate) discard: bool,
}

/// The answer to a permission request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AnswerCall {
    pub(crate) session: SessionKey,
    pub(crate) question: String,
    pub(crate) option: String,
}

impl SessionsCall {
    /// Checks the request's fields, and keeps those of its action.
    pub(crate) fn read(request: SessionsRequest) -> Result<Self, Refusal> {
        check_words(&request)?;
        Ok(match request.action {
            Action::Spawn => Self::Spawn(Box::new(SpawnCall::read(request)?)),
            Action::List => Self::List(list(request)?),
            Action::History => Self::History(HistoryPart::read(&request)?),
            Action::Entries => Self::Entries(HistoryPart::read(&request)?),
            Action::Send => Self::Send(SendCall::read(request)?),
            Action::Status => Self::Status(session(&request)?),
            Action::Wait => Self::Wait(WaitCall::read(&request)?),
            Action::Cancel => Self::Cancel(session(&request)?),
            Action::Close => Self::Close(CloseCall {
                session: session(&request)?,
                reason: request.reason,
                discard: request.discard.unwrap_or(false),
            }),
            Action::SetMode => {
                let session = session(&request)?;
                let mode = request.agent_mode.ok_or_else(|| {
                    Refusal::invalid("agentMode is missing: name a mode that `status` lists")
                })?;
                Self::SetMode { session, mode }
            }
            Action::SetOption => {
                let session = session(&request)?;
                let (Some(option), Some(value)) = (request.option, request.value) else {
                    return Err(Refusal::invalid("option or value is missing: `status` lists the options"));
                };
                Self::SetOption { session, option, value }
            }
            Action::Answer => {
                let session = session(&request)?;
                let (Some(question), Some(option)) = (request.question, request.option) else {
                    return Err(Refusal::invalid(
                        "question or option is missing: `status` lists the open requests",
                    ));
                };
                Self::Answer(AnswerCall { session, question, option })
            }
        })
    }

    /// Returns true if the call changes something.
    pub(crate) fn is_change(&self) -> bool {
        match self {
            Self::List(_) | Self::History(_) | Self::Entries(_) | Self::Status(_) | Self::Wait(_) => false,
            Self::Spawn(_)
            | Self::Send(_)
            | Self::Cancel(_)
            | Self::Close(_)
            | Self::SetMode { .. }
            | Self::SetOption { .. }
            | Self::Answer(_) => true,
        }
    }
}

impl SpawnCall {
    fn read(request: SessionsRequest) -> Result<Self, Refusal> {
        if let Some(task) = &request.task {
            check_message(task)?;
        }
        let key = request.session_key.as_deref().map(key).transpose()?;
        let named_agent = request.agent.as_deref().map(agent).transpose()?;
        let backend = SpawnBackend::read(request.backend, agent_of(named_agent.as_ref(), key.as_ref()))?;
        Ok(Self {
            key,
            named_agent,
            backend,
            kind: request.kind,
            mode: request.mode.unwrap_or(Mode::Persistent),
            parent: request.parent.as_deref().map(self::key).transpose()?,
            work: Work {
                cwd: request.cwd.map(absolute).transpose()?,
                model: request.model,
                timeout_ms: request.timeout_ms.filter(|&ms| ms > 0),
                permissions: request.permissions,
            },
            label: named("label", request.label.as_ref())?,
            task: request.task,
            origin: request.origin,
            interaction: request.interaction,
            sandbox: request.sandbox.unwrap_or(false),
        })
    }

    /// Returns the session's agent: the named one, else that of the key.
    pub(crate) fn agent(&self) -> Option<AgentId> {
        agent_of(self.named_agent.as_ref(), self.key.as_ref())
    }
}

impl SpawnBackend {
    fn read(backend: Option<Backend>, agent: Option<AgentId>) -> Result<Self, Refusal> {
        let missing =
            |of| Refusal::invalid(format!("agent is missing: name the agent whose {of} runs the turns"));
        Ok(match backend {
            Some(Backend::Acp) => Self::Acp(agent.ok_or_else(|| missing("adapter"))?),
            Some(Backend::Cli) => Self::Cli(agent.ok_or_else(|| missing("command"))?),
            Some(backend @ (Backend::Run | Backend::Exec)) => Self::Plain(backend),
            None => Self::Default,
        })
    }
}

impl HistoryPart {
    fn read(request: &SessionsRequest) -> Result<Self, Refusal> {
        let session = session(request)?;
        let after = request.after.as_deref().map(number).transpose()?;
        let side = match request.newest_first {
            Some(true) => Side::Before(after.unwrap_or(u64::MAX)),
            Some(false) | None => Side::After(after.unwrap_or(0)),
        };
        let bytes = request.max_bytes.unwrap_or(TEXT.0).min(TEXT.1);
        Ok(Self { session, side, is_first: after.is_none(), limit: page(request.limit)?, bytes })
    }
}

impl SendCall {
    fn read(request: SessionsRequest) -> Result<Self, Refusal> {
        let session = session(&request)?;
        let Some(text) = request.text else {
            return Err(Refusal::invalid("text is missing: write the message to send"));
        };
        check_message(&text)?;
        Ok(Self { session, text, when_busy: request.when_busy.unwrap_or_default() })
    }
}

impl WaitCall {
    fn read(request: &SessionsRequest) -> Result<Self, Refusal> {
        Ok(Self {
            session: session(request)?,
            turn: request.turn_id.as_deref().map(str::parse).transpose().map_err(Refusal::invalid)?,
            timeout: Duration::from_millis(request.timeout_ms.unwrap_or(TURN_WAIT_MS).min(TURN_WAIT_MS)),
            is_caller: request.foreground.unwrap_or(false),
        })
    }
}

fn list(request: SessionsRequest) -> Result<SessionQuery, Refusal> {
    let limit = page(request.limit)?;
    Ok(SessionQuery {
        narrowing: None,
        agent: request.agent.as_deref().map(agent).transpose()?,
        kind: request.kind,
        backend: request.backend,
        states: request.states,
        parent: request.parent.as_deref().map(key).transpose()?,
        prefix: request.prefix,
        after: request.after.as_deref().map(cursor).transpose()?,
        limit,
    })
}

fn session(request: &SessionsRequest) -> Result<SessionKey, Refusal> {
    match &request.session_key {
        Some(text) => key(text),
        None => Err(Refusal::invalid("sessionKey is missing: name the session")),
    }
}

/// Parses a session's key.
pub fn key(text: &str) -> Result<SessionKey, Refusal> {
    text.parse().map_err(Refusal::invalid)
}

fn agent(name: &str) -> Result<AgentId, Refusal> {
    name.parse().map_err(Refusal::invalid)
}

fn agent_of(named: Option<&AgentId>, key: Option<&SessionKey>) -> Option<AgentId> {
    named.cloned().or_else(|| key.and_then(SessionKey::agent))
}

fn page(limit: Option<u64>) -> Result<usize, Refusal> {
    match limit.unwrap_or(PAGE.0) {
        0 => Err(Refusal::invalid(format!("limit is 1 to {}", PAGE.1))),
        limit => Ok(usize::try_from(limit.min(PAGE.1)).unwrap_or(1)),
    }
}

fn cursor(text: &str) -> Result<SessionCursor, Refusal> {
    let parts = text.split_once(':').and_then(|(at, key)| Some((at.parse().ok()?, key.parse().ok()?)));
    let (created_at_ms, key) =
        parts.ok_or_else(|| Refusal::invalid("after must be the `next` value of the previous page"))?;
    Ok(SessionCursor { created_at_ms, key })
}

fn number(text: &str) -> Result<u64, Refusal> {
    text.parse()
        .map_err(|_| Refusal::invalid("after must be the `next` value of the previous page, a number"))
}

fn absolute(cwd: String) -> Result<String, Refusal> {
    if std::path::Path::new(&cwd).is_absolute() && !cwd.contains('\0') {
        Ok(cwd)
    } else {
        Err(Refusal::invalid(format!("cwd {cwd:?} is not absolute: write an absolute path")))
    }
}

/// Checks the texts that are passed on to people and programs: each is one line, and the model is not an option.
fn check_words(request: &SessionsRequest) -> Result<(), Refusal> {
    named("reason", request.reason.as_ref())?;
    named("model", request.model.as_ref())?;
    if let Some(model) = request.model.as_ref().filter(|model| model.starts_with('-')) {
        return Err(Refusal::invalid(format!("the model {model:?} begins with a dash: name a model")));
    }
    if let Some(Origin { channel, to, thread }) = &request.origin {
        named("channel of the origin", Some(channel))?;
        named("recipient of the origin", to.as_ref())?;
        named("thread of the origin", thread.as_ref())?;
    }
    Ok(())
}

/// Checks that a message is not empty, not too long, and can be passed to a program.
fn check_message(text: &str) -> Result<(), Refusal> {
    if text.trim().is_empty() {
        return Err(Refusal::invalid("the message is empty: write the message to send"));
    }
    if text.contains('\0') {
        return Err(Refusal::invalid("the message contains a NUL byte, which no program accepts: remove it"));
    }
    if text.len() > MESSAGE_BYTES {
        return Err(Refusal::too_large(format!(
            "the message has {} bytes, the maximum is {MESSAGE_BYTES}: write it to a file and name the file",
            text.len()
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
