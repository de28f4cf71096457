//! Builds the exec request from flags and environment.

use super::line::line;
use crate::args::{ExecArgs, Limit};
use crate::caller_context::is_from_environment;
use serde::Serialize;
use serde_json::{Map, Value};
use std::time::Duration;
use tenure_core::api::Exact;
use tenure_core::tools::{ExecRequest, Notify};
use tenure_settings::Settings;

/// Request fields from this process's environment: they override the daemon's settings, and flags override them.
#[derive(Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OwnDefaults {
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    yield_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notify: Option<Notify>,
}

impl OwnDefaults {
    pub(super) fn of(settings: &Settings) -> Self {
        let is_own = |key| is_from_environment(settings, key);
        let exec = &settings.exec;
        Self {
            timeout_seconds: is_own("exec.timeout").then(|| exec.timeout.unwrap_or_default().as_secs_f64()),
            yield_ms: is_own("exec.yield").then(|| millis(exec.yield_after)),
            notify: is_own("exec.notify").then_some(exec.notify),
        }
    }

    /// Adds the fields that a request does not have.
    pub(super) fn fill_in(&self, request: &mut Map<String, Value>) -> serde_json::Result<()> {
        if let Value::Object(own) = serde_json::to_value(self)? {
            for (name, value) in own {
                request.entry(name).or_insert(value);
            }
        }
        Ok(())
    }
}

/// Builds the request for these flags.
pub(super) fn build(args: &ExecArgs, settings: &Settings, process: Exact) -> ExecRequest {
    let length = |limit: Limit| limit.0.unwrap_or_default();
    let seconds = |limit: Option<Limit>| limit.map(|limit| length(limit).as_secs_f64());
    let own = OwnDefaults::of(settings);
    ExecRequest {
        command: line(&args.command),
        workdir: args.workdir.clone(),
        env: args.env.iter().cloned().collect(),
        yield_ms: args.yield_after.map(|limit| millis(length(limit))).or(own.yield_ms),
        background: args.background,
        timeout_seconds: seconds(args.timeout).or(own.timeout_seconds),
        no_output_timeout_seconds: seconds(args.no_output_timeout),
        pty: args.pty,
        session_key: args.session.clone(),
        scope_key: args.scope.clone(),
        replace: args.replace,
        ask: args.ask.map(Into::into),
        notify: args.notify.map(Into::into).or(own.notify),
        label: args.label.clone(),
        process: Some(process),
    }
}

fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}
