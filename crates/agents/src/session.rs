//! Session id of an agent. It comes from the agent's output and returns to it as an argument, so it is checked in
//! between.

use std::fmt;

/// Maximum length of an agent's session id.
const BYTES: usize = 256;

/// Id that an agent gives its session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentSession(String);

/// Invalid session id of an agent, cut to 80 characters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not an agent's session id: it has 1 to {BYTES} visible ASCII characters, no space and no dash at the start"
)]
pub struct BadAgentSession(pub String);

impl AgentSession {
    /// Checks an id.
    pub fn new(text: &str) -> Result<Self, BadAgentSession> {
        let fits = (1..=BYTES).contains(&text.len());
        // The agent would read an id with a leading dash as an option.
        let is_name = !text.starts_with('-') && text.bytes().all(|b| b.is_ascii_graphic());
        if fits && is_name {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadAgentSession(text.chars().take(80).collect()))
        }
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AgentSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_could_be_an_option_or_several_words_is_refused() {
        let long = "x".repeat(BYTES + 1);
        for text in ["", "-r", "--help", "a b", "a\nb", "a\0", "\u{1b}[m", "é", &long] {
            assert!(AgentSession::new(text).is_err(), "{text:?}");
        }
        let longest = "x".repeat(BYTES);
        for text in ["89152ab0-cb56-4f19-909e-b6bbef69e0c0", "ses_e1d2", "5", "a/b", &longest] {
            assert_eq!(AgentSession::new(text).unwrap().as_str(), text);
        }
        assert!(AgentSession::new(&long).unwrap_err().to_string().len() < 300);
    }
}
