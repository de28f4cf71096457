//! The details of an agent's tool call, for the person who decides: its title is written by a model and may say
//! anything.

use crate::schema::{RequestPermissionRequest, ToolCall, ToolCallContent, ToolCallUpdateFields};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use tenure_core::api::{FileDiff, ToolDetails};
use tenure_core::diff::{self, Line};
use tenure_core::visible::{cut, plain_json, shell_line};

/// Maximum length of one text in an approval request: a person decides by it.
pub const APPROVAL_TEXT: usize = 256 << 10;
/// Maximum length of one text in the history: nobody decides by it.
pub const HISTORY_TEXT: usize = 8 << 10;
/// Maximum number of files, and of file changes, in the details.
const FILES: usize = 50;

/// Keys under which agents name commands.
const COMMANDS: [&str; 6] = ["command", "cmd", "commandLine", "command_line", "script", "shell_command"];

/// Keys under which agents put a command's arguments.
const ARGUMENTS: [&str; 3] = ["args", "arguments", "argv"];
/// Maximum depth at which an input is searched for commands.
const DEPTH: usize = 3;

/// Collects the details of a tool call from its fields. No text is longer than about `most` bytes.
pub fn details(fields: &ToolCallUpdateFields, most: usize) -> ToolDetails {
    let input = fields.raw_input.as_ref();
    let raw_input = input.filter(|input| !input.is_null()).map(Value::to_string);
    let named = fields.locations.iter().flatten().map(|location| location.path.display().to_string());
    let mut paths: BTreeSet<String> = named.chain(input.map(paths).unwrap_or_default()).collect();
    let changes = fields.content.iter().flatten().filter_map(|content| match content {
        ToolCallContent::Diff(diff) => {
            let old = diff.old_text.as_deref().unwrap_or_default();
            Some(file_diff(diff.path.display().to_string(), old, &diff.new_text))
        }
        _ => None,
    });
    let mut diffs: Vec<FileDiff> = changes.collect();
    paths.extend(diffs.iter().map(|diff| diff.path.clone()));
    let mut paths: Vec<String> = paths.into_iter().collect();
    let (all_paths, all_diffs) = (paths.len(), diffs.len());
    if all_paths > FILES {
        paths.truncate(FILES);
        paths.push(format!("… ({all_paths} files)"));
    }
    if all_diffs > FILES {
        diffs.truncate(FILES);
        diffs.push(FileDiff { path: format!("… ({all_diffs} changes)"), diff: String::new() });
    }
    let details = ToolDetails {
        kind: fields.kind.and_then(|kind| Some(serde_json::to_value(kind).ok()?.as_str()?.to_owned())),
        command: input.and_then(command),
        paths,
        diffs,
        raw_input: raw_input.map(|json| plain_json(&json).into_owned()),
    };
    details.cut(most)
}

/// Builds the diff of one file.
pub fn file_diff(path: String, old: &str, new: &str) -> FileDiff {
    let mut text = String::new();
    for line in diff::between(old, new) {
        let _ = match line {
            Line::Same(line) => writeln!(text, "  {line}"),
            Line::Gone(line) => writeln!(text, "- {line}"),
            Line::Come(line) => writeln!(text, "+ {line}"),
            Line::Skipped(count) => writeln!(text, "  … {count} lines"),
        };
    }
    FileDiff { path, diff: text }
}

/// Builds the text of an approval request: the agent's title, followed by the command unless the title is exactly that.
/// A title that merely contains the command may say the opposite.
pub fn headline(title: &str, details: &ToolDetails) -> String {
    let title = cut(title, HISTORY_TEXT);
    match &details.command {
        Some(command) if title.trim_matches('`') != command.as_str() => format!("{title}: {command}"),
        _ => title.into_owned(),
    }
}

/// Returns the commands that an input names, one per line: Tenure cannot tell which of them the agent runs.
fn command(input: &Value) -> Option<String> {
    let mut found = Vec::new();
    find_commands(input, DEPTH, &mut found);
    (!found.is_empty()).then(|| found.join("\n"))
}

fn find_commands(input: &Value, depth: usize, found: &mut Vec<String>) {
    let Value::Object(fields) = input else { return };
    let line = |value: &Value| match value {
        Value::String(line) if !line.is_empty() => Some(line.clone()),
        Value::Array(words) if !words.is_empty() => {
            let words: Vec<&str> = words.iter().map(Value::as_str).collect::<Option<_>>()?;
            Some(shell_line(words))
        }
        _ => None,
    };
    for command in COMMANDS.iter().filter_map(|key| line(fields.get(*key)?)) {
        let arguments = ARGUMENTS.iter().filter_map(|key| line(fields.get(*key)?));
        let whole = arguments.fold(command, |whole, arguments| format!("{whole} {arguments}"));
        if !found.contains(&whole) {
            found.push(whole);
        }
    }
    if depth > 0 {
        fields.values().for_each(|inner| find_commands(inner, depth - 1, found));
    }
}

/// Returns the files that an input names.
fn paths(input: &Value) -> Vec<String> {
    let is_path = |key: &str| {
        let key = key.to_lowercase();
        key.contains("path") || key.contains("file") || key == "destination" || key == "target"
    };
    let texts = |value: &Value| -> Vec<String> {
        match value {
            Value::String(text) => vec![text.clone()],
            Value::Array(all) => all.iter().filter_map(|one| Some(one.as_str()?.to_owned())).collect(),
            _ => Vec::new(),
        }
    };
    let fields = input.as_object().into_iter().flatten();
    fields.filter(|(key, _)| is_path(key)).flat_map(|(_, value)| texts(value)).collect()
}

/// Completes a permission request from the tool call that the agent reported before: a request need not repeat its
/// fields. Returns true if a field was added.
pub fn complete(asked: &mut RequestPermissionRequest, call: &ToolCall) -> bool {
    let fields = &mut asked.tool_call.fields;
    let mut added = false;
    if fields.title.is_none() && !call.title.is_empty() {
        (fields.title, added) = (Some(call.title.clone()), true);
    }
    if fields.raw_input.is_none() && call.raw_input.is_some() {
        (fields.raw_input, added) = (call.raw_input.clone(), true);
    }
    if fields.content.as_ref().is_none_or(Vec::is_empty) && !call.content.is_empty() {
        (fields.content, added) = (Some(call.content.clone()), true);
    }
    if fields.locations.as_ref().is_none_or(Vec::is_empty) && !call.locations.is_empty() {
        (fields.locations, added) = (Some(call.locations.clone()), true);
    }
    added
}

/// Returns true if an update changes a tool call that waits for approval: another input or another diff. Fields that
/// were unknown before do not count as changed.
pub fn differs(asked: &RequestPermissionRequest, input: Option<&Value>, content: &[ToolCallContent]) -> bool {
    fn diffs(content: &[ToolCallContent]) -> Vec<(&Path, &str)> {
        content
            .iter()
            .filter_map(|one| match one {
                ToolCallContent::Diff(diff) => Some((diff.path.as_path(), diff.new_text.as_str())),
                _ => None,
            })
            .collect()
    }
    let fields = &asked.tool_call.fields;
    let other_input = match (&fields.raw_input, input) {
        (Some(before), Some(now)) => before != now,
        _ => false,
    };
    let (before, now) = (diffs(fields.content.as_deref().unwrap_or_default()), diffs(content));
    other_input || (!before.is_empty() && !now.is_empty() && before != now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Diff, ToolCallLocation, ToolCallUpdate, ToolKind};
    use serde_json::json;

    fn of_input(input: Value) -> ToolDetails {
        let mut fields = ToolCallUpdateFields::new();
        fields.raw_input = Some(input);
        details(&fields, APPROVAL_TEXT)
    }

    #[test]
    fn the_command_is_told_whatever_the_title_says() {
        for (input, command) in [
            (json!({"command": "touch X", "description": "List the files"}), "touch X"),
            (json!({"command": ["bash", "-lc", "touch X"]}), "bash -lc 'touch X'"),
            (json!({"cmd": "touch X"}), "touch X"),
            (json!({"script": "touch X"}), "touch X"),
            (json!({"command": "bash", "args": ["-c", "touch X"]}), "bash -c 'touch X'"),
            (json!({"input": {"command": ["touch", "X"]}}), "touch X"),
            (json!({"command": "ls", "cmd": "touch X"}), "ls\ntouch X"),
        ] {
            let details = of_input(input.clone());
            assert_eq!(details.command.as_deref(), Some(command));
            assert_eq!(details.raw_input, Some(input.to_string()));
            assert_eq!(headline("List the files", &details), format!("List the files: {command}"));
            assert_eq!(headline(&format!("`{command}`"), &details), format!("`{command}`"));
            // A title that merely contains the command may say the opposite.
            let title = format!("List the files; do not {command}");
            assert_eq!(headline(&title, &details), format!("{title}: {command}"));
        }
        // A command under an unknown key is still in the raw input.
        let details = of_input(json!({"run": {"this": "touch X"}}));
        assert!(details.raw_input.is_some_and(|input| input.contains("touch X")));
    }

    #[test]
    fn an_edit_tells_its_files_and_what_changes() {
        let mut fields = ToolCallUpdateFields::new();
        fields.kind = Some(ToolKind::Edit);
        fields.locations = Some(vec![ToolCallLocation::new("/work/a")]);
        fields.content =
            Some(vec![Diff::new("/work/b", "one\nnew\n").old_text("one\nold\n".to_owned()).into()]);
        fields.raw_input = Some(json!({"file_path": "/work/c", "paths": ["/work/d"]}));
        let details = details(&fields, APPROVAL_TEXT);
        assert_eq!(details.kind.as_deref(), Some("edit"));
        assert_eq!(details.paths, ["/work/a", "/work/b", "/work/c", "/work/d"]);
        assert_eq!(
            details.diffs,
            [FileDiff { path: "/work/b".into(), diff: "  one\n- old\n+ new\n".into() }]
        );
    }

    #[test]
    fn a_long_input_shows_that_it_is_cut_and_nothing_hides_in_it() {
        let mut fields = ToolCallUpdateFields::new();
        fields.raw_input = Some(json!({"command": format!("ls {}; touch X", " ".repeat(100_000))}));
        let told = details(&fields, HISTORY_TEXT);
        for text in [told.command.unwrap(), told.raw_input.unwrap()] {
            assert!(
                text.len() < HISTORY_TEXT + 100 && text.contains(" bytes) …") && text.contains("touch X"),
                "{text}"
            );
        }
        let hidden = of_input(json!({"command": "ls\u{202e}"}));
        assert_eq!(hidden.raw_input.as_deref(), Some("{\"command\":\"ls\\u202e\"}"));
    }

    #[test]
    fn another_command_or_change_than_the_one_that_was_asked_about_is_known() {
        let mut fields = ToolCallUpdateFields::new();
        fields.raw_input = Some(json!({"command": "ls"}));
        fields.content = Some(vec![Diff::new("/work/a", "one").into()]);
        let asked = RequestPermissionRequest::new("s", ToolCallUpdate::new("t", fields), vec![]);
        assert!(differs(&asked, Some(&json!({"command": "touch X"})), &[]));
        assert!(differs(&asked, None, &[Diff::new("/work/a", "two").into()]));
        assert!(!differs(&asked, Some(&json!({"command": "ls"})), &[Diff::new("/work/a", "one").into()]));
        assert!(!differs(&asked, None, &[]));
    }

    #[test]
    fn a_request_need_not_say_again_what_its_call_said() {
        let mut call = ToolCall::new("t", "List the files");
        call.raw_input = Some(json!({"command": "touch X"}));
        let mut asked =
            RequestPermissionRequest::new("s", ToolCallUpdate::new("t", ToolCallUpdateFields::new()), vec![]);
        assert!(complete(&mut asked, &call));
        assert_eq!(asked.tool_call.fields.title.as_deref(), Some("List the files"));
        assert_eq!(details(&asked.tool_call.fields, APPROVAL_TEXT).command.as_deref(), Some("touch X"));
        assert!(!complete(&mut asked, &call));
    }
}
