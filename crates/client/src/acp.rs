//! What happens in the sessions of ACP agents, as it happens, and answers to what they ask.

use crate::stream::{self, Sent};
use crate::{Client, Failed, escaped};
use hyper::Method;
use serde::de::DeserializeOwned;
use std::fmt::Write;
use tenure_core::api::{Approval, ChooseRequest};
use tenure_core::tools::sessions::{EntryJson, TurnJson};

/// What is told of a session that is followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Update {
    /// Something happened, or more has become of it.
    Entry(Box<EntryJson>),
    /// A turn is under way, has begun or has ended.
    Turn(Box<TurnJson>),
}

/// What is followed.
#[derive(Debug, Clone, Copy)]
pub struct Followed<'a> {
    /// The session's key.
    pub key: &'a str,
    /// Only until the end of this turn was told.
    pub turn: Option<&'a str>,
    /// Entries after this one; without it, only those from now on.
    pub since: Option<u64>,
    /// Whether the caller sent the turn's message and waits for its answer: once it has that, nobody else is told.
    pub foreground: bool,
}

impl Client {
    /// What happens in a session; each is given to `take` as it comes, until that says no. It ends when the turn has, or
    /// when the daemon goes.
    pub async fn updates(
        &self,
        followed: Followed<'_>,
        mut take: impl FnMut(Update) -> bool,
    ) -> Result<(), Failed> {
        let mut path = format!("/v1/sessions/{}/updates", escaped(followed.key));
        let asked = [
            ("since", followed.since.map(|since| since.to_string())),
            ("turn", followed.turn.map(escaped)),
            ("foreground", followed.foreground.then(|| "true".to_owned())),
        ];
        let mut sign = '?';
        for (name, value) in asked {
            if let Some(value) = value {
                // A String takes everything.
                let _ = write!(path, "{sign}{name}={value}");
                sign = '&';
            }
        }
        let body = self.send(Method::GET, &path, Vec::new()).await?.into_body();
        stream::each(self, body, |sent| Ok(update(&sent)?.is_none_or(&mut take))).await
    }

    /// Answers what an agent asks with one of the options that it offers.
    pub async fn choose(&self, id: &str, option: &str) -> Result<Approval, Failed> {
        let path = format!("/v1/approvals/{}/choose", escaped(id));
        self.call(Method::POST, &path, &ChooseRequest { option: option.to_owned() }).await
    }
}

/// What an event tells; `None` if it is of a kind that a later daemon has.
fn update(sent: &Sent) -> Result<Option<Update>, Failed> {
    let Some(data) = &sent.data else { return Ok(None) };
    Ok(match sent.event.as_deref() {
        Some("entry") => Some(Update::Entry(understood(data)?)),
        Some("turn") => Some(Update::Turn(understood(data)?)),
        _ => None,
    })
}

fn understood<T: DeserializeOwned>(data: &[u8]) -> Result<Box<T>, Failed> {
    serde_json::from_slice(data).map(Box::new).map_err(|error| Failed::NotUnderstood(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_and_turns_are_told_apart_and_others_are_passed_over() {
        let sent = |event: &str, data: &str| Sent {
            event: Some(event.to_owned()),
            id: None,
            data: Some(data.as_bytes().to_vec()),
        };
        let entry = r#"{"number":1,"turnId":null,"atMs":5,"kind":"agent","body":{"text":"hi"}}"#;
        let told = update(&sent("entry", entry)).unwrap();
        assert!(matches!(told, Some(Update::Entry(entry)) if entry.number == 1 && entry.kind == "agent"));
        assert_eq!(update(&sent("later", "{}")).unwrap(), None);
        assert_eq!(update(&Sent { id: Some(3), ..Sent::default() }).unwrap(), None);
        assert!(update(&sent("turn", "{}")).is_err());
    }
}
