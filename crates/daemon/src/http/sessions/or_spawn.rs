//! The body of a call of `sessions` in which `action` may be left out: then it is `spawn`. It is put in while the body is
//! read, so that what is wrong with the body is told like that of any other.

use serde::de::value::{BorrowedStrDeserializer, MapAccessDeserializer};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, Visitor};
use std::fmt;
use tenure_core::tools::sessions::SessionsRequest;

const ACTION: &str = "action";
const SPAWN: &str = "spawn";

/// What is asked, or to spawn.
#[derive(Debug)]
pub(in crate::http) struct OrSpawn(pub(super) SessionsRequest);

impl<'de> Deserialize<'de> for OrSpawn {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Fields)
    }
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = OrSpawn;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, fields: M) -> Result<OrSpawn, M::Error> {
        let fields = Filled { fields, action: Given::No };
        SessionsRequest::deserialize(MapAccessDeserializer::new(fields)).map(OrSpawn)
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
            return seed.deserialize(BorrowedStrDeserializer::new(SPAWN));
        }
        self.fields.next_value_seed(seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_core::tools::sessions::Action;

    fn read(text: &str) -> Result<SessionsRequest, String> {
        let mut json = serde_json::Deserializer::from_str(text);
        let read: Result<OrSpawn, _> = serde_path_to_error::deserialize(&mut json);
        read.map(|OrSpawn(request)| request).map_err(|error| error.to_string())
    }

    #[test]
    fn without_an_action_it_is_spawn_and_with_one_it_is_that() {
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
