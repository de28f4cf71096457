//! What people are asked about, and what needs no asking.

use super::runs::{shortened, since};
use super::{Face, Table, Tone, ago, plain, short};
use crate::failure::Failure;
use serde_json::Value;
use std::time::Duration;
use tenure_core::api::{Allowed, Approval};
use tenure_os::clock;
use tenure_os::complaint::complain;

/// What the columns beside the command and the reason take at most.
const BESIDE: u16 = 66;
/// The narrowest that a command is cut to.
const NARROWEST: u16 = 24;

/// The commands as a table. One that is cut is nothing to decide by, so that is said.
pub(crate) fn approvals(list: &[Approval]) -> Result<(), Failure> {
    let face = Face::of_stdout();
    let room = (face.width.saturating_sub(BESIDE) / 2).max(NARROWEST);
    let mut table = Table::new(face, &["ID", ">AGE", "STATE", "SESSION", "COMMAND", "WHY"]);
    let mut is_cut = false;
    for approval in list {
        let (state, tone) = state(approval);
        let command = cut(&plain(&approval.command), room);
        is_cut |= command.ends_with('…');
        let session = approval.session_key.as_deref().map_or("-".to_owned(), |key| shortened(&plain(key)));
        table.row([
            (short(approval.id.as_str()).to_owned(), Tone::Plain),
            (ago(since(approval.created_at_ms)), Tone::Plain),
            (state, tone),
            (session, Tone::Plain),
            (command, Tone::Plain),
            (plain(&approval.why), Tone::Plain),
        ]);
    }
    table.print()?;
    if is_cut {
        complain("some commands are cut: `tenure approvals list --json` has them whole");
    }
    Ok(())
}

fn state(approval: &Approval) -> (String, Tone) {
    match approval.state.as_str() {
        "pending" => {
            let left = approval.expires_at_ms.saturating_sub(clock::unix_ms());
            (format!("{} left", ago(Duration::from_millis(left))), Tone::Odd)
        }
        "denied" | "expired" => (approval.state.clone(), Tone::Bad),
        _ => (plain(&approval.state), Tone::Quiet),
    }
}

fn cut(text: &str, room: u16) -> String {
    let room = usize::from(room);
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let head: String = text.chars().take(room - 1).collect();
    format!("{head}…")
}

/// The entries of the allowlist as a table.
pub(crate) fn allowed(entries: &[Allowed]) -> Result<(), Failure> {
    let headings = [">ID", "AGENT", ">USES", ">LAST USED", ">ADDED", "BY", "PROGRAM"];
    let mut table = Table::new(Face::of_stdout(), &headings);
    for allowed in entries {
        let used = allowed.last_used_at_ms.map_or("-".to_owned(), |at| format!("{} ago", ago(since(at))));
        let agent = allowed.entry["agent"].as_str().map_or("any".to_owned(), plain);
        table.row([
            (allowed.id.to_string(), Tone::Plain),
            (agent, Tone::Plain),
            (allowed.uses.to_string(), Tone::Plain),
            (used, Tone::Plain),
            (format!("{} ago", ago(since(allowed.added_at_ms))), Tone::Plain),
            (plain(&allowed.added_by), Tone::Plain),
            (what(&allowed.entry), Tone::Plain),
        ]);
    }
    table.print()
}

/// What an entry allows.
fn what(entry: &Value) -> String {
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
    fn an_entry_is_said_as_it_allows() {
        assert_eq!(what(&json!({"program": "git"})), "git");
        assert_eq!(what(&json!({"program": "git", "args": "status"})), "git, arguments like status");
        let exact =
            json!({"program": "/usr/bin/make", "exact": {"argv": ["make", "-j", "8"], "cwd": "/src"}});
        assert_eq!(what(&exact), "/usr/bin/make -j 8 in /src");
    }

    #[test]
    fn a_long_command_is_seen_to_be_cut() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abcde…");
    }
}
