//! Decides an agent's permission requests. A pure function; the history records its decisions.

use crate::details::{HISTORY_TEXT, details};
use crate::schema::{
    PermissionOption, PermissionOptionId, PermissionOptionKind, RequestPermissionOutcome,
    RequestPermissionRequest, SelectedPermissionOutcome, ToolKind,
};
use serde_json::{Value, json};
use tenure_core::api::PermissionJson;
use tenure_core::ids::RunId;
use tenure_core::session::Permissions;
use tenure_core::visible;

/// The decision on a permission request.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Choose this option.
    Choose(PermissionOptionId),
    /// Choose none: no offered option fits.
    Cancel,
    /// Ask a person.
    Ask,
}

impl Decision {
    /// Returns the protocol's outcome; `None` if a person is to be asked.
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

/// Decides a permission request by the policy. While its turn is being cancelled, the protocol requires that it is
/// cancelled.
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

/// Returns the history's entry about a permission request without its answer.
pub fn history_body(request: &str, asked: &RequestPermissionRequest, question: Option<&RunId>) -> Value {
    let options = offered(asked);
    let tool = &asked.tool_call;
    let title = tool.fields.title.as_deref().unwrap_or("an unnamed tool");
    let (title, details) = (visible::cut(title, HISTORY_TEXT), details(&tool.fields, HISTORY_TEXT));
    let mut told = json!({
        "request": request, "tool": title, "toolCallId": tool.tool_call_id, "details": details, "options": options,
    });
    if let Some(question) = question {
        told["question"] = json!(question);
    }
    told
}

/// Returns the options that the agent offers.
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

/// Returns the decision for an option's id; `None` if the agent does not offer it.
pub fn chosen(asked: &RequestPermissionRequest, option: &str) -> Option<Decision> {
    let offered = asked.options.iter().find(|offered| &*offered.option_id.0 == option)?;
    Some(Decision::Choose(offered.option_id.clone()))
}

/// Returns true if a tool of this kind changes nothing, here or elsewhere. A tool without a kind may do anything.
fn only_looks(kind: Option<ToolKind>) -> bool {
    matches!(kind, Some(ToolKind::Read | ToolKind::Search | ToolKind::Think))
}

fn allow(options: &[PermissionOption]) -> Decision {
    // Once is enough: a later request is allowed again, and an agent's memory of "always" cannot be revoked.
    first(options, &[PermissionOptionKind::AllowOnce, PermissionOptionKind::AllowAlways])
}

fn refuse(options: &[PermissionOption]) -> Decision {
    first(options, &[PermissionOptionKind::RejectOnce, PermissionOptionKind::RejectAlways])
}

/// Chooses the first option of the first kind that is offered. Of several options of a kind, the first is the plainest.
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
