//! Checks that channels accept notices. A channel reaches nobody if it has a mistake, if its program is missing, or if
//! it refuses notices.

use super::{Check, Verdict};
use crate::commands::agents::program;
use crate::daemon_client;
use std::collections::BTreeMap;
use std::path::Path;
use tenure_core::tools::tasks::{Action, TaskFinding, TasksRequest};
use tenure_notify::Target;
use tenure_settings::Settings;

const NAME: &str = "channels";

pub(super) fn check(settings: &Settings) -> Check {
    let described = tenure_notify::channels(settings.config().unwrap_or(Path::new("")), settings.channels());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mistake = |name: &String, channel: &Result<tenure_notify::Channel, _>| match channel {
        Err(error) => Some(format!("{error}")),
        Ok(tenure_notify::Channel { target: Target::Command(command), .. }) => {
            let word = command.argv.first()?;
            program(word, &path)
                .is_none()
                .then(|| format!("channels.{name}.command: there is no program {word}"))
        }
        Ok(_) => None,
    };
    let mistakes: Vec<String> = described.iter().filter_map(|(name, it)| mistake(name, it)).collect();
    judge(described.len(), mistakes, &refused(&audited(settings)))
}

/// Returns the running daemon's audit of tasks; empty without a daemon.
fn audited(settings: &Settings) -> Vec<TaskFinding> {
    let Some(client) = daemon_client::connect(settings) else { return Vec::new() };
    let reply = daemon_client::call(client.tasks(&TasksRequest::new(Action::Audit)));
    reply.ok().and_then(|reply| reply.findings).unwrap_or_default()
}

/// Returns a line for each channel that refused notices: one refusal, and the number of others.
fn refused(findings: &[TaskFinding]) -> Vec<String> {
    let mut channels: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    for TaskFinding { finding, .. } in findings {
        if let Some(channel) = finding.channel.as_deref() {
            channels.entry(channel).or_insert((0, &finding.detail)).0 += 1;
        }
    }
    let line = |(count, detail): (usize, &str)| match count {
        1 => detail.to_owned(),
        more => format!("{detail} (and {} more)", more - 1),
    };
    channels.into_values().map(line).collect()
}

fn judge(described: usize, mistakes: Vec<String>, refused: &[String]) -> Check {
    let mut advice = Vec::new();
    if !mistakes.is_empty() {
        advice.push("correct them and restart the daemon");
    }
    if !refused.is_empty() {
        advice.push("`tenure tasks audit` lists the notices, `tenure tasks retry` sends one again");
    }
    if advice.is_empty() {
        return Check::ok(NAME, format!("{described} described"));
    }
    let finding = [mistakes, refused.to_vec()].concat().join("; ");
    Check::new(NAME, Verdict::Problem, finding, advice.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn finding(channel: Option<&str>, detail: &str) -> TaskFinding {
        serde_json::from_value(
            json!({"taskId": "a".repeat(24), "code": "channel_refuses", "severity": "warning",
            "detail": detail, "channel": channel}),
        )
        .unwrap()
    }

    #[test]
    fn a_refusing_channel_is_a_problem_and_named_once() {
        let found = [
            finding(Some("desk"), "channel desk refused the notice (HTTP 400)"),
            finding(Some("desk"), "channel desk refused the notice (HTTP 400)"),
            finding(None, "it is queued for 2 d"),
            finding(Some("ops"), "channel ops refused the notice (exit 1)"),
        ];
        let refused = refused(&found);
        assert_eq!(
            refused,
            [
                "channel desk refused the notice (HTTP 400) (and 1 more)",
                "channel ops refused the notice (exit 1)"
            ]
        );
        let check = judge(2, Vec::new(), &refused);
        assert_eq!(check.verdict, Verdict::Problem);
        assert!(check.advice.is_some_and(|advice| advice.contains("tenure tasks audit")));
        assert_eq!(judge(2, Vec::new(), &[]), Check::ok(NAME, "2 described"));
    }
}
