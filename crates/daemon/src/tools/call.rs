//! Parses requests of `process`: one variant per action, with the fields that the action needs and no others.

use tenure_core::ids::check_prefix;
use tenure_core::spec::Size;
use tenure_core::tools::{Action, ProcessRequest};
use tenure_policy::approval_text::PendingAction;
use tenure_supervisor::Refusal;

/// A valid request of `process`.
#[derive(Debug)]
pub(super) enum ProcessCall {
    /// List the runs, at most this many.
    List { limit: Option<u64> },
    /// Do something with one run. An incomplete action is refused once the run was found.
    OfRun { id: String, action: Result<RunAction, Refusal> },
}

/// An action on one run.
#[derive(Debug, PartialEq)]
pub(super) enum RunAction {
    Poll { timeout_ms: Option<u64> },
    Log(LogPart),
    Write { data: String, eof: bool },
    SendKeys { literal: Option<String>, hex: Vec<String>, keys: Vec<String> },
    Submit,
    Paste { text: String, bracketed: Option<bool> },
    Screen,
    Resize(Size),
    Kill,
    Clear,
    Remove,
}

/// The part of the output that `log` shows.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LogPart {
    /// Lines, as `text::Ask` counts them.
    Lines { offset: Option<u64>, limit: Option<u64> },
    /// The output from this byte on.
    FromByte(u64),
}

impl ProcessCall {
    /// Checks the request's fields, and keeps those of its action.
    pub(super) fn read(request: ProcessRequest) -> Result<Self, Refusal> {
        check_fields(&request)?;
        if request.action == Action::List {
            return Ok(Self::List { limit: request.limit });
        }
        let Some(id) = request.run_id.clone() else {
            return Err(Refusal::invalid(
                "runId is missing: name the run that exec returned or process list shows",
            ));
        };
        if matches!(request.action, Action::Kill | Action::Clear | Action::Remove) {
            check_prefix(&id).map_err(Refusal::short_id)?;
        }
        Ok(Self::OfRun { id, action: RunAction::read(request) })
    }
}

impl LogPart {
    fn read(request: &ProcessRequest) -> Result<Self, Refusal> {
        match (request.byte_offset, request.offset, request.limit) {
            (None, offset, limit) => Ok(Self::Lines { offset, limit }),
            (Some(from), None, None) => Ok(Self::FromByte(from)),
            (Some(_), ..) => {
                Err(Refusal::invalid("byteOffset excludes offset and limit: use one or the other"))
            }
        }
    }
}

impl RunAction {
    fn read(request: ProcessRequest) -> Result<Self, Refusal> {
        Ok(match request.action {
            Action::List => return Err(Refusal::internal("list reached an action on one run")),
            Action::Poll => Self::Poll { timeout_ms: request.timeout_ms },
            Action::Log => Self::Log(LogPart::read(&request)?),
            Action::Write => match (request.data, request.eof.unwrap_or(false)) {
                (None, false) => {
                    return Err(Refusal::invalid(
                        "data is missing: write the text, or set eof to close stdin",
                    ));
                }
                (data, eof) => Self::Write { data: data.unwrap_or_default(), eof },
            },
            Action::SendKeys => {
                Self::SendKeys { literal: request.literal, hex: request.hex, keys: request.keys }
            }
            Action::Submit => Self::Submit,
            Action::Paste => {
                let text = request
                    .text
                    .ok_or_else(|| Refusal::invalid("text is missing: write the text to paste"))?;
                Self::Paste { text, bracketed: request.bracketed }
            }
            Action::Screen => Self::Screen,
            Action::Resize => {
                let (Some(cols), Some(rows)) = (request.cols, request.rows) else {
                    return Err(Refusal::invalid("the size is incomplete: write cols and rows"));
                };
                Self::Resize(Size::new(cols, rows).map_err(Refusal::invalid)?)
            }
            Action::Kill => Self::Kill,
            Action::Clear => Self::Clear,
            Action::Remove => Self::Remove,
        })
    }

    /// The effect of the action on a command that waits for approval.
    pub(super) fn on_pending(&self) -> PendingAction {
        match self {
            Self::Poll { timeout_ms } => PendingAction::Poll { timeout_ms: *timeout_ms },
            Self::Kill | Self::Remove => PendingAction::Withdraw,
            Self::Log(_)
            | Self::Write { .. }
            | Self::SendKeys { .. }
            | Self::Submit
            | Self::Paste { .. }
            | Self::Screen
            | Self::Resize(_)
            | Self::Clear => PendingAction::Other,
        }
    }
}

/// Refuses a field that the action does not have, by name.
fn check_fields(request: &ProcessRequest) -> Result<(), Refusal> {
    use Action::{List, Log, Paste, Poll, Resize, SendKeys, Write};
    if request.limit == Some(0) {
        return Err(Refusal::invalid("limit is 0: write 1 or more, or leave it out"));
    }
    let given: [(&str, bool, &[Action]); 13] = [
        ("data", request.data.is_some(), &[Write]),
        ("eof", request.eof.is_some(), &[Write]),
        ("keys", !request.keys.is_empty(), &[SendKeys]),
        ("hex", !request.hex.is_empty(), &[SendKeys]),
        ("literal", request.literal.is_some(), &[SendKeys]),
        ("text", request.text.is_some(), &[Paste]),
        ("bracketed", request.bracketed.is_some(), &[Paste]),
        ("offset", request.offset.is_some(), &[Log]),
        ("byteOffset", request.byte_offset.is_some(), &[Log]),
        ("limit", request.limit.is_some(), &[Log, List]),
        ("timeoutMs", request.timeout_ms.is_some(), &[Poll]),
        ("cols", request.cols.is_some(), &[Resize]),
        ("rows", request.rows.is_some(), &[Resize]),
    ];
    let name =
        |action: &Action| serde_json::to_value(action).ok().and_then(|it| it.as_str().map(str::to_owned));
    match given.into_iter().find(|(_, is_given, of)| *is_given && !of.contains(&request.action)) {
        None => Ok(()),
        Some((field, _, of)) => {
            let of: Vec<String> = of.iter().filter_map(name).collect();
            let action = name(&request.action).unwrap_or_default();
            Err(Refusal::invalid(format!("{field} is not for {action}: it is for {}", of.join(" and "))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(mut fields: Value, action: &str) -> Result<ProcessCall, String> {
        fields["action"] = json!(action);
        let request = serde_json::from_value(fields).expect("a request");
        ProcessCall::read(request).map_err(|refusal| refusal.detail)
    }

    fn of_run(mut fields: Value, action: &str) -> Result<RunAction, String> {
        fields["runId"] = json!("0123456789ab");
        match read(fields, action)? {
            ProcessCall::OfRun { action, .. } => action.map_err(|refusal| refusal.detail),
            ProcessCall::List { .. } => panic!("{action} is about one run"),
        }
    }

    #[test]
    fn every_action_but_list_needs_a_run() {
        assert!(matches!(read(json!({"limit": 3}), "list"), Ok(ProcessCall::List { limit: Some(3) })));
        for action in [
            "poll",
            "log",
            "write",
            "send-keys",
            "submit",
            "paste",
            "screen",
            "resize",
            "kill",
            "clear",
            "remove",
        ] {
            let refused = read(json!({}), action).expect_err(action);
            assert_eq!(
                refused, "runId is missing: name the run that exec returned or process list shows",
                "{action}"
            );
        }
    }

    #[test]
    fn an_action_without_its_fields_is_refused() {
        for (action, detail) in [
            ("write", "data is missing: write the text, or set eof to close stdin"),
            ("paste", "text is missing: write the text to paste"),
            ("resize", "the size is incomplete: write cols and rows"),
        ] {
            assert_eq!(of_run(json!({}), action), Err(detail.to_owned()));
        }
        assert_eq!(
            of_run(json!({"cols": 80}), "resize"),
            Err("the size is incomplete: write cols and rows".to_owned())
        );
    }

    #[test]
    fn an_action_keeps_exactly_its_fields() {
        for (action, fields, read) in [
            ("poll", json!({"timeoutMs": 5}), RunAction::Poll { timeout_ms: Some(5) }),
            ("log", json!({}), RunAction::Log(LogPart::Lines { offset: None, limit: None })),
            ("log", json!({"byteOffset": 7}), RunAction::Log(LogPart::FromByte(7))),
            ("write", json!({"eof": true}), RunAction::Write { data: String::new(), eof: true }),
            ("write", json!({"data": "x"}), RunAction::Write { data: "x".to_owned(), eof: false }),
            (
                "send-keys",
                json!({"keys": "Enter"}),
                RunAction::SendKeys { literal: None, hex: vec![], keys: vec!["Enter".to_owned()] },
            ),
            ("submit", json!({}), RunAction::Submit),
            ("paste", json!({"text": "x"}), RunAction::Paste { text: "x".to_owned(), bracketed: None }),
            ("screen", json!({}), RunAction::Screen),
            ("resize", json!({"cols": 80, "rows": 24}), RunAction::Resize(Size { cols: 80, rows: 24 })),
            ("kill", json!({}), RunAction::Kill),
            ("clear", json!({}), RunAction::Clear),
            ("remove", json!({}), RunAction::Remove),
        ] {
            assert_eq!(of_run(fields, action), Ok(read), "{action}");
        }
    }

    #[test]
    fn a_log_is_by_lines_or_by_bytes() {
        let refused = of_run(json!({"byteOffset": 7, "limit": 1}), "log").expect_err("both");
        assert_eq!(refused, "byteOffset excludes offset and limit: use one or the other");
    }
}
