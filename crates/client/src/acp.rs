//! Live updates of the sessions of ACP agents, and answers to the agents' permission requests.

use crate::stream::{self, ServerEvent};
use crate::tools::approval_path;
use crate::{CallError, Client, percent_encode};
use hyper::Method;
use serde::de::DeserializeOwned;
use std::fmt::Write;
use tenure_core::api::{Approval, ChooseRequest};
use tenure_core::tools::sessions::{EntryJson, TurnJson};

/// Update of a followed session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Update {
    /// An entry was added or changed.
    Entry(Box<EntryJson>),
    /// A turn is running, was started or has ended.
    Turn(Box<TurnJson>),
}

/// The session to follow, and the updates to send.
#[derive(Debug, Clone, Copy)]
pub struct FollowRequest<'a> {
    /// The session's key.
    pub key: &'a str,
    /// The turn to follow: the stream ends after its end.
    pub turn: Option<&'a str>,
    /// The entry to continue after; without it, only new entries are sent.
    pub since: Option<u64>,
    /// True if the caller sent the turn's message and waits for the answer: then the turn's end causes no notice.
    pub foreground: bool,
}

impl Client {
    /// Passes each update of a session to `take`, until that returns false, the turn ends, or the daemon goes away.
    pub async fn updates(
        &self,
        followed: FollowRequest<'_>,
        mut take: impl FnMut(Update) -> bool,
    ) -> Result<(), CallError> {
        let mut path = format!("/v1/sessions/{}/updates", percent_encode(followed.key));
        let parameters = [
            ("since", followed.since.map(|since| since.to_string())),
            ("turn", followed.turn.map(percent_encode)),
            ("foreground", followed.foreground.then(|| "true".to_owned())),
        ];
        let mut sign = '?';
        for (name, value) in parameters {
            if let Some(value) = value {
                // Writing to a String cannot fail.
                let _ = write!(path, "{sign}{name}={value}");
                sign = '&';
            }
        }
        let body = self.send(Method::GET, &path, Vec::new()).await?.into_body();
        stream::for_each_event(self, body, |sent| Ok(update(&sent)?.is_none_or(&mut take))).await
    }

    /// Answers an agent's permission request with one of its options.
    pub async fn choose(&self, id: &str, option: &str) -> Result<Approval, CallError> {
        let path = approval_path(id, "choose")?;
        self.call(Method::POST, &path, &ChooseRequest { option: option.to_owned() }).await
    }
}

/// Parses an event; `None` if its kind is unknown: a newer daemon has more.
fn update(sent: &ServerEvent) -> Result<Option<Update>, CallError> {
    let Some(data) = &sent.data else { return Ok(None) };
    Ok(match sent.event.as_deref() {
        Some("entry") => Some(Update::Entry(parse(data)?)),
        Some("turn") => Some(Update::Turn(parse(data)?)),
        _ => None,
    })
}

fn parse<T: DeserializeOwned>(data: &[u8]) -> Result<Box<T>, CallError> {
    serde_json::from_slice(data).map(Box::new).map_err(|error| CallError::NotUnderstood(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_and_turns_are_parsed_and_other_events_are_skipped() {
        let sent = |event: &str, data: &str| ServerEvent {
            event: Some(event.to_owned()),
            id: None,
            data: Some(data.as_bytes().to_vec()),
        };
        let entry = r#"{"number":1,"turnId":null,"atMs":5,"kind":"agent","body":{"text":"hi"}}"#;
        let parsed = update(&sent("entry", entry)).unwrap();
        assert!(matches!(parsed, Some(Update::Entry(entry)) if entry.number == 1 && entry.kind == "agent"));
        assert_eq!(update(&sent("later", "{}")).unwrap(), None);
        assert_eq!(update(&ServerEvent { id: Some(3), ..ServerEvent::default() }).unwrap(), None);
        assert!(update(&sent("turn", "{}")).is_err());
    }
}
