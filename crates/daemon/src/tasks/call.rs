//! Parses requests of `tasks`: one variant per action, with the fields that the action needs and no others.

use super::no_such_task;
use tenure_agents::sessions::key;
use tenure_core::session::SessionKey;
use tenure_core::task::NotifyPolicy;
use tenure_core::tools::tasks::{Action, TasksRequest};
use tenure_store::{TaskCursor, TaskQuery};
use tenure_supervisor::Refusal;

/// The default and the maximum number of tasks in a list.
const PAGE: (u64, u64) = (50, 500);
/// The maximum length of a lookup, in bytes.
const LOOKUP_BYTES: usize = 512;

/// A valid request of `tasks`.
#[derive(Debug, PartialEq)]
pub(super) enum TasksCall {
    List {
        /// The filters, without those of the requester.
        query: TaskQuery,
        owner: Option<SessionKey>,
    },
    Show(Lookup),
    Notify {
        lookup: Lookup,
        policy: NotifyPolicy,
    },
    Cancel(Lookup),
    Retry(Lookup),
    Acknowledge(Lookup),
    Audit,
    Reset {
        apply: bool,
    },
    Maintenance {
        apply: bool,
    },
}

/// The text that names a task: not empty, and not too long.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Lookup(pub(super) String);

impl TasksCall {
    /// Checks the request's fields, and keeps those of its action.
    pub(super) fn read(request: TasksRequest) -> Result<Self, Refusal> {
        let apply = request.apply.unwrap_or(false);
        match request.action {
            Action::List => Self::list(request),
            Action::Show => Lookup::read(request).map(Self::Show),
            Action::Notify => {
                let Some(policy) = request.policy else {
                    let words: Vec<&str> = NotifyPolicy::ALL.iter().map(|policy| policy.word()).collect();
                    let why = format!("policy is missing: use one of {}", words.join(", "));
                    return Err(Refusal::invalid(why));
                };
                Ok(Self::Notify { lookup: Lookup::read(request)?, policy })
            }
            Action::Cancel => Lookup::read(request).map(Self::Cancel),
            Action::Retry => Lookup::read(request).map(Self::Retry),
            Action::Acknowledge => Lookup::read(request).map(Self::Acknowledge),
            Action::Audit => Ok(Self::Audit),
            Action::Reset => Ok(Self::Reset { apply }),
            Action::Maintenance => Ok(Self::Maintenance { apply }),
        }
    }

    fn list(request: TasksRequest) -> Result<Self, Refusal> {
        let limit = request.limit.unwrap_or(PAGE.0);
        if limit == 0 {
            return Err(Refusal::invalid(format!("limit must be 1 to {}", PAGE.1)));
        }
        let owner = request.owner.as_deref().map(key).transpose()?;
        let query = TaskQuery {
            statuses: request.statuses,
            kinds: request.kind.into_iter().collect(),
            owner: None,
            child: None,
            of: None,
            after: request.after.as_deref().map(cursor).transpose()?,
            limit: usize::try_from(limit.min(PAGE.1)).unwrap_or(1),
        };
        Ok(Self::List { query, owner })
    }
}

impl Lookup {
    fn read(request: TasksRequest) -> Result<Self, Refusal> {
        match request.lookup.filter(|text| !text.trim().is_empty()) {
            None => {
                Err(Refusal::invalid("lookup is missing: give the id of a task or run, or a session key"))
            }
            Some(text) if text.len() > LOOKUP_BYTES => Err(no_such_task(&text)),
            Some(text) => Ok(Self(text)),
        }
    }
}

fn cursor(text: &str) -> Result<TaskCursor, Refusal> {
    let parts = text.split_once(':').and_then(|(at, id)| Some((at.parse().ok()?, id.parse().ok()?)));
    let (created_at_ms, task_id) =
        parts.ok_or_else(|| Refusal::invalid("after must be the `next` value of the previous page"))?;
    Ok(TaskCursor { created_at_ms, task_id })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(action: &str, mut fields: Value) -> Result<TasksCall, String> {
        fields["action"] = json!(action);
        let request = serde_json::from_value(fields).expect("a request");
        TasksCall::read(request).map_err(|refusal| refusal.detail)
    }

    fn task() -> Lookup {
        Lookup("agent:a:main".to_owned())
    }

    #[test]
    fn an_action_on_one_task_needs_a_lookup() {
        for action in ["show", "cancel", "retry", "acknowledge", "notify"] {
            for lookup in [json!(null), json!(" ")] {
                let refused = read(action, json!({"policy": "silent", "lookup": lookup})).expect_err(action);
                assert_eq!(
                    refused, "lookup is missing: give the id of a task or run, or a session key",
                    "{action}"
                );
            }
        }
    }

    #[test]
    fn an_action_keeps_exactly_its_fields() {
        for (action, call) in [
            ("show", TasksCall::Show(task())),
            ("cancel", TasksCall::Cancel(task())),
            ("retry", TasksCall::Retry(task())),
            ("acknowledge", TasksCall::Acknowledge(task())),
            ("notify", TasksCall::Notify { lookup: task(), policy: NotifyPolicy::Silent }),
            ("audit", TasksCall::Audit),
            ("reset", TasksCall::Reset { apply: true }),
            ("maintenance", TasksCall::Maintenance { apply: true }),
        ] {
            let fields = json!({"lookup": "agent:a:main", "policy": "silent", "apply": true});
            assert_eq!(read(action, fields), Ok(call));
        }
        for (action, call) in [
            ("reset", TasksCall::Reset { apply: false }),
            ("maintenance", TasksCall::Maintenance { apply: false }),
        ] {
            assert_eq!(read(action, json!({})), Ok(call));
        }
    }

    #[test]
    fn notify_needs_a_policy() {
        let refused = read("notify", json!({"lookup": "x"})).expect_err("no policy");
        assert!(refused.starts_with("policy is missing: use one of "), "{refused}");
    }

    #[test]
    fn a_list_has_a_limit_an_owner_and_a_position() {
        let refused = |fields| read("list", fields).expect_err("refused");
        assert_eq!(refused(json!({"limit": 0})), "limit must be 1 to 500");
        assert_eq!(refused(json!({"after": "x"})), "after must be the `next` value of the previous page");
        let call = read("list", json!({"owner": "agent:a:main", "limit": 1000})).expect("a list");
        let query = TaskQuery { limit: 500, ..TaskQuery::default() };
        assert_eq!(call, TasksCall::List { query, owner: Some("agent:a:main".parse().unwrap()) });
    }
}
