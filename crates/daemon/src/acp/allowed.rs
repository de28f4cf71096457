//! What somebody has allowed an agent that asked before it writes: they are not asked again when it has us write that.

use std::path::{Path, PathBuf};
use tenure_acp::schema::{PermissionOptionKind, RequestPermissionRequest, ToolCallContent, ToolKind};

/// How many files that were allowed and not written are remembered: some agents write themselves.
const MOST: usize = 100;

/// The files that an agent may write. The next daemon asks again.
#[derive(Debug, Default)]
pub(super) struct Allowed {
    always: bool,
    once: Vec<PathBuf>,
}

impl Allowed {
    /// Somebody has chosen this option.
    pub(super) fn chosen(&mut self, wanted: &RequestPermissionRequest, option: &str) {
        let chosen = wanted.options.iter().find(|offered| &*offered.option_id.0 == option);
        match chosen.map(|option| option.kind) {
            Some(PermissionOptionKind::AllowAlways) => {
                self.always |= wanted.tool_call.fields.kind == Some(ToolKind::Edit);
                self.remember(wanted);
            }
            Some(PermissionOptionKind::AllowOnce) => self.remember(wanted),
            _ => {}
        }
    }

    fn remember(&mut self, wanted: &RequestPermissionRequest) {
        let fields = &wanted.tool_call.fields;
        let named = fields.locations.iter().flatten().map(|location| location.path.clone());
        let changed = fields.content.iter().flatten().filter_map(|content| match content {
            ToolCallContent::Diff(diff) => Some(diff.path.clone()),
            _ => None,
        });
        let mut paths: Vec<PathBuf> = named.chain(changed).collect();
        paths.sort();
        paths.dedup();
        self.once.extend(paths);
        let too_many = self.once.len().saturating_sub(MOST);
        self.once.drain(..too_many);
    }

    /// Whether this file may be written now; once, if that is how it was allowed.
    pub(super) fn takes(&mut self, path: &Path) -> bool {
        let at = self.once.iter().position(|allowed| allowed == path);
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
        fields.content = Some(vec![Diff::new("/work/a", "new").into(), Diff::new("/work/b", "new").into()]);
        let options = [
            ("always", PermissionOptionKind::AllowAlways),
            ("once", PermissionOptionKind::AllowOnce),
            ("no", PermissionOptionKind::RejectOnce),
        ];
        let options = options.map(|(id, kind)| PermissionOption::new(id, id, kind)).to_vec();
        RequestPermissionRequest::new("s", ToolCallUpdate::new("t", fields), options)
    }

    fn takes(allowed: &mut Allowed, paths: [&str; 4]) -> [bool; 4] {
        paths.map(|path| allowed.takes(Path::new(path)))
    }

    #[test]
    fn what_was_allowed_once_is_written_once() {
        let mut allowed = Allowed::default();
        allowed.chosen(&asks(ToolKind::Edit), "once");
        let paths = ["/work/c", "/work/a", "/work/a", "/work/b"];
        assert_eq!(takes(&mut allowed, paths), [false, true, false, true]);
    }

    #[test]
    fn what_was_refused_or_not_offered_is_not_written() {
        for option in ["no", "perhaps"] {
            let mut allowed = Allowed::default();
            allowed.chosen(&asks(ToolKind::Edit), option);
            assert!(!allowed.takes(Path::new("/work/a")), "{option}");
        }
    }

    #[test]
    fn who_may_always_edit_writes_anything_and_who_may_always_run_does_not() {
        let paths = ["/work/c", "/work/a", "/work/a", "/work/b"];
        for (kind, expected) in [(ToolKind::Edit, [true; 4]), (ToolKind::Execute, [false, true, false, true])]
        {
            let mut allowed = Allowed::default();
            allowed.chosen(&asks(kind), "always");
            assert_eq!(takes(&mut allowed, paths), expected, "{kind:?}");
        }
    }
}
