//! What an agent may do that asks before it does something. One pure decision; that it was made is in the history.

use crate::details::{TOLD, details};
use crate::schema::{
    PermissionOption, PermissionOptionId, PermissionOptionKind, RequestPermissionOutcome,
    RequestPermissionRequest, SelectedPermissionOutcome, ToolKind,
};
use serde_json::{Value, json};
use tenure_core::api::PermissionJson;
use tenure_core::ids::RunId;
use tenure_core::session::Permissions;
use tenure_core::visible;

/// What is answered.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// This option.
    Choose(PermissionOptionId),
    /// None of them: nothing that is offered says it.
    Cancel,
    /// What somebody says.
    Ask,
}

impl Decision {
    /// The answer; none as long as somebody is asked.
    pub fn outcome(&self) -> Option<RequestPermissionOutcome> {
        match self {
            Self::Choose(option) => {
                Some(RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option.clone())))
            }
            Self::Cancel => Some(RequestPermissionOutcome::Cancelled),
            Self::Ask => None,
        }
    }
}

/// What a request for permission is answered. A turn that is being cancelled permits nothing: the protocol wants its
/// requests cancelled.
pub fn decide(policy: Permissions, asked: &RequestPermissionRequest, is_cancelled: bool) -> Decision {
    if is_cancelled {
        return Decision::Cancel;
    }
    match policy {
        Permissions::Ask => Decision::Ask,
        Permissions::ApproveAll => allow(&asked.options),
        Permissions::ApproveReads if only_looks(asked.tool_call.fields.kind) => allow(&asked.options),
        Permissions::ApproveReads | Permissions::DenyAll => refuse(&asked.options),
    }
}

/// What is told of a request for permission, before it is answered.
pub fn told(request: &str, asked: &RequestPermissionRequest, question: Option<&RunId>) -> Value {
    let options = offered(asked);
    let tool = &asked.tool_call;
    let title = tool.fields.title.as_deref().unwrap_or("something that it does not name");
    let (title, details) = (visible::cut(title, TOLD), details(&tool.fields, TOLD));
    let mut told = json!({
        "request": request, "tool": title, "toolCallId": tool.tool_call_id, "details": details, "options": options,
    });
    if let Some(question) = question {
        told["question"] = json!(question);
    }
    told
}

/// What an agent offers as answers.
pub fn offered(asked: &RequestPermissionRequest) -> Vec<PermissionJson> {
    let word = |kind: PermissionOptionKind| match serde_json::to_value(kind) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    };
    let one = |offered: &PermissionOption| PermissionJson {
        id: offered.option_id.0.to_string(),
        name: offered.name.clone(),
        kind: word(offered.kind),
    };
    asked.options.iter().map(one).collect()
}

/// What somebody said, by the option's id. One that is not offered is no answer.
pub fn chosen(asked: &RequestPermissionRequest, option: &str) -> Option<Decision> {
    let offered = asked.options.iter().find(|offered| &*offered.option_id.0 == option)?;
    Some(Decision::Choose(offered.option_id.clone()))
}

/// Whether a tool of this kind changes nothing, here or elsewhere. One that does not say may do anything.
fn only_looks(kind: Option<ToolKind>) -> bool {
    matches!(kind, Some(ToolKind::Read | ToolKind::Search | ToolKind::Think))
}

fn allow(options: &[PermissionOption]) -> Decision {
    // Once is enough: what is asked again is allowed again, and what the agent remembers nobody can take back.
    first(options, &[PermissionOptionKind::AllowOnce, PermissionOptionKind::AllowAlways])
}

fn refuse(options: &[PermissionOption]) -> Decision {
    first(options, &[PermissionOptionKind::RejectOnce, PermissionOptionKind::RejectAlways])
}

/// The first option of the first kind that is offered. Agents offer several of a kind: the first is the plainest.
fn first(options: &[PermissionOption], kinds: &[PermissionOptionKind]) -> Decision {
    let of = |kind: &PermissionOptionKind| options.iter().find(|offered| offered.kind == *kind);
    kinds.iter().find_map(of).map_or(Decision::Cancel, |offered| Decision::Choose(offered.option_id.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{ToolCallUpdate, ToolCallUpdateFields};

    fn asked(
        kind: Option<ToolKind>,
        options: &[(&'static str, PermissionOptionKind)],
    ) -> RequestPermissionRequest {
        let mut fields = ToolCallUpdateFields::new();
        fields.kind = kind;
        let options = options.iter().map(|&(id, kind)| PermissionOption::new(id, id, kind)).collect();
        RequestPermissionRequest::new("s", ToolCallUpdate::new("t", fields), options)
    }

    const ALL: [(&str, PermissionOptionKind); 5] = [
        ("always", PermissionOptionKind::AllowAlways),
        ("once", PermissionOptionKind::AllowOnce),
        ("once and auto-accept", PermissionOptionKind::AllowOnce),
        ("never", PermissionOptionKind::RejectAlways),
        ("no", PermissionOptionKind::RejectOnce),
    ];

    fn id(decision: &Decision) -> &str {
        match decision {
            Decision::Choose(id) => &id.0,
            Decision::Cancel => "cancel",
            Decision::Ask => "ask",
        }
    }

    #[test]
    fn every_policy_decides_on_every_kind() {
        use Permissions::{ApproveAll, ApproveReads, Ask, DenyAll};
        let looks = [Some(ToolKind::Read), Some(ToolKind::Search), Some(ToolKind::Think)];
        let acts = [
            None,
            Some(ToolKind::Edit),
            Some(ToolKind::Delete),
            Some(ToolKind::Move),
            Some(ToolKind::Execute),
            Some(ToolKind::Fetch),
            Some(ToolKind::SwitchMode),
            Some(ToolKind::Other),
        ];
        for (kinds, reads) in [(&looks[..], "once"), (&acts[..], "no")] {
            for kind in kinds {
                let asked = asked(*kind, &ALL);
                for (policy, expected) in
                    [(ApproveAll, "once"), (ApproveReads, reads), (DenyAll, "no"), (Ask, "ask")]
                {
                    assert_eq!(id(&decide(policy, &asked, false)), expected, "{policy:?} {kind:?}");
                    assert_eq!(id(&decide(policy, &asked, true)), "cancel");
                }
            }
        }
    }

    #[test]
    fn what_is_not_offered_is_not_chosen() {
        let one_way = asked(Some(ToolKind::Edit), &[("yes", PermissionOptionKind::AllowAlways)]);
        assert_eq!(id(&decide(Permissions::ApproveAll, &one_way, false)), "yes");
        assert_eq!(id(&decide(Permissions::DenyAll, &one_way, false)), "cancel");
        let nothing = asked(None, &[]);
        assert_eq!(id(&decide(Permissions::ApproveAll, &nothing, false)), "cancel");
        assert_eq!(chosen(&one_way, "no"), None);
        assert_eq!(chosen(&one_way, "yes").as_ref().map(id), Some("yes"));
    }

    #[test]
    fn of_two_options_of_a_kind_somebody_chooses_by_id() {
        let asked = asked(Some(ToolKind::Edit), &ALL);
        assert_eq!(chosen(&asked, "once and auto-accept").as_ref().map(id), Some("once and auto-accept"));
    }
}
