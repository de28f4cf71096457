//! JSON Schemas of the tools' requests and replies, simplified for strict clients: no references, no Rust formats,
//! one type per field (a null field is left out instead), and a choice of words as a plain `enum`.

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

/// The parts of a tool that clients do not see and may not use.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Hidden {
    /// Fields: a client is bound to a session, and can set neither its identity nor what only others may.
    pub(crate) fields: &'static [&'static str],
    /// Actions that are not for agents.
    pub(crate) actions: &'static [&'static str],
}

/// Returns the schema of a client's request.
pub(crate) fn input<T: JsonSchema>(required: &[&str], hidden: Hidden) -> JsonObject {
    let mut schema = of::<T>();
    if let Some(Value::Array(words)) = schema.pointer_mut("/properties/action/oneOf") {
        words.retain(|word| {
            let name = word.get("const").and_then(Value::as_str);
            name.is_none_or(|name| !hidden.actions.contains(&name))
        });
    }
    tidy(&mut schema);
    let mut schema = object(schema);
    if let Some(Value::Object(fields)) = schema.get_mut("properties") {
        fields.retain(|name, _| !hidden.fields.contains(&&**name));
    }
    schema.insert("required".to_owned(), json!(required));
    schema.insert("additionalProperties".to_owned(), json!(false));
    schema
}

/// Returns the schema of a reply, in which the `required` fields are always present.
pub(crate) fn output<T: JsonSchema>(required: &[&str]) -> JsonObject {
    let mut schema = of::<T>();
    tidy(&mut schema);
    let mut schema = object(schema);
    schema.insert("required".to_owned(), json!(required));
    schema
}

fn of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

fn object(schema: Value) -> JsonObject {
    let Value::Object(mut schema) = schema else { return JsonObject::new() };
    // The tool has a description of its own.
    for word in ["title", "description"] {
        schema.remove(word);
    }
    schema
}

fn tidy(schema: &mut Value) {
    let Value::Object(map) = schema else { return };
    for word in ["format", "default", "$schema"] {
        map.remove(word);
    }
    choice(map);
    alternative(map);
    if let Some(Value::String(about)) = map.get_mut("description") {
        *about = about.replace('\n', " ");
    }
    if let Some(Value::Array(types)) = map.get("type")
        && let [one] = &types.iter().filter(|name| *name != "null").cloned().collect::<Vec<_>>()[..]
    {
        let one = one.clone();
        map.insert("type".to_owned(), one);
    }
    for below in ["properties", "$defs"] {
        if let Some(Value::Object(named)) = map.get_mut(below) {
            named.values_mut().for_each(tidy);
        }
    }
    for below in ["items", "additionalProperties"] {
        if let Some(value) = map.get_mut(below) {
            tidy(value);
        }
    }
}

/// Merges words with a description each into one list of words and one description.
fn choice(map: &mut JsonObject) {
    let Some(Value::Array(words)) = map.get("oneOf") else { return };
    let named: Option<Vec<(String, String)>> = words
        .iter()
        .map(|word| {
            let about = word.get("description").and_then(Value::as_str).unwrap_or_default();
            Some((word.get("const")?.as_str()?.to_owned(), about.trim_end_matches('.').to_owned()))
        })
        .collect();
    let Some(named) = named else { return };
    let listed: Vec<_> = named.iter().map(|(word, about)| format!("{word}: {about}")).collect();
    let about = map.get("description").and_then(Value::as_str).unwrap_or_default();
    let about = format!("{about} {}.", listed.join(". ")).trim().to_owned();
    map.remove("oneOf");
    map.insert("type".to_owned(), json!("string"));
    map.insert("enum".to_owned(), named.into_iter().map(|(word, _)| word).collect());
    map.insert("description".to_owned(), json!(about));
}

/// Replaces "something or null" by the something.
fn alternative(map: &mut JsonObject) {
    let Some(Value::Array(either)) = map.get("anyOf") else { return };
    let is_null = |schema: &Value| schema.get("type") == Some(&json!("null"));
    let [something] = &either.iter().filter(|schema| !is_null(schema)).cloned().collect::<Vec<_>>()[..]
    else {
        return;
    };
    let Value::Object(mut something) = something.clone() else { return };
    if map.contains_key("description") {
        something.remove("description");
    }
    choice(&mut something);
    let own = map.remove("description");
    let about = [own.as_ref(), something.get("description")].into_iter().flatten().filter_map(Value::as_str);
    let about = about.collect::<Vec<_>>().join(" ");
    map.remove("anyOf");
    map.extend(something);
    if !about.is_empty() {
        map.insert("description".to_owned(), json!(about));
    }
}
