//! Detects a turn that ended right after a refused permission: the agent has not answered.

use super::plain;
use serde_json::Value;
use tenure_core::tools::sessions::EntryJson;

/// The agent's last text, tool call or permission request.
#[derive(Debug, Default)]
pub(super) struct LastAction {
    number: u64,
    /// The refused tool call, and who refused it.
    refused: Option<(String, String)>,
}

impl LastAction {
    /// Takes an entry, or the new state of one.
    pub(super) fn entry(&mut self, entry: &EntryJson) {
        let body = &entry.body;
        let word = |name: &str| body[name].as_str().unwrap_or_default();
        let refused = match entry.kind.as_str() {
            "permission" if is_refused(body) => Some((word("tool").to_owned(), word("by").to_owned())),
            "tool" if word("status") != "completed" => return,
            "user" | "agent" | "tool" | "permission" => None,
            _ => return,
        };
        // An older entry may be sent again later.
        if entry.number >= self.number {
            (self.number, self.refused) = (entry.number, refused);
        }
    }

    pub(super) fn refusal(&self) -> Option<String> {
        let (what, by) = self.refused.as_ref()?;
        let (what, by) = (plain(what), plain(by));
        Some(format!("{what} was not permitted ({by}), and the agent ended its turn without an answer"))
    }
}

/// Returns true if a permission request was rejected. One that was cancelled with its turn was not.
fn is_refused(body: &Value) -> bool {
    let Some(outcome) = body["outcome"].as_str().filter(|_| body["by"] != "cancel") else { return false };
    let chosen = body["options"].as_array().into_iter().flatten().find(|option| option["id"] == outcome);
    let is_reject = |option: &Value| option["kind"].as_str().is_some_and(|kind| kind.starts_with("reject"));
    chosen.map_or(matches!(outcome, "reject" | "cancelled"), is_reject)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn is_last(entries: &[(u64, &str, Value)]) -> bool {
        let mut last_action = LastAction::default();
        for (number, kind, body) in entries {
            let entry = json!({"number": number, "turnId": null, "atMs": 0, "kind": kind, "body": body});
            last_action.entry(&serde_json::from_value(entry).unwrap());
        }
        last_action.refusal().is_some()
    }

    fn permission(outcome: &str) -> Value {
        let options = json!([{"id": "y", "kind": "allow_once"}, {"id": "n", "kind": "reject_once"}]);
        json!({"tool": "make", "by": "approve-reads", "outcome": outcome, "options": options})
    }

    #[test]
    fn a_refusal_counts_until_the_agent_answers_or_acts() {
        let tool = |status: &str| json!({"status": status});
        assert!(is_last(&[(1, "agent", json!({"text": "I will"})), (2, "permission", permission("n"))]));
        assert!(is_last(&[
            (1, "tool", tool("pending")),
            (2, "permission", permission("n")),
            (1, "tool", tool("failed"))
        ]));
        assert!(is_last(&[(1, "permission", permission("cancelled")), (2, "usage", json!({}))]));
        assert!(is_last(&[(
            1,
            "permission",
            json!({"tool": "write", "by": "deny-all", "outcome": "reject"})
        )]));
        for last in
            [("agent", json!({"text": "no"})), ("tool", tool("completed")), ("permission", permission("y"))]
        {
            assert!(!is_last(&[(1, "permission", permission("n")), (2, last.0, last.1)]));
        }
        let by_cancel = json!({"tool": "make", "by": "cancel", "outcome": "cancelled"});
        assert!(!is_last(&[(1, "permission", by_cancel)]) && !is_last(&[]));
    }
}
