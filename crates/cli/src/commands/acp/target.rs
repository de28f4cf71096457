//! Which session is meant: a key, an agent's session of a directory, or the only one of this directory.

use crate::failure::Failure;
use crate::{print, reach};
use sha2::{Digest, Sha256};
use std::env;
use std::ffi::OsStr;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use tenure_core::session::{Backend, SessionState};
use tenure_core::tools::sessions::{Action, SessionsRequest};
use tenure_settings::Settings;

/// How much of a directory's name is in the key of its session.
const NAME_CHARS: usize = 40;

/// Where sessions are looked for.
pub(super) struct Target<'a> {
    pub(super) settings: &'a Settings,
}

impl Target<'_> {
    /// The key of the session that a word means; without one, of the only open one of this directory.
    pub(super) fn key(&self, word: Option<&str>) -> Result<String, Failure> {
        match word {
            Some(word) if self.is_agent(word)? => Ok(of_directory(word, &canonical(Path::new("."))?)),
            Some(word) => Ok(word.to_owned()),
            None => self.only(),
        }
    }

    /// Whether an agent of this name has an adapter.
    fn is_agent(&self, word: &str) -> Result<bool, Failure> {
        let file = self.settings.config().unwrap_or_else(|| Path::new("config.toml"));
        let all = tenure_agents::adapters(file, self.settings.agents()).map_err(Failure::refused)?;
        Ok(all.keys().any(|name| name.as_str() == word))
    }

    fn only(&self) -> Result<String, Failure> {
        let request = SessionsRequest {
            backend: Some(Backend::Acp),
            states: vec![SessionState::Idle, SessionState::Busy],
            ..SessionsRequest::new(Action::List)
        };
        let reply = reach::wait(reach::needed(self.settings)?.sessions(&request))?;
        let here = canonical(Path::new("."))?;
        let is_here = |cwd: &str| Path::new(cwd).canonicalize().is_ok_and(|cwd| cwd == here);
        let all = reply.sessions.unwrap_or_default();
        let mut here = all.iter().filter(|session| session.row.work.cwd.as_deref().is_some_and(is_here));
        match (here.next(), here.next()) {
            (Some(session), None) => Ok(session.row.key.to_string()),
            (None, _) => Err(Failure::no_such(
                "no session of an ACP agent is open in this directory: `tenure acp sessions` lists all",
            )),
            (Some(one), Some(other)) => Err(Failure::usage(format!(
                "several sessions are open in this directory, {} and {} among them: write which",
                print::plain(one.row.key.as_str()),
                print::plain(other.row.key.as_str()),
            ))),
        }
    }
}

/// A directory, called by the one name that all links to it share.
pub(super) fn canonical(directory: &Path) -> Result<PathBuf, Failure> {
    let failed = |error| Failure::refused(format!("{}: {error}", directory.display()));
    env::current_dir().and_then(|here| here.join(directory).canonicalize()).map_err(failed)
}

/// The key of an agent's session of a directory.
pub(super) fn of_directory(agent: &str, directory: &Path) -> String {
    let name = directory.file_name().map_or_else(|| "root".into(), OsStr::to_string_lossy);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let name: String = name.chars().take(NAME_CHARS).map(|c| if is_plain(c) { c } else { '-' }).collect();
    let digest = Sha256::digest(directory.as_os_str().as_encoded_bytes());
    let mut hash = String::new();
    for byte in &digest[..4] {
        // A String takes everything.
        let _ = write!(hash, "{byte:02x}");
    }
    format!("agent:{agent}:acp:{name}-{hash}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_core::session::SessionKey;

    #[test]
    fn a_directory_has_one_key_for_each_agent_whatever_it_is_called() {
        for name in ["/home/me/project", "/", "/a/..b", "/tmp/two words", "/x/é\u{202e}\n", "/x/a:b"] {
            let key = of_directory("claude", Path::new(name));
            let parsed: SessionKey = key.parse().unwrap();
            assert_eq!(parsed.agent().unwrap().as_str(), "claude");
        }
        let key = of_directory("claude", Path::new("/home/me/project"));
        assert!(key.starts_with("agent:claude:acp:project-"), "{key}");
        assert_ne!(key, of_directory("claude", Path::new("/home/you/project")));
        assert_ne!(key, of_directory("codex", Path::new("/home/me/project")));
    }
}
