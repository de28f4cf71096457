//! Finds servers in TOML.

use crate::server::{Array, Item, Server, newline};
use crate::{BadFile, Span, TablePath, line_of};
use toml_edit::{Document, TableLike};

/// Finds the servers of every table.
pub(crate) fn servers(text: &str, tables: &[TablePath]) -> Result<Vec<Server>, BadFile> {
    let parsed = Document::parse(text).map_err(|error| BadFile::Syntax {
        line: line_of(text, error.span().map_or(0, |span| span.start)),
        reason: error.message().lines().collect::<Vec<_>>().join(", "),
    })?;
    let mut found = Vec::new();
    for table in tables {
        walk(text, parsed.as_table(), table, &mut Vec::new(), &mut found);
    }
    found.sort_by_key(|server| server.command.start);
    Ok(found)
}

fn walk(text: &str, object: &dyn TableLike, table: &[&str], keys: &mut Vec<String>, found: &mut Vec<Server>) {
    for (name, item) in object.iter() {
        let (below, is_server) = match table {
            [] => (table, true),
            [key, rest @ ..] if *key == "*" || *key == name => (rest, false),
            [_, ..] => continue,
        };
        let Some(value) = item.as_table_like() else { continue };
        keys.push(name.to_owned());
        if is_server {
            found.extend(server(text, value, item.is_inline_table(), keys));
        } else {
            walk(text, value, below, keys, found);
        }
        keys.pop();
    }
}

fn server(text: &str, table: &dyn TableLike, is_inline: bool, keys: &[String]) -> Option<Server> {
    let (key, command) = table.get_key_value("command")?;
    let program = command.as_str()?.to_owned();
    let args = match table.get("args") {
        None => None,
        Some(args) => Some(Array {
            span: args.span()?,
            items: args.as_array()?.iter().map(item).collect::<Option<_>>()?,
        }),
    };
    let key = key.span()?;
    let separator = if is_inline && !table.is_dotted() {
        ", args = ".to_owned()
    } else if is_inline {
        // Dotted keys in an inline table have no line of their own to repeat.
        return None;
    } else {
        // The prefix of a dotted key is repeated.
        let line = text[..key.start].rfind('\n').map_or(0, |end| end + 1);
        format!("{}{}args = ", newline(text), &text[line..key.start])
    };
    Some(Server { name: keys.join("."), program, command: command.span()?, args, separator })
}

fn item(value: &toml_edit::Value) -> Option<Item> {
    let span: Span = value.span()?;
    Some(Item { span, text: value.as_str().map(str::to_owned) })
}
