//! The file changes that a person has grants. The agent may write the change that was shown to the person without
//! another question; any other change needs one.

use std::path::{Path, PathBuf};
use tenure_acp::schema::{PermissionOptionKind, RequestPermissionRequest, ToolCallContent, ToolKind};

/// Maximum number of allowed changes to remember until they are written: some agents write the files themselves.
const MAX_CHANGES: usize = 100;

/// The files that an agent may write. The next daemon asks again.
#[derive(Debug, Default)]
pub(crate) struct WriteGrants {
    always: bool,
    once: Vec<Change>,
}

/// A change of a file as shown to a person: its parts, in order.
#[derive(Debug)]
struct Change {
    path: PathBuf,
    parts: Vec<(Option<String>, String)>,
}

impl Change {
    /// Returns true if the change turns the old text into the new one.
    fn makes(&self, old: &str, new: &str) -> bool {
        let is = |text: &str| text.trim_end() == new.trim_end();
        // Agents show a whole file, or only the part that changes: for its first occurrence, or for each.
        let replaced = |each: fn(&str, &str, &str) -> String| {
            self.parts.iter().fold(old.to_owned(), |text, (from, to)| match from {
                Some(from) if !from.is_empty() => each(&text, from, to),
                _ => to.clone(),
            })
        };
        self.parts.last().is_some_and(|(_, to)| is(to))
            || is(&replaced(|text, from, to| text.replacen(from, to, 1)))
            || is(&replaced(|text, from, to| text.replace(from, to)))
    }
}

impl WriteGrants {
    /// Records the option that a person has chosen.
    pub(crate) fn record_choice(&mut self, wanted: &RequestPermissionRequest, option: &str) {
        let mut chosen =
            wanted.options.iter().filter(|offered| &*offered.option_id.0 == option).map(|it| it.kind);
        let kind = chosen.next();
        // An id that stands for both yes and no counts as no.
        match kind.filter(|kind| chosen.all(|other| other == *kind)) {
            Some(PermissionOptionKind::AllowAlways) => {
                self.always |= wanted.tool_call.fields.kind == Some(ToolKind::Edit);
                self.remember(wanted);
            }
            Some(PermissionOptionKind::AllowOnce) => self.remember(wanted),
            _ => {}
        }
    }

    fn remember(&mut self, wanted: &RequestPermissionRequest) {
        let mut changes: Vec<Change> = Vec::new();
        for content in wanted.tool_call.fields.content.iter().flatten() {
            let ToolCallContent::Diff(diff) = content else { continue };
            let part = (diff.old_text.clone(), diff.new_text.clone());
            match changes.iter_mut().find(|change| change.path == diff.path) {
                Some(change) => change.parts.push(part),
                None => changes.push(Change { path: diff.path.clone(), parts: vec![part] }),
            }
        }
        self.once.extend(changes);
        let too_many = self.once.len().saturating_sub(MAX_CHANGES);
        self.once.drain(..too_many);
    }

    /// Returns true if a person may have allowed writing this file.
    pub(crate) fn may_allow(&self, path: &Path) -> bool {
        self.always || self.once.iter().any(|change| change.path == path)
    }

    /// Returns true if this change may be written now. A change that was allowed once is used up by that.
    pub(crate) fn take(&mut self, path: &Path, old: &str, new: &str) -> bool {
        let at = self.once.iter().position(|change| change.path == path && change.makes(old, new));
        if let Some(at) = at {
            self.once.remove(at);
        }
        self.always || at.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_acp::schema::{
        Diff, PermissionOption, ToolCallLocation, ToolCallUpdate, ToolCallUpdateFields,
    };

    fn asks(kind: ToolKind) -> RequestPermissionRequest {
        let mut fields = ToolCallUpdateFields::new();
        fields.kind = Some(kind);
        fields.locations = Some(vec![ToolCallLocation::new("/work/a")]);
        fields.content = Some(vec![
            Diff::new("/work/a", "new").into(),
            Diff::new("/work/b", "two").old_text("one".to_owned()).into(),
        ]);
        let options = [
            ("always", PermissionOptionKind::AllowAlways),
            ("once", PermissionOptionKind::AllowOnce),
            ("no", PermissionOptionKind::RejectOnce),
        ];
        let options = options.map(|(id, kind)| PermissionOption::new(id, id, kind)).to_vec();
        RequestPermissionRequest::new("s", ToolCallUpdate::new("t", fields), options)
    }

    fn takes(grants: &mut WriteGrants, paths: [&str; 4]) -> [bool; 4] {
        paths.map(|path| {
            let new = if path == "/work/b" { "zero two three" } else { "new" };
            grants.take(Path::new(path), "zero one three", new)
        })
    }

    #[test]
    fn what_was_allowed_once_is_written_once() {
        let mut grants = WriteGrants::default();
        grants.record_choice(&asks(ToolKind::Edit), "once");
        let paths = ["/work/c", "/work/a", "/work/a", "/work/b"];
        assert_eq!(takes(&mut grants, paths), [false, true, false, true]);
    }

    #[test]
    fn what_nobody_was_shown_is_not_written() {
        let mut grants = WriteGrants::default();
        grants.record_choice(&asks(ToolKind::Edit), "once");
        for (path, old, new) in [
            ("/work/a", "old", "something else"),
            ("/work/b", "zero one three", "zero two three and more"),
            ("/work/b", "zero", "zero two"),
        ] {
            assert!(!grants.take(Path::new(path), old, new), "{path} {new}");
        }
        assert!(grants.take(Path::new("/work/b"), "one one\n", "two two"), "wherever it is");
    }

    #[test]
    fn what_was_refused_or_not_offered_is_not_written() {
        for option in ["no", "perhaps"] {
            let mut grants = WriteGrants::default();
            grants.record_choice(&asks(ToolKind::Edit), option);
            assert!(!grants.take(Path::new("/work/a"), "", "new"), "{option}");
        }
    }

    #[test]
    fn who_may_always_edit_writes_anything_and_who_may_always_run_does_not() {
        let paths = ["/work/c", "/work/a", "/work/a", "/work/b"];
        for (kind, expected) in [(ToolKind::Edit, [true; 4]), (ToolKind::Execute, [false, true, false, true])]
        {
            let mut grants = WriteGrants::default();
            grants.record_choice(&asks(kind), "always");
            assert_eq!(takes(&mut grants, paths), expected, "{kind:?}");
        }
    }

    #[test]
    fn one_id_for_a_yes_and_a_no_allows_nothing() {
        let mut wanted = asks(ToolKind::Edit);
        wanted.options = [PermissionOptionKind::AllowAlways, PermissionOptionKind::RejectOnce]
            .map(|kind| PermissionOption::new("x", "x", kind))
            .to_vec();
        let mut grants = WriteGrants::default();
        grants.record_choice(&wanted, "x");
        assert!(!grants.may_allow(Path::new("/work/a")));
    }
}
