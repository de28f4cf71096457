//! The body of a call of a tool in which `action` may be left out: then it is the tool's own. It is put in while the body
//! is read, so that what is wrong with the body is told like that of any other.

use serde::de::value::{BorrowedStrDeserializer, MapAccessDeserializer};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;
use tenure_core::tools::sessions::SessionsRequest;
use tenure_core::tools::tasks::TasksRequest;

const ACTION: &str = "action";

/// What a tool is asked.
pub(super) trait Asked {
    /// What it does if nobody says what.
    const UNSAID: &'static str;
}

impl Asked for SessionsRequest {
    const UNSAID: &'static str = "spawn";
}

impl Asked for TasksRequest {
    const UNSAID: &'static str = "list";
}

/// What is asked, or what is done unasked.
#[derive(Debug)]
pub(super) struct OrUnsaid<T>(pub(super) T);

impl<'de, T: Asked + Deserialize<'de>> Deserialize<'de> for OrUnsaid<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Fields(PhantomData))
    }
}

struct Fields<T>(PhantomData<T>);

impl<'de, T: Asked + Deserialize<'de>> Visitor<'de> for Fields<T> {
    type Value = OrUnsaid<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, fields: M) -> Result<OrUnsaid<T>, M::Error> {
        let fields = Filled { fields, action: Given::No, unsaid: T::UNSAID };
        T::deserialize(MapAccessDeserializer::new(fields)).map(OrUnsaid)
    }
}

/// Whether the action is there.
enum Given {
    No,
    /// The body has it, or its value was put in.
    Yes,
    /// Its name was put in, its value comes next.
    ByUs,
}

/// The fields of a body, and the action at their end if it is not among them.
struct Filled<M> {
    fields: M,
    action: Given,
    unsaid: &'static str,
}

impl<'de, M: MapAccess<'de>> MapAccess<'de> for Filled<M> {
    type Error = M::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, M::Error> {
        let name = match (self.fields.next_key::<String>()?, &self.action) {
            (Some(name), _) => {
                if name == ACTION {
                    self.action = Given::Yes;
                }
                name
            }
            (None, Given::No) => {
                self.action = Given::ByUs;
                ACTION.to_owned()
            }
            (None, Given::Yes | Given::ByUs) => return Ok(None),
        };
        seed.deserialize(name.into_deserializer()).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, M::Error> {
        if matches!(self.action, Given::ByUs) {
            self.action = Given::Yes;
            return seed.deserialize(BorrowedStrDeserializer::new(self.unsaid));
        }
        self.fields.next_value_seed(seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_core::tools::sessions::Action;
    use tenure_core::tools::tasks;

    fn read_as<T: Asked + for<'de> Deserialize<'de>>(text: &str) -> Result<T, String> {
        let mut json = serde_json::Deserializer::from_str(text);
        let read: Result<OrUnsaid<T>, _> = serde_path_to_error::deserialize(&mut json);
        read.map(|OrUnsaid(request)| request).map_err(|error| error.to_string())
    }

    fn read(text: &str) -> Result<SessionsRequest, String> {
        read_as(text)
    }

    #[test]
    fn without_an_action_it_is_the_tools_own_and_with_one_it_is_that() {
        assert_eq!(read_as("{}"), Ok(TasksRequest::new(tasks::Action::List)));
        assert_eq!(read("{}"), Ok(SessionsRequest::new(Action::Spawn)));
        let request = read(r#"{"sessionKey": "a", "task": "b"}"#).unwrap();
        assert_eq!((request.action, request.task.as_deref()), (Action::Spawn, Some("b")));
        let request = read(r#"{"sessionKey": "a", "action": "close"}"#).unwrap();
        assert_eq!((request.action, request.session_key.as_deref()), (Action::Close, Some("a")));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_name_and_place() {
        for (text, words) in [
            (r#"{"tsak": "b"}"#, ["`tsak`", "line 1"]),
            (r#"{"task": 1}"#, ["task", "line 1"]),
            (r#"{"action": "fly"}"#, ["`fly`", "line 1"]),
            (r#"{"action": null}"#, ["action", "line 1"]),
            (r#"{"action": "list", "action": "close"}"#, ["duplicate", "`action`"]),
            (r#"{"task": "a", "task": "b"}"#, ["duplicate", "`task`"]),
            (r#"{"task": "a""#, ["EOF", "line 1"]),
            ("null", ["null", "an object"]),
        ] {
            let why = read(text).unwrap_err();
            assert!(words.iter().all(|word| why.contains(word)), "{text}: {why}");
        }
    }
}
