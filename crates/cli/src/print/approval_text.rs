//! Text of approval requests. Every character is visible, and each cut is marked.

use super::{Style, Tone};
use std::borrow::Cow;
use tenure_core::api::{Approval, ToolDetails};
use tenure_core::visible::{cut, visible, visible_json, visible_lines};

/// Maximum size of a shown text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextLimit {
    bytes: usize,
    lines: usize,
}

/// Size in a list of requests.
pub(crate) const LIST_LIMIT: TextLimit = TextLimit { bytes: 2_000, lines: 40 };
/// No limit.
pub(crate) const NO_LIMIT: TextLimit = TextLimit { bytes: usize::MAX, lines: usize::MAX };

/// Cuts a text to fit: its beginning, a mark with the full size, and its end.
fn cut_to_fit(text: &str, limit: TextLimit) -> Vec<String> {
    let cut = cut(text, limit.bytes);
    let mut lines: Vec<String> = visible_lines(&cut).map(Cow::into_owned).collect();
    if lines.len() > limit.lines {
        let (all, bytes, half) = (text.lines().count(), text.len(), limit.lines / 2);
        lines.splice(half..lines.len() - half, [format!("… ({all} lines, {bytes} bytes) …")]);
    }
    lines
}

/// Formats a request: the command, its directory, its variables, and the agent's details.
pub(crate) fn request_lines(approval: &Approval, style: Style, limit: TextLimit) -> Vec<String> {
    let command = cut_to_fit(&approval.command, limit);
    // No line of a command may look like a line of Tenure.
    let before = if command.len() > 1 { "    │ " } else { "    " };
    let mut lines: Vec<String> = command.iter().map(|line| format!("{before}{line}")).collect();
    if !approval.cwd.is_empty() {
        lines.push(format!("      in {}", visible(&approval.cwd)));
    }
    for name in &approval.env_names {
        let value = approval.env.get(name).map_or(String::new(), |value| format!("={value}"));
        lines.push(format!("      with {}", visible(&cut(&format!("{name}{value}"), limit.bytes))));
    }
    if let Some(it) = &approval.details {
        lines.extend(
            details_lines(it, &approval.command, style, limit).iter().map(|line| format!("      {line}")),
        );
    }
    lines
}

/// Formats the details of an agent's request, except a command that is in its title.
pub(crate) fn details_lines(
    details: &ToolDetails,
    title: &str,
    style: Style,
    limit: TextLimit,
) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(command) = details.command.as_ref().filter(|command| !title.contains(command.as_str())) {
        match &cut_to_fit(command, limit)[..] {
            [line] => lines.push(format!("command: {line}")),
            several => {
                lines.push("command:".to_owned());
                lines.extend(several.iter().map(|line| format!("  │ {line}")));
            }
        }
    }
    let is_changed = |path: &String| details.diffs.iter().any(|diff| diff.path == *path);
    let others = details.paths.iter().filter(|path| !is_changed(path));
    lines.extend(others.map(|path| format!("file: {}", visible(path))));
    for change in &details.diffs {
        lines.push(style.paint(Tone::Title, &format!("file: {}", visible(&change.path))));
        for line in cut_to_fit(change.diff.trim_end_matches('\n'), limit) {
            let tone = match line.chars().next() {
                Some('-') => Tone::Bad,
                Some('+') => Tone::Good,
                _ => Tone::Plain,
            };
            lines.push(format!("  {}", style.paint(tone, &line)));
        }
    }
    if let Some(input) = &details.raw_input {
        let input = cut(input, limit.bytes);
        lines.push(format!("input: {}", visible_json(&input)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_core::api::FileDiff;

    fn style() -> Style {
        Style { colour: false, width: 80 }
    }

    #[test]
    fn text_behind_a_long_padding_is_shown() {
        for padding in [" ".repeat(10_000), "\n".repeat(10_000), "\u{2003}".repeat(10_000)] {
            let shown = cut_to_fit(&format!("ls{padding}; touch pwned"), LIST_LIMIT);
            assert!(shown.len() <= LIST_LIMIT.lines + 1, "{}", shown.len());
            assert!(
                shown[0].starts_with("ls") && shown.last().unwrap().ends_with("; touch pwned"),
                "{shown:?}"
            );
            assert!(shown.concat().contains("bytes)"), "{shown:?}");
        }
    }

    #[test]
    fn a_misleading_title_hides_no_command_or_change() {
        let details = ToolDetails {
            kind: None,
            command: Some("touch\u{202e} X".into()),
            paths: vec!["/w/a".into(), "/w/b".into()],
            diffs: vec![FileDiff { path: "/w/b".into(), diff: "- old\n+ new\u{1b}[2K\n".into() }],
            raw_input: Some("{\"command\":\"touch\\u202e X\"}".into()),
        };
        let expected = [
            "command: touch\\u{202e} X",
            "file: /w/a",
            "file: /w/b",
            "  - old",
            "  + new\\x1b[2K",
            "input: {\"command\":\"touch\\u202e X\"}",
        ];
        assert_eq!(details_lines(&details, "List the files", style(), NO_LIMIT), expected);
    }
}
