//! Finds servers in JSON with comments.

use crate::server::{Array, Item, Server, indentation, newline};
use crate::{BadFile, Span, TablePath};
use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

/// Finds the servers of every table.
pub(crate) fn servers(text: &str, tables: &[TablePath]) -> Result<Vec<Server>, BadFile> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options);
    let parsed = parsed.map_err(|error| BadFile::Syntax {
        line: error.line_display(),
        reason: error.kind().to_string().to_lowercase(),
    })?;
    let mut found = Vec::new();
    if let Some(Value::Object(root)) = &parsed.value {
        for table in tables {
            walk(text, root, table, &mut Vec::new(), &mut found);
        }
    }
    found.sort_by_key(|server| server.command.start);
    Ok(found)
}

fn walk(text: &str, object: &Object, table: &[&str], keys: &mut Vec<String>, found: &mut Vec<Server>) {
    for property in &object.properties {
        let name = property.name.as_str();
        let (below, is_server) = match table {
            [] => (table, true),
            [key, rest @ ..] if *key == "*" || *key == name => (rest, false),
            [_, ..] => continue,
        };
        let Value::Object(value) = &property.value else { continue };
        keys.push(name.to_owned());
        if is_server {
            found.extend(server(text, value, keys));
        } else {
            walk(text, value, below, keys, found);
        }
        keys.pop();
    }
}

/// Reads a server. Zed once had the program and its arguments in an object below `command`.
fn server(text: &str, object: &Object, keys: &[String]) -> Option<Server> {
    match &last(object, "command")?.value {
        Value::Object(nested) => command(text, nested, "path", keys),
        Value::StringLit(_)
        | Value::NumberLit(_)
        | Value::BooleanLit(_)
        | Value::Array(_)
        | Value::NullKeyword(_) => command(text, object, "command", keys),
    }
}

fn command(text: &str, object: &Object, key: &str, keys: &[String]) -> Option<Server> {
    let property = last(object, key)?;
    let literal = property.value.as_string_lit()?;
    let args = match last(object, "args").map(|args| &args.value) {
        None => None,
        Some(Value::Array(array)) => Some(Array {
            span: span(array),
            items: array
                .elements
                .iter()
                .map(|value| Item { span: span(value), text: string(value) })
                .collect(),
        }),
        // Arguments that are no array are the application's mistake to report.
        Some(
            Value::StringLit(_)
            | Value::NumberLit(_)
            | Value::BooleanLit(_)
            | Value::Object(_)
            | Value::NullKeyword(_),
        ) => return None,
    };
    let separator = match indentation(text, property.range.start) {
        Some(indentation) => format!(",{}{indentation}\"args\": ", newline(text)),
        None => ", \"args\": ".to_owned(),
    };
    let (name, program) = (keys.join("."), literal.value.to_string());
    Some(Server { name, program, command: span(literal), args, separator })
}

/// Of equal keys the last one counts, as in the applications' own parsers.
fn last<'a, 'b>(object: &'b Object<'a>, key: &str) -> Option<&'b ObjectProp<'a>> {
    object.properties.iter().rev().find(|property| property.name.as_str() == key)
}

fn string(value: &Value) -> Option<String> {
    value.as_string_lit().map(|literal| literal.value.to_string())
}

fn span(node: &impl Ranged) -> Span {
    node.range().start..node.range().end
}
