//! Opens a conversation with an adapter: negotiates version and capabilities, logs in if the agent requires it, and
//! resumes a session or creates one. Continues after an earlier daemon: open requests are not sent again.

use crate::abilities::{Abilities, values};
use crate::conversation::Verb;
use crate::handle::Handle;
use crate::host::{Answer, Over};
use crate::message::raw;
use crate::replay::Messages;
use crate::schema::{
    AuthenticateRequest, ClientCapabilities, Error, ErrorCode, FileSystemCapabilities, Implementation,
    InitializeRequest, LoadSessionRequest, NewSessionRequest, NewSessionResponse, ResumeSessionRequest,
    SessionConfigKind, SessionConfigOptionCategory, SessionConfigOptionValue, SessionId,
    SetSessionConfigOptionRequest, SetSessionModeRequest,
};
use crate::turn::error_text;
use agent_client_protocol_schema::ProtocolVersion;
use serde::Serialize;
use std::path::Path;
use std::time::Duration;
use tenure_core::talk::{OpenConversation, SentRequest};
use tokio::time::timeout;

/// Time limit for loading a conversation.
const LOAD_LIMIT: Duration = Duration::from_mins(1);

/// The parameters of a conversation to open.
#[derive(Debug, Clone, Copy)]
pub struct OpenParams<'a> {
    /// The agent's working directory.
    pub cwd: &'a Path,
    /// The agent's id of the session to resume.
    pub resume: Option<&'a str>,
    /// The recorded messages of that session.
    pub recorded: &'a Messages,
    /// The model.
    pub model: Option<&'a str>,
    /// The mode.
    pub mode: Option<&'a str>,
    /// The login method, if the agent requires a login.
    pub login: Option<&'a str>,
    /// True if Tenure reads and writes files for the agent.
    pub serves_files: bool,
}

/// An open conversation.
#[derive(Debug, Clone)]
pub struct OpenSession {
    /// The agent's session id.
    pub session: SessionId,
    /// The differences from the parameters, for people.
    pub notes: Vec<String>,
}

/// The reason why a conversation cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The adapter has ended.
    #[error(transparent)]
    Over(#[from] Over),
    /// The agent refuses.
    #[error("{0}")]
    Refused(String),
    /// The model is not available.
    #[error("{0}")]
    NoModel(String),
    /// The adapter exited or hung while it loaded a session: another adapter may create a new session.
    #[error("{0}")]
    NotLoaded(String),
}

/// Opens a conversation through a driver's handle, or resumes the recorded one.
pub async fn open(
    handle: &Handle,
    recorded: &OpenConversation,
    wanted: OpenParams<'_>,
) -> Result<OpenSession, OpenError> {
    let mut opening = SessionOpener {
        handle,
        pending: recorded.questions.iter().filter_map(|line| line.asks.clone()).collect(),
        abilities: Abilities::recorded(recorded.talk.abilities.as_deref()),
        notes: Vec::new(),
    };
    if opening.abilities.agent.is_none() {
        opening.initialize(wanted.serves_files).await?;
    }
    let session = match &recorded.talk.agent_session {
        Some(session) => SessionId::new(session.clone()),
        None => opening.session(wanted).await?,
    };
    if opening.abilities.is_replaying {
        handle.replayed(wanted.recorded.clone()).await?;
    }
    if !opening.abilities.is_set_up {
        opening.set_up(&session, wanted).await?;
    }
    Ok(OpenSession { session, notes: opening.notes })
}

struct SessionOpener<'a> {
    handle: &'a Handle,
    /// The open requests of an earlier daemon.
    pending: Vec<SentRequest>,
    abilities: Abilities,
    notes: Vec<String>,
}

impl SessionOpener<'_> {
    /// Sends a request, unless an earlier daemon sent it and its response is still due.
    async fn ask(&mut self, verb: Verb, params: &impl Serialize) -> Result<Answer, Over> {
        let answer = match self.pending.iter().position(|asks| asks.verb == verb.word()) {
            Some(at) => self.handle.answer_to(self.pending.remove(at).id).await?,
            None => self.handle.ask(verb, params).await?,
        };
        if let Ok(result) = &answer {
            self.abilities.answered(verb, Some(&raw(params)), result);
        }
        Ok(answer)
    }

    async fn initialize(&mut self, serves_files: bool) -> Result<(), OpenError> {
        let files = FileSystemCapabilities::new().read_text_file(serves_files).write_text_file(serves_files);
        let abilities = ClientCapabilities::new().fs(files).terminal(true);
        let request = InitializeRequest::new(ProtocolVersion::V1)
            .client_capabilities(abilities)
            .client_info(Implementation::new("tenure", env!("CARGO_PKG_VERSION")).title("Tenure".to_owned()));
        let answer = self.ask(Verb::Initialize, &request).await?;
        answer.map_err(|error| refused("does not initialize the connection", &error))?;
        match &self.abilities.agent {
            Some(agent) if agent.protocol_version == ProtocolVersion::V1 => Ok(()),
            Some(agent) => Err(OpenError::Refused(format!(
                "it speaks version {} of the protocol: Tenure supports version 1",
                agent.protocol_version
            ))),
            None => Err(OpenError::Refused("its response to initialize is invalid".to_owned())),
        }
    }

    /// Resumes a session or creates one; logs in if the agent requires it.
    async fn session(&mut self, wanted: OpenParams<'_>) -> Result<SessionId, OpenError> {
        match self.try_session(wanted).await? {
            Err(error) if error.code == ErrorCode::AuthRequired => {
                self.log_in(wanted.login).await?;
                self.try_session(wanted).await?
            }
            opened => opened,
        }
        .map_err(|error| refused("cannot open a session", &error))
    }

    /// Resumes the earlier session if the agent can, else creates a new one.
    async fn try_session(&mut self, wanted: OpenParams<'_>) -> Result<Result<SessionId, Error>, OpenError> {
        let Some(session) = wanted.resume else { return Ok(self.new_session(wanted.cwd).await?) };
        let cwd = wanted.cwd;
        let loaded = if self.abilities.resumes() {
            let request = ResumeSessionRequest::new(session.to_owned(), cwd);
            Some(self.load(Verb::ResumeSession, &request).await?)
        } else if self.abilities.loads() {
            let request = LoadSessionRequest::new(session.to_owned(), cwd);
            Some(self.load(Verb::LoadSession, &request).await?)
        } else {
            None
        };
        let why = match loaded {
            Some(Ok(_)) => return Ok(Ok(SessionId::new(session.to_owned()))),
            Some(Err(error)) if error.code == ErrorCode::AuthRequired => return Ok(Err(error)),
            Some(Err(error)) => Some(error_text(&error)),
            None => None,
        };
        self.notes.push(new_session_note(why.as_deref()));
        Ok(self.new_session(cwd).await?)
    }

    /// Loads or resumes the earlier session, within a time limit.
    async fn load(&mut self, verb: Verb, request: &impl Serialize) -> Result<Answer, OpenError> {
        match timeout(LOAD_LIMIT, self.ask(verb, request)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(Over)) => {
                Err(OpenError::NotLoaded("its process ended while it loaded the session".to_owned()))
            }
            Err(_) => {
                let limit = LOAD_LIMIT.as_secs();
                Err(OpenError::NotLoaded(format!("it did not load the session within {limit} seconds")))
            }
        }
    }

    async fn new_session(&mut self, cwd: &Path) -> Result<Result<SessionId, Error>, Over> {
        let answer = self.ask(Verb::NewSession, &NewSessionRequest::new(cwd)).await?;
        let read = |result: Box<serde_json::value::RawValue>| {
            serde_json::from_str::<NewSessionResponse>(result.get())
                .map_err(|error| Error::internal_error().data(serde_json::Value::String(error.to_string())))
        };
        Ok(answer.and_then(read).map(|opened| opened.session_id))
    }

    async fn log_in(&mut self, method: Option<&str>) -> Result<(), OpenError> {
        let Some(method) = method else {
            let known = self.abilities.logins().into_iter().map(|(id, name)| format!("{id} ({name})"));
            let known = known.collect::<Vec<_>>().join(", ");
            return Err(OpenError::Refused(format!(
                "it requires a login: log in with its own program, or set acp.auth of the agent in config.toml to one of: {known}"
            )));
        };
        let answer = self.ask(Verb::Authenticate, &AuthenticateRequest::new(method.to_owned())).await?;
        answer.map(drop).map_err(|error| refused("rejects the login", &error))
    }

    /// Sets the model and the mode, unless they are set. A mode that cannot be set only adds a note.
    async fn set_up(&mut self, session: &SessionId, wanted: OpenParams<'_>) -> Result<(), OpenError> {
        if let Some(model) = wanted.model {
            self.set_model(session, model).await?;
        }
        if let Some(mode) = wanted.mode
            && let Err(why) = set_mode(self.handle, &self.abilities, session, mode).await?
        {
            self.notes.push(format!("the mode {mode} is not set: {why}"));
        }
        Ok(())
    }

    /// Sets the model. Fails if the agent keeps another one.
    async fn set_model(&mut self, session: &SessionId, model: &str) -> Result<(), OpenError> {
        let Some(option) = self.abilities.option_of(&SessionConfigOptionCategory::Model) else {
            return Err(OpenError::NoModel(format!(
                "the model {model:?} cannot be set: the agent offers no choice of models; leave it out"
            )));
        };
        let offered = self.abilities.models();
        let refused = |why: &str| {
            let offered = offered.join(", ");
            OpenError::NoModel(format!("the model {model:?} cannot be set{why}: the agent offers {offered}"))
        };
        if self.abilities.model().as_deref() == Some(model) {
            return Ok(());
        }
        if !offered.is_empty() && !offered.iter().any(|value| value == model) {
            return Err(refused(""));
        }
        let set = SetSessionConfigOptionRequest::new(session.clone(), option.id.clone(), model);
        if let Err(error) = self.ask(Verb::SetConfigOption, &set).await? {
            return Err(refused(&format!(" ({})", error_text(&error))));
        }
        match self.abilities.model() {
            Some(other) if other != model => Err(refused(&format!(" (it keeps {other})"))),
            Some(_) | None => Ok(()),
        }
    }
}

/// Returns the note that a new session replaces the earlier one, with the reason.
pub fn new_session_note(why: Option<&str>) -> String {
    let why = why.map_or(String::new(), |why| format!(" ({why})"));
    format!(
        "the agent cannot resume the session of its earlier process{why}: this is a new session, without the earlier \
         messages"
    )
}

/// Sets the agent's mode. Some agents have modes, others an option of that category.
pub async fn set_mode(
    handle: &Handle,
    abilities: &Abilities,
    session: &SessionId,
    mode: &str,
) -> Result<Result<(), String>, Over> {
    if let Some(modes) = &abilities.modes {
        if &*modes.current_mode_id.0 == mode {
            return Ok(Ok(()));
        }
        let set = SetSessionModeRequest::new(session.clone(), mode.to_owned());
        let answer = handle.ask(Verb::SetMode, &set).await?;
        return Ok(answer.map(drop).map_err(|error| error_text(&error)));
    }
    match abilities.option_of(&SessionConfigOptionCategory::Mode) {
        Some(option) => set_option(handle, abilities, session, (&option.id.0, mode)).await,
        None => Ok(Err("the agent has no modes".to_owned())),
    }
}

/// Sets one of the agent's options.
pub async fn set_option(
    handle: &Handle,
    abilities: &Abilities,
    session: &SessionId,
    (option, value): (&str, &str),
) -> Result<Result<(), String>, Over> {
    let Some(known) = abilities.options.iter().find(|known| &*known.id.0 == option) else {
        let known = abilities.options.iter().map(|known| &*known.id.0).collect::<Vec<_>>().join(", ");
        return Ok(Err(format!("the agent has no option {option}; it has: {known}")));
    };
    let offered = values(known);
    if !offered.is_empty() && !offered.iter().any(|one| one == value) {
        return Ok(Err(format!(
            "the option {option} cannot be {value:?}: use one of {}",
            offered.join(", ")
        )));
    }
    let value = match (&known.kind, value.parse()) {
        (SessionConfigKind::Boolean(_), Ok(on)) => SessionConfigOptionValue::Boolean { value: on },
        _ => value.into(),
    };
    let set = SetSessionConfigOptionRequest::new(session.clone(), known.id.clone(), value);
    let answer = handle.ask(Verb::SetConfigOption, &set).await?;
    Ok(answer.map(drop).map_err(|error| error_text(&error)))
}

fn refused(failure: &str, error: &Error) -> OpenError {
    OpenError::Refused(format!("it {failure}: {}", error_text(error)))
}
