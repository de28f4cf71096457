//! The edits: the program moves to the front of its own arguments and back.

use crate::server::{Array, Server};
use crate::{BadFile, Span, Syntax, TablePath, json, line_of, toml};

/// The arguments of a server that had none in the file. The missing spaces tell it from a server that had an empty array:
/// `unwrap` takes the whole key away.
const GUARD_ARGUMENTS: (&str, &str) = ("[\"guard\",\"--\",", "]");

/// A text after an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The text.
    pub text: String,
    /// The servers that were changed.
    pub servers: Vec<String>,
}

struct Edit {
    at: Span,
    text: String,
}

fn servers(text: &str, syntax: Syntax, tables: &[TablePath]) -> Result<Vec<Server>, BadFile> {
    match syntax {
        Syntax::Json => json::servers(text, tables),
        Syntax::Toml => toml::servers(text, tables),
    }
}

/// Puts `tenure guard --` before each server's command. `tenure` is the path of the program. A server that has a guard keeps
/// it, with this path; Tenure's own servers need none.
pub fn wrap(text: &str, syntax: Syntax, tables: &[TablePath], tenure: &str) -> Result<Changed, BadFile> {
    let tenure = serde_json::Value::from(tenure).to_string();
    change(text, &servers(text, syntax, tables)?, |server| {
        let program = Edit { at: server.command.clone(), text: tenure.clone() };
        if server.is_tenure() {
            let moved = server.guarded().is_some() && text[server.command.clone()] != tenure;
            return Ok(if moved { vec![program] } else { Vec::new() });
        }
        let literal = &text[server.command.clone()];
        let guard = match &server.args {
            None => Edit {
                at: server.command.end..server.command.end,
                text: format!("{}{}{literal}{}", server.separator, GUARD_ARGUMENTS.0, GUARD_ARGUMENTS.1),
            },
            Some(Array { span, items }) => {
                let (at, rest) = items.first().map_or((span.start + 1, ""), |first| (first.span.start, ", "));
                Edit { at: at..at, text: format!("\"guard\", \"--\", {literal}{rest}") }
            }
        };
        Ok(vec![program, guard])
    })
}

/// Removes `tenure guard --`.
pub fn unwrap(text: &str, syntax: Syntax, tables: &[TablePath]) -> Result<Changed, BadFile> {
    change(text, &servers(text, syntax, tables)?, |server| {
        let (Some(at), Some(args)) = (server.guarded(), &server.args) else { return Ok(Vec::new()) };
        let literal = &text[args.items[at].span.clone()];
        let program = Edit { at: server.command.clone(), text: literal.to_owned() };
        let added = format!("{}{}{literal}{}", server.separator, GUARD_ARGUMENTS.0, GUARD_ARGUMENTS.1);
        let removed = if text[server.command.end..].starts_with(&added) {
            server.command.end..server.command.end + added.len()
        } else {
            guard_arguments(text, server, args, at)?
        };
        Ok(vec![program, Edit { at: removed, text: String::new() }])
    })
}

/// Returns the bytes of the guard's arguments up to the first one of the program's own.
fn guard_arguments(text: &str, server: &Server, args: &Array, program: usize) -> Result<Span, BadFile> {
    let start = args.items[0].span.start;
    let end = args.items.get(program + 1).map_or_else(
        || {
            let last = args.items[program].span.end;
            let after = &text[last..args.span.end];
            let comma = after.find(',').filter(|&comma| after[..comma].trim().is_empty());
            last + comma.map_or(0, |comma| comma + 1)
        },
        |next| next.span.start,
    );
    let mut from = start;
    for item in &args.items[..=program] {
        let between = from..item.span.start;
        from = item.span.end;
        check_between(text, server, between)?;
    }
    check_between(text, server, from..end)?;
    Ok(start..end)
}

/// Refuses to remove a comment.
fn check_between(text: &str, server: &Server, between: Span) -> Result<(), BadFile> {
    let (at, between) = (between.start, &text[between]);
    match between.find(|c: char| !c.is_whitespace() && c != ',') {
        None => Ok(()),
        Some(comment) => {
            Err(BadFile::Comment { line: line_of(text, at + comment), server: server.name.clone() })
        }
    }
}

fn change(
    text: &str,
    servers: &[Server],
    edits: impl Fn(&Server) -> Result<Vec<Edit>, BadFile>,
) -> Result<Changed, BadFile> {
    let mut all = Vec::new();
    let mut changed = Vec::new();
    for server in servers {
        let edits = edits(server)?;
        if !edits.is_empty() {
            changed.push(server.name.clone());
        }
        all.extend(edits);
    }
    all.sort_by_key(|edit| (edit.at.start, edit.at.end));
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for edit in all {
        out.push_str(&text[from..edit.at.start]);
        out.push_str(&edit.text);
        from = edit.at.end;
    }
    out.push_str(&text[from..]);
    Ok(Changed { text: out, servers: changed })
}
