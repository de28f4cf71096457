//! An agent's capabilities and current settings, recorded with its conversation for the next daemon.

use crate::conversation::Verb;
use crate::message::parsed;
use crate::schema::{
    AuthMethod, InitializeResponse, LoadSessionResponse, NewSessionResponse, ResumeSessionResponse,
    SessionConfigKind, SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOption,
    SessionConfigSelectOptions, SessionModeState, SessionUpdate, SetSessionConfigOptionResponse,
    SetSessionModeRequest,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The capabilities and settings that an agent reported.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Abilities {
    /// The response to `initialize`.
    pub agent: Option<InitializeResponse>,
    /// The modes, and the current one.
    pub modes: Option<SessionModeState>,
    /// The options, and their current values.
    pub options: Vec<SessionConfigOption>,
    /// True once model and mode were set up and a turn began: later settings are a user's and are kept.
    pub is_set_up: bool,
    /// True while the agent may still replay a conversation that it loaded.
    pub is_replaying: bool,
    /// True if a load failed before, or the end of a replay was not recognized.
    pub loads_badly: bool,
}

impl Abilities {
    /// Reads recorded abilities. A record that cannot be parsed counts as empty.
    pub fn recorded(text: Option<&str>) -> Self {
        text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    /// Returns the JSON to record.
    pub fn text(&self) -> String {
        // The protocol's types always serialize.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Updates the abilities from a response. Returns false if responses to this request never change them.
    pub fn answered(&mut self, verb: Verb, asked: Option<&RawValue>, answer: &RawValue) -> bool {
        let text = answer.get();
        match verb {
            Verb::Initialize => self.agent = serde_json::from_str(text).ok(),
            Verb::NewSession => {
                if let Ok(NewSessionResponse { modes, config_options, .. }) = serde_json::from_str(text) {
                    (self.modes, self.options) = (modes, config_options.unwrap_or_default());
                }
            }
            Verb::LoadSession => {
                self.is_replaying = true;
                if let Ok(LoadSessionResponse { modes, config_options, .. }) = serde_json::from_str(text) {
                    (self.modes, self.options) = (modes, config_options.unwrap_or_default());
                }
            }
            Verb::ResumeSession => {
                if let Ok(ResumeSessionResponse { modes, config_options, .. }) = serde_json::from_str(text) {
                    (self.modes, self.options) = (modes, config_options.unwrap_or_default());
                }
            }
            Verb::SetMode => {
                if let (Some(modes), Ok(SetSessionModeRequest { mode_id, .. })) =
                    (&mut self.modes, parsed(asked))
                {
                    modes.current_mode_id = mode_id;
                }
            }
            Verb::SetConfigOption => {
                if let Ok(SetSessionConfigOptionResponse { config_options, .. }) = serde_json::from_str(text)
                {
                    self.options = config_options;
                }
            }
            Verb::Authenticate | Verb::ListSessions | Verb::CloseSession | Verb::Prompt => return false,
        }
        true
    }

    /// Updates the abilities from a session update. Returns false if it is about something else.
    pub fn updated(&mut self, update: &SessionUpdate) -> bool {
        match update {
            SessionUpdate::CurrentModeUpdate(update) => {
                if let Some(modes) = &mut self.modes {
                    modes.current_mode_id = update.current_mode_id.clone();
                }
            }
            SessionUpdate::ConfigOptionUpdate(update) => self.options.clone_from(&update.config_options),
            _ => return false,
        }
        true
    }

    /// Returns true if the agent supports `session/load`, which replays the conversation.
    pub fn loads(&self) -> bool {
        self.agent.as_ref().is_some_and(|agent| agent.agent_capabilities.load_session)
    }

    /// Returns true if the agent supports `session/resume`, which replays nothing.
    pub fn resumes(&self) -> bool {
        self.agent
            .as_ref()
            .is_some_and(|agent| agent.agent_capabilities.session_capabilities.resume.is_some())
    }

    /// Returns true if, as far as is known, another process of the agent can resume its conversations.
    pub fn outlives_its_process(&self) -> bool {
        (self.loads() || self.resumes()) && !self.loads_badly
    }

    /// Returns true if the agent supports `session/close`.
    pub fn closes(&self) -> bool {
        self.agent.as_ref().is_some_and(|agent| agent.agent_capabilities.session_capabilities.close.is_some())
    }

    /// Returns the agent's name and version.
    pub fn name(&self) -> Option<String> {
        let info = self.agent.as_ref()?.agent_info.as_ref()?;
        Some(format!("{} {}", info.title.as_ref().unwrap_or(&info.name), info.version))
    }

    /// Returns the login methods that need no terminal: ids and names.
    pub fn logins(&self) -> Vec<(String, String)> {
        let methods = self.agent.iter().flat_map(|agent| &agent.auth_methods);
        let named = methods.filter_map(|method| match method {
            AuthMethod::Agent(method) => Some((method.id.0.to_string(), method.name.clone())),
            // The other methods need a person at a terminal.
            _ => None,
        });
        named.collect()
    }

    /// Returns the models that the agent offers; none if it offers no choice.
    pub fn models(&self) -> Vec<String> {
        self.option_of(&SessionConfigOptionCategory::Model).map(values).unwrap_or_default()
    }

    /// Returns the current model, if the agent reports it.
    pub fn model(&self) -> Option<String> {
        match &self.option_of(&SessionConfigOptionCategory::Model)?.kind {
            SessionConfigKind::Select(select) => Some(select.current_value.0.to_string()),
            _ => None,
        }
    }

    /// Returns the agent's option of a category.
    pub fn option_of(&self, category: &SessionConfigOptionCategory) -> Option<&SessionConfigOption> {
        self.options.iter().find(|option| option.category.as_ref() == Some(category))
    }
}

/// Returns the values that an option accepts; none if they are not a list.
pub fn values(option: &SessionConfigOption) -> Vec<String> {
    let SessionConfigKind::Select(select) = &option.kind else { return Vec::new() };
    let ids = |all: &[SessionConfigSelectOption]| -> Vec<String> {
        all.iter().map(|one| one.value.0.to_string()).collect()
    };
    match &select.options {
        SessionConfigSelectOptions::Ungrouped(all) => ids(all),
        SessionConfigSelectOptions::Grouped(groups) => {
            groups.iter().flat_map(|group| ids(&group.options)).collect()
        }
        // A kind of list from a later version of the protocol.
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::raw;
    use serde_json::json;

    #[test]
    fn what_an_agent_says_of_itself_is_the_same_after_it_was_recorded() {
        let mut abilities = Abilities::default();
        let hello = json!({"protocolVersion": 1, "agentInfo": {"name": "a", "version": "2"}, "agentCapabilities":
            {"loadSession": true, "sessionCapabilities": {"close": {}}}});
        assert!(abilities.answered(Verb::Initialize, None, &raw(&hello)));
        let opened = json!({"sessionId": "s", "modes": {"currentModeId": "ask", "availableModes":
            [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}]}});
        assert!(abilities.answered(Verb::NewSession, None, &raw(&opened)));
        let set = raw(&json!({"sessionId": "s", "modeId": "code"}));
        assert!(abilities.answered(Verb::SetMode, Some(&set), &raw(&json!({}))));
        let again = Abilities::recorded(Some(&abilities.text()));
        assert!(again.loads() && again.closes() && !again.resumes() && again.outlives_its_process());
        assert_eq!(again.name().as_deref(), Some("a 2"));
        assert_eq!(&*again.modes.unwrap().current_mode_id.0, "code");
    }

    #[test]
    fn an_agent_that_loads_badly_is_not_given_up_for_another_process() {
        let hello = json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": true}});
        let mut abilities = Abilities::default();
        assert!(abilities.answered(Verb::Initialize, None, &raw(&hello)) && abilities.outlives_its_process());
        abilities.loads_badly = true;
        let again = Abilities::recorded(Some(&abilities.text()));
        assert!(again.loads() && !again.outlives_its_process());
    }

    #[test]
    fn what_was_recorded_otherwise_is_not_known() {
        assert!(Abilities::recorded(Some("{\"agent\": 7}")).agent.is_none());
        assert!(!Abilities::default().outlives_its_process());
    }
}
