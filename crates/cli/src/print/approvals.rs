//! Approval requests, and the allowlist.

use super::approval_text::{self, LIST_LIMIT, NO_LIMIT, TextLimit};
use super::runs::shortened;
use super::{Context, Table, Tone, ago, line, plain, short};
use crate::failure::Failure;
use serde_json::Value;
use std::time::Duration;
use tenure_core::api::{Allowed, Approval, PermissionJson};
use tenure_core::visible::visible;

/// Prints approval requests, each below its row. Long ones are cut, with a line that says so.
pub(crate) fn approvals(list: &[Approval]) -> Result<(), Failure> {
    print_requests(list, LIST_LIMIT)
}

/// Prints one approval request in full.
pub(crate) fn approval(approval: &Approval) -> Result<(), Failure> {
    print_requests(std::slice::from_ref(approval), NO_LIMIT)
}

fn print_requests(list: &[Approval], limit: TextLimit) -> Result<(), Failure> {
    let context = Context::of_stdout();
    let mut table = Table::new(context.style, &["ID", ">AGE", "EXPIRES", "SESSION", "WHY"]);
    for approval in list {
        let session = approval.session_key.as_deref().map_or("-".to_owned(), |key| shortened(&plain(key)));
        let (expires, tone) = expires(&context, approval);
        table.row([
            (short(approval.id.as_str()).to_owned(), Tone::Plain),
            (ago(context.since(approval.created_at_ms)), Tone::Plain),
            (expires, tone),
            (session, Tone::Plain),
            (visible(&approval.why).into_owned(), Tone::Dim),
        ]);
    }
    let mut rows = table.lines().into_iter();
    rows.next().map_or(Ok(()), |headings| line(&headings))?;
    for (row, approval) in rows.zip(list) {
        line(&row)?;
        let shown = approval_text::request_lines(approval, context.style, limit);
        shown.iter().try_for_each(|part| line(part))?;
        if shown != approval_text::request_lines(approval, context.style, NO_LIMIT) {
            let id = short(approval.id.as_str());
            line(&format!("      cut: `tenure approvals show {id}` prints all of it"))?;
        }
        approval.options.iter().try_for_each(|option| line(&option_line(approval, option)))?;
    }
    Ok(())
}

/// Formats an option that an agent offers. The id comes first, because people choose by it. The kind shows the real
/// effect: an agent can give an option any name.
fn option_line(approval: &Approval, option: &PermissionJson) -> String {
    let mark = if approval.option.as_ref() == Some(&option.id) { "✓" } else { "-" };
    let kind = visible(&option.kind).replace('_', " ");
    format!("      {mark} {} ({kind}): {}", visible(&option.id), visible(&option.name))
}

/// Formats the time left to answer a request, or its final state.
fn expires(context: &Context, approval: &Approval) -> (String, Tone) {
    match approval.state.as_str() {
        "pending" => {
            let left = approval.expires_at_ms.saturating_sub(context.now_ms);
            (format!("in {}", ago(Duration::from_millis(left))), Tone::Warning)
        }
        "denied" | "expired" => (approval.state.clone(), Tone::Bad),
        _ => (plain(&approval.state), Tone::Dim),
    }
}

/// Prints the allowlist as a table.
pub(crate) fn allowed(entries: &[Allowed]) -> Result<(), Failure> {
    let headings = [">ID", "AGENT", ">USES", ">LAST USED", ">ADDED", "BY", "PROGRAM"];
    let context = Context::of_stdout();
    let mut table = Table::new(context.style, &headings);
    for allowed in entries {
        let used =
            allowed.last_used_at_ms.map_or("-".to_owned(), |at| format!("{} ago", ago(context.since(at))));
        let agent = allowed.entry["agent"].as_str().map_or("any".to_owned(), plain);
        table.row([
            (allowed.id.to_string(), Tone::Plain),
            (agent, Tone::Plain),
            (allowed.uses.to_string(), Tone::Plain),
            (used, Tone::Plain),
            (format!("{} ago", ago(context.since(allowed.added_at_ms))), Tone::Plain),
            (plain(&allowed.added_by), Tone::Plain),
            (allowed_command(&allowed.entry), Tone::Plain),
        ]);
    }
    table.print()
}

/// Formats the command that an entry allows.
fn allowed_command(entry: &Value) -> String {
    let text = |value: &Value| value.as_str().map(plain);
    let program = text(&entry["program"]).unwrap_or_else(|| "?".to_owned());
    if let Some(argv) = entry["exact"]["argv"].as_array() {
        let words: Vec<String> = argv.iter().skip(1).filter_map(text).collect();
        let place = text(&entry["exact"]["cwd"]).unwrap_or_default();
        return format!("{} in {place}", [vec![program], words].concat().join(" "));
    }
    match text(&entry["args"]) {
        Some(args) => format!("{program}, arguments like {args}"),
        None => program,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_entry_shows_the_command_that_it_allows() {
        assert_eq!(allowed_command(&json!({"program": "git"})), "git");
        assert_eq!(
            allowed_command(&json!({"program": "git", "args": "status"})),
            "git, arguments like status"
        );
        let exact =
            json!({"program": "/usr/bin/make", "exact": {"argv": ["make", "-j", "8"], "cwd": "/src"}});
        assert_eq!(allowed_command(&exact), "/usr/bin/make -j 8 in /src");
    }
}
