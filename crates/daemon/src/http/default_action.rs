//! Default of the field `action` in the body of a tool call. It is inserted while the body is read, so that errors keep
//! their field and line.

use serde::de::value::{BorrowedStrDeserializer, MapAccessDeserializer};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;
use tenure_core::tools::sessions::SessionsRequest;
use tenure_core::tools::tasks::TasksRequest;

const ACTION: &str = "action";

/// A request of a tool.
pub(super) trait ToolRequest {
    /// Action of a request that does not name one.
    const DEFAULT_ACTION: &'static str;
}

impl ToolRequest for SessionsRequest {
    const DEFAULT_ACTION: &'static str = "spawn";
}

impl ToolRequest for TasksRequest {
    const DEFAULT_ACTION: &'static str = "list";
}

/// A request whose `action` may be missing.
#[derive(Debug)]
pub(super) struct WithDefaultAction<T>(pub(super) T);

impl<'de, T: ToolRequest + Deserialize<'de>> Deserialize<'de> for WithDefaultAction<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Fields(PhantomData))
    }
}

struct Fields<T>(PhantomData<T>);

impl<'de, T: ToolRequest + Deserialize<'de>> Visitor<'de> for Fields<T> {
    type Value = WithDefaultAction<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, fields: M) -> Result<WithDefaultAction<T>, M::Error> {
        let fields = FieldsWithAction { fields, action: ActionField::Missing, default: T::DEFAULT_ACTION };
        T::deserialize(MapAccessDeserializer::new(fields)).map(WithDefaultAction)
    }
}

/// State of the field `action` while the body is read.
enum ActionField {
    Missing,
    /// The body has it, or it was inserted.
    Present,
    /// Its name was inserted; its value comes next.
    NameInserted,
}

/// Fields of a body, followed by the action if the body lacks it.
struct FieldsWithAction<M> {
    fields: M,
    action: ActionField,
    default: &'static str,
}

impl<'de, M: MapAccess<'de>> MapAccess<'de> for FieldsWithAction<M> {
    type Error = M::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, M::Error> {
        let name = match (self.fields.next_key::<String>()?, &self.action) {
            (Some(name), _) => {
                if name == ACTION {
                    self.action = ActionField::Present;
                }
                name
            }
            (None, ActionField::Missing) => {
                self.action = ActionField::NameInserted;
                ACTION.to_owned()
            }
            (None, ActionField::Present | ActionField::NameInserted) => return Ok(None),
        };
        seed.deserialize(name.into_deserializer()).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, M::Error> {
        if matches!(self.action, ActionField::NameInserted) {
            self.action = ActionField::Present;
            return seed.deserialize(BorrowedStrDeserializer::new(self.default));
        }
        self.fields.next_value_seed(seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_core::tools::sessions::Action;
    use tenure_core::tools::tasks;

    fn read_as<T: ToolRequest + for<'de> Deserialize<'de>>(text: &str) -> Result<T, String> {
        let mut json = serde_json::Deserializer::from_str(text);
        let read: Result<WithDefaultAction<T>, _> = serde_path_to_error::deserialize(&mut json);
        read.map(|WithDefaultAction(request)| request).map_err(|error| error.to_string())
    }

    fn read(text: &str) -> Result<SessionsRequest, String> {
        read_as(text)
    }

    #[test]
    fn a_missing_action_is_the_tools_default() {
        assert_eq!(read_as("{}"), Ok(TasksRequest::new(tasks::Action::List)));
        assert_eq!(read("{}"), Ok(SessionsRequest::new(Action::Spawn)));
        let request = read(r#"{"sessionKey": "a", "task": "b"}"#).unwrap();
        assert_eq!((request.action, request.task.as_deref()), (Action::Spawn, Some("b")));
        let request = read(r#"{"sessionKey": "a", "action": "close"}"#).unwrap();
        assert_eq!((request.action, request.session_key.as_deref()), (Action::Close, Some("a")));
    }

    #[test]
    fn an_error_names_its_field_and_line() {
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
