//! Builds the request for a verb.

use crate::args::{TaskArgs, TasksArgs, TasksListArgs, TasksVerb};
use tenure_core::tools::tasks::{Action, TasksRequest};

/// Builds the request for a verb.
pub(super) fn build(args: &TasksArgs, verb: &TasksVerb) -> TasksRequest {
    let request = match verb {
        TasksVerb::List(list) => self::list(list),
        TasksVerb::Show(show) => about(Action::Show, &show.which),
        TasksVerb::Notify(notify) => {
            TasksRequest { policy: Some(notify.policy), ..about(Action::Notify, &notify.which) }
        }
        TasksVerb::Cancel(which) => about(Action::Cancel, which),
        TasksVerb::Retry(which) => about(Action::Retry, which),
        TasksVerb::Acknowledge(which) => about(Action::Acknowledge, which),
        TasksVerb::Audit => TasksRequest::new(Action::Audit),
        TasksVerb::Reset(how) => {
            TasksRequest { apply: how.yes.then_some(true), ..TasksRequest::new(Action::Reset) }
        }
        TasksVerb::Maintenance(how) => {
            TasksRequest { apply: how.apply.then_some(true), ..TasksRequest::new(Action::Maintenance) }
        }
    };
    TasksRequest {
        requester: args.requester.acting_as.clone(),
        visibility: args.requester.visibility,
        sandboxed: args.requester.sandboxed.then_some(true),
        ..request
    }
}

fn about(action: Action, which: &TaskArgs) -> TasksRequest {
    TasksRequest { lookup: Some(which.lookup.clone()), ..TasksRequest::new(action) }
}

fn list(args: &TasksListArgs) -> TasksRequest {
    TasksRequest {
        statuses: args.statuses.clone(),
        kind: args.kind,
        owner: args.owner.clone(),
        limit: args.limit,
        after: args.after.clone(),
        ..TasksRequest::new(Action::List)
    }
}

#[cfg(test)]
mod tests;
