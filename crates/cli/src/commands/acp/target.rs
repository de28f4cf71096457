//! Finds the session that a command acts on: by its key, by its agent and directory, or the only open one of this
//! directory. A directory's session is also found from its subdirectories, up to the root of the repository.

use super::about;
use crate::failure::Failure;
use crate::{daemon_client, print};
use sha2::{Digest, Sha256};
use std::env;
use std::ffi::OsStr;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use tenure_client::Client;
use tenure_core::session::{Backend, SessionRow, SessionState};
use tenure_core::tools::sessions::{Action, SessionsRequest};
use tenure_os::place;
use tenure_settings::Settings;

/// Maximum length of the directory's name in a session key, in characters.
const NAME_CHARS: usize = 40;
/// Number of sessions per request.
const PAGE: u64 = 200;

/// Finds sessions by the words of the command line.
pub(super) struct Target<'a> {
    pub(super) settings: &'a Settings,
}

impl Target<'_> {
    /// Key of the session that a word names; without a word, of the only open session of this directory.
    pub(super) fn key(&self, word: Option<&str>) -> Result<String, Failure> {
        match word {
            Some(word) if self.is_agent(word) => self.of_agent(word),
            Some(word) => Ok(word.to_owned()),
            None => self.only(),
        }
    }

    /// Returns true if an agent of this name has an adapter.
    fn is_agent(&self, word: &str) -> bool {
        let file = self.settings.config().unwrap_or_else(|| Path::new("config.toml"));
        tenure_agents::adapters(file, self.settings.agents()).contains_key(word)
    }

    /// Key of the agent's open session in this directory or the nearest one above it, else of the last session here.
    fn of_agent(&self, agent: &str) -> Result<String, Failure> {
        let here = canonical(Path::new("."))?;
        let client = daemon_client::require(self.settings)?;
        match open_session(&client, agent, &searched_directories(&here))? {
            Some((key, _)) => Ok(key),
            None => Ok(DirectorySessions::list(&client, first_key(agent, &here))?.current()),
        }
    }

    /// Key of the only open session in this directory or the nearest one above it that has any.
    fn only(&self) -> Result<String, Failure> {
        let request = SessionsRequest {
            backend: Some(Backend::Acp),
            states: vec![SessionState::Idle, SessionState::Busy],
            ..SessionsRequest::new(Action::List)
        };
        let reply = daemon_client::call(daemon_client::require(self.settings)?.sessions(&request))?;
        let all = reply.sessions.unwrap_or_default();
        for place in searched_directories(&canonical(Path::new("."))?) {
            let is_there = |cwd: &str| Path::new(cwd).canonicalize().is_ok_and(|cwd| cwd == place);
            let mut there =
                all.iter().filter(|session| session.row.work.cwd.as_deref().is_some_and(is_there));
            match (there.next(), there.next()) {
                (Some(session), None) => return Ok(session.row.key.to_string()),
                (None, _) => {}
                (Some(one), Some(other)) => {
                    return Err(Failure::usage(format!(
                        "several sessions are open in {}, for example {} and {}: name one",
                        print::plain(&place.to_string_lossy()),
                        print::plain(one.row.key.as_str()),
                        print::plain(other.row.key.as_str()),
                    )));
                }
            }
        }
        Err(Failure::no_such(
            "no session of an ACP agent is open in this directory: `tenure acp sessions` lists all",
        ))
    }
}

/// The sessions of one agent in one directory. The first session's key is the directory's; later ones add a number, because a
/// closed session keeps its key.
#[derive(Debug)]
pub(super) struct DirectorySessions {
    first: String,
    /// Keys and states of the sessions, newest first.
    members: Vec<(String, SessionState)>,
}

impl DirectorySessions {
    /// Lists the sessions whose first key is `first`.
    pub(super) fn list(client: &Client, first: String) -> Result<Self, Failure> {
        let mut members = Vec::new();
        let mut request = SessionsRequest {
            prefix: Some(first.clone()),
            limit: Some(PAGE),
            ..SessionsRequest::new(Action::List)
        };
        loop {
            let reply = daemon_client::call(client.sessions(&request))?;
            let rows = reply.sessions.into_iter().flatten().map(|session| session.row);
            members.extend(rows.map(|row| (row.key.to_string(), row.state)));
            request.after = reply.next;
            if request.after.is_none() {
                members.retain(|(key, _)| number(&first, key).is_some());
                return Ok(Self { first, members });
            }
        }
    }

    /// Key of the open session, if any.
    fn open(&self) -> Option<&str> {
        self.members.iter().find(|(_, state)| state.is_open()).map(|(key, _)| key.as_str())
    }

    /// Key of the open session, else of the newest one.
    fn current(self) -> String {
        let open = self.open().map(str::to_owned);
        open.or_else(|| self.members.into_iter().next().map(|(key, _)| key)).unwrap_or(self.first)
    }

    /// Key for the next new session.
    pub(super) fn next(self) -> String {
        let last = self.members.iter().filter_map(|(key, _)| number(&self.first, key)).max();
        match last {
            None => self.first,
            Some(last) => format!("{}-{}", self.first, last + 1),
        }
    }
}

/// Number of a key among its directory's sessions; `None` if it is not one of them.
fn number(first: &str, key: &str) -> Option<u64> {
    match key.strip_prefix(first)? {
        "" => Some(1),
        rest => rest.strip_prefix('-')?.parse().ok(),
    }
}

/// Resolves a directory's links, so that every path to it gives the same session key.
pub(super) fn canonical(directory: &Path) -> Result<PathBuf, Failure> {
    let failed = |error| Failure::refused(format!("{}: {error}", directory.display()));
    env::current_dir().and_then(|here| here.join(directory).canonicalize()).map_err(failed)
}

/// Directories whose sessions are found from a directory, the nearest first.
pub(super) fn searched_directories(directory: &Path) -> Vec<PathBuf> {
    let home = env::var_os(place::home_variable()).and_then(|home| Path::new(&home).canonicalize().ok());
    searched_directories_by(directory, home.as_deref(), |place| place.join(".git").exists())
}

/// The directory and its parents up to the root of the repository, but none above the home. Outside a repository, only the
/// directory itself.
fn searched_directories_by(
    directory: &Path,
    home: Option<&Path>,
    is_root: impl Fn(&Path) -> bool,
) -> Vec<PathBuf> {
    let Some(root) = directory.ancestors().position(is_root) else { return vec![directory.to_owned()] };
    let home = directory.ancestors().position(|place| Some(place) == home);
    let last = home.map_or(root, |home| root.min(home));
    directory.ancestors().take(last + 1).map(Path::to_owned).collect()
}

/// Finds the agent's open session in the first directory that has one. Returns its key and the directory.
pub(super) fn open_session(
    client: &Client,
    agent: &str,
    places: &[PathBuf],
) -> Result<Option<(String, PathBuf)>, Failure> {
    for place in places {
        if let Some(key) = DirectorySessions::list(client, first_key(agent, place))?.open() {
            return Ok(Some((key.to_owned(), place.clone())));
        }
    }
    Ok(None)
}

/// Session with this key, if it exists.
pub(super) fn session(client: &Client, key: &str) -> Result<Option<SessionRow>, Failure> {
    match daemon_client::try_call(client.sessions(&about(Action::Status, key.to_owned())))? {
        Ok(reply) => Ok(reply.session.map(|session| session.row)),
        Err(failed) if failed.code() == Some("no-such-session") => Ok(None),
        Err(failed) => Err(daemon_client::to_failure(&failed)),
    }
}

/// Key of an agent's first session in a directory.
pub(super) fn first_key(agent: &str, directory: &Path) -> String {
    let name = directory.file_name().map_or_else(|| "root".into(), OsStr::to_string_lossy);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let name: String = name.chars().take(NAME_CHARS).map(|c| if is_plain(c) { c } else { '-' }).collect();
    let digest = Sha256::digest(directory.as_os_str().as_encoded_bytes());
    let mut hash = String::new();
    for byte in &digest[..4] {
        // Writing to a String cannot fail.
        let _ = write!(hash, "{byte:02x}");
    }
    format!("agent:{agent}:acp:{name}-{hash}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_core::session::SessionKey;

    fn family(members: &[(&str, SessionState)]) -> DirectorySessions {
        let members = members.iter().map(|(key, state)| ((*key).to_owned(), *state)).collect();
        DirectorySessions { first: "a".to_owned(), members }
    }

    #[test]
    fn the_open_session_of_a_directory_is_used_and_a_new_one_gets_the_next_number() {
        use SessionState::{Busy, Closed, Closing, Idle};
        for (members, open, current, next) in [
            (&[][..], None, "a", "a"),
            (&[("a", Idle)], Some("a"), "a", "a-2"),
            (&[("a", Closed)], None, "a", "a-2"),
            (&[("a-2", Busy), ("a", Closed)], Some("a-2"), "a-2", "a-3"),
            (&[("a-10", Closing), ("a-9", Closed)], None, "a-10", "a-11"),
        ] {
            assert_eq!(family(members).open(), open);
            assert_eq!(family(members).current(), current);
            assert_eq!(family(members).next(), next);
        }
        assert_eq!(
            ["a", "a-7", "ab", "a-b", "a:x"].map(|key| number("a", key)),
            [Some(1), Some(7), None, None, None]
        );
    }

    #[test]
    fn a_directory_with_any_name_has_one_key_per_agent() {
        for name in ["/home/me/project", "/", "/a/..b", "/tmp/two words", "/x/é\u{202e}\n", "/x/a:b"] {
            let key = first_key("claude", Path::new(name));
            let parsed: SessionKey = key.parse().unwrap();
            assert_eq!(parsed.agent().unwrap().as_str(), "claude");
        }
        let key = first_key("claude", Path::new("/home/me/project"));
        assert!(key.starts_with("agent:claude:acp:project-"), "{key}");
        assert_ne!(key, first_key("claude", Path::new("/home/you/project")));
        assert_ne!(key, first_key("codex", Path::new("/home/me/project")));
    }

    #[test]
    fn a_session_is_found_from_below_up_to_the_root_of_the_repository() {
        let searched = |from: &str, home: Option<&str>, repositories: &[&str]| -> Vec<String> {
            let is_root = |place: &Path| repositories.iter().any(|root| Path::new(root) == place);
            let places = searched_directories_by(Path::new(from), home.map(Path::new), is_root);
            places.iter().map(|place| place.display().to_string()).collect()
        };
        let home = Some("/home/me");
        assert_eq!(
            searched("/home/me/p/src/a", home, &["/home/me/p"]),
            ["/home/me/p/src/a", "/home/me/p/src", "/home/me/p"]
        );
        assert_eq!(searched("/home/me/p", home, &["/home/me/p", "/home/me"]), ["/home/me/p"]);
        // Outside a repository, only the directory itself is searched.
        assert_eq!(searched("/home/me/p/src", home, &[]), ["/home/me/p/src"]);
        // A home can be a repository; directories above it are never searched.
        assert_eq!(searched("/home/me/p", home, &["/home/me"]), ["/home/me/p", "/home/me"]);
        assert_eq!(searched("/home/me/p", home, &["/"]), ["/home/me/p", "/home/me"]);
        assert_eq!(searched("/home/me", home, &["/home"]), ["/home/me"]);
        // Outside the home, only the repository's root is the limit.
        assert_eq!(searched("/srv/p/a", home, &["/srv/p"]), ["/srv/p/a", "/srv/p"]);
        assert_eq!(searched("/srv/a", None, &["/"]), ["/srv/a", "/srv", "/"]);
    }
}
