//! The history of an ACP agent's session: words as blocks, actions in a line each.

use super::Text;
use serde_json::Value;
use tenure_core::tools::sessions::EntryJson;

/// Maximum length of a shown title or note.
const LINE_CHARS: usize = 300;

/// Adds the entries, in their order.
pub(super) fn entries(text: &mut Text, entries: &[EntryJson]) {
    if entries.is_empty() {
        text.line("nothing has happened here");
    }
    // A long text consists of several entries.
    let mut speaks = None;
    for entry in entries {
        let said = speaker(&entry.kind);
        match said {
            Some(who) => {
                if speaks != said {
                    text.line(format_args!("[{}] {who}:\n", entry.number));
                }
                words(text, &entry.body);
            }
            None => {
                if let Some(line) = line(entry) {
                    text.line(format_args!("[{}] {line}", entry.number));
                }
            }
        }
        speaks = said;
    }
}

fn speaker(kind: &str) -> Option<&'static str> {
    match kind {
        "user" => Some("it was told"),
        "agent" => Some("the agent said"),
        "thought" => Some("the agent thought"),
        _ => None,
    }
}

/// Adds more of a text, directly after the text before.
fn words(text: &mut Text, body: &Value) {
    match body["text"].as_str() {
        Some(said) => text.0.push_str(said),
        None => text.line(format_args!("({})", gist(&body["content"]["type"]))),
    }
}

/// Returns the line for an action; `None` for one that only a later version knows.
fn line(entry: &EntryJson) -> Option<String> {
    let body = &entry.body;
    Some(match entry.kind.as_str() {
        "tool" => tool(body),
        "plan" => {
            let step = |step: &Value| format!("{} ({})", gist(&step["content"]), gist(&step["status"]));
            let steps: Vec<String> = body["entries"].as_array().into_iter().flatten().map(step).collect();
            format!("plan: {}", steps.join("; "))
        }
        "permission" => permission(body),
        "mode" => format!("mode: {}", gist(&body["mode"])),
        "usage" => format!("usage: {} of {} tokens", body["used"], body["size"]),
        "note" => {
            let title =
                body["title"].as_str().map_or(String::new(), |_| format!("{}: ", gist(&body["title"])));
            format!("note: {title}{}", gist(&body["text"]))
        }
        _ => return None,
    })
}

fn tool(body: &Value) -> String {
    let kind = body["kind"].as_str().unwrap_or("other");
    let status = body["status"].as_str().unwrap_or("pending");
    let parts = body["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let changed: Vec<String> =
        parts.iter().filter(|part| part["type"] == "diff").map(|part| gist(&part["path"])).collect();
    let changed =
        if changed.is_empty() { String::new() } else { format!("; changes {}", changed.join(", ")) };
    let failed = parts.iter().filter(|_| status == "failed").find_map(|part| part["content"].get("text"));
    let failed = failed.map_or(String::new(), |why| format!(": {}", gist(why)));
    format!("tool {kind}, {status}: {}{changed}{failed}", gist(&body["title"]))
}

/// Returns the line for a permission request with its options, or with its answer.
fn permission(body: &Value) -> String {
    let title = gist(&body["tool"]);
    let options = body["options"].as_array().map(Vec::as_slice).unwrap_or_default();
    if let Some(outcome) = body["outcome"].as_str() {
        let option = options.iter().find(|option| option["id"] == outcome);
        let name = option.map_or_else(|| outcome.to_owned(), |option| gist(&option["name"]));
        let by = body["by"].as_str().map_or(String::new(), |by| format!(" by {by}"));
        return format!("permission for {title}: {name}{by}");
    }
    let offered = |option: &Value| format!("{} ({})", gist(&option["id"]), gist(&option["name"]));
    let offered: Vec<String> = options.iter().map(offered).collect();
    match body["question"].as_str() {
        Some(id) => format!(
            "permission for {title}: it waits until somebody answers one of {}; a person does so with `tenure approvals \
             choose {id} OPTION`",
            offered.join(", ")
        ),
        None => format!("permission for {title}: it is being decided"),
    }
}

/// Returns a text on one line, cut to length.
fn gist(value: &Value) -> String {
    let text = value.as_str().unwrap_or_default();
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = line.chars().take(LINE_CHARS).collect();
    if short.len() < line.len() { format!("{short}…") } else { short }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(all: &[(&str, Value)]) -> String {
        let all: Vec<EntryJson> = (1..)
            .zip(all)
            .map(|(number, (kind, body))| EntryJson {
                number,
                turn_id: None,
                at_ms: 0,
                kind: (*kind).to_owned(),
                body: body.clone(),
            })
            .collect();
        let mut text = Text::default();
        entries(&mut text, &all);
        text.0
    }

    #[test]
    fn texts_are_blocks_and_deeds_are_lines() {
        let diff = json!([{"type": "diff", "path": "/w/a.rs", "newText": "x"}]);
        let text = told(&[
            ("user", json!({"text": "Repair it."})),
            ("agent", json!({"text": "I lo"})),
            ("agent", json!({"text": "ok."})),
            ("tool", json!({"title": "Edit\na.rs", "kind": "edit", "status": "completed", "content": diff})),
            ("plan", json!({"entries": [{"content": "Look", "status": "completed"}]})),
            ("later", json!({})),
            ("agent", json!({"text": "Done."})),
        ]);
        assert_eq!(
            text,
            "[1] it was told:\nRepair it.\n[2] the agent said:\nI look.\n[4] tool edit, completed: Edit a.rs; changes \
             /w/a.rs\n[5] plan: Look (completed)\n[7] the agent said:\nDone."
        );
        assert_eq!(told(&[]), "nothing has happened here");
    }

    #[test]
    fn a_question_says_how_it_is_answered() {
        let options = json!([{"id": "yes", "name": "Allow", "kind": "allow_once"}]);
        let mut body = json!({"tool": "rm -r build", "options": options, "question": "3f2"});
        let text = told(&[("permission", body.clone())]);
        assert!(
            text.contains("one of yes (Allow); a person does so with `tenure approvals choose 3f2 OPTION`"),
            "{text}"
        );
        body["outcome"] = json!("yes");
        body["by"] = json!("operator");
        assert_eq!(told(&[("permission", body)]), "[1] permission for rm -r build: Allow by operator");
    }

    #[test]
    fn what_went_wrong_with_a_tool_is_said() {
        let content = json!([{"type": "content", "content": {"type": "text", "text": "no such\nfile"}}]);
        let text = told(&[(
            "tool",
            json!({"title": "Read", "kind": "read", "status": "failed", "content": content}),
        )]);
        assert_eq!(text, "[1] tool read, failed: Read: no such file");
    }
}
