//! A command line as the daemon is asked for it.

use super::line::line;
use crate::args::{ExecArgs, Limit};
use std::time::Duration;
use tenure_core::api::Exact;
use tenure_core::tools::ExecRequest;

/// The request that means these flags.
pub(super) fn of(args: &ExecArgs, process: Exact) -> ExecRequest {
    let length = |limit: Limit| limit.0.unwrap_or_default();
    let seconds = |limit: Option<Limit>| limit.map(|limit| length(limit).as_secs_f64());
    ExecRequest {
        command: line(&args.command),
        workdir: args.workdir.clone(),
        env: args.env.iter().cloned().collect(),
        yield_ms: args.yield_after.map(|limit| millis(length(limit))),
        background: args.background,
        timeout_seconds: seconds(args.timeout),
        no_output_timeout_seconds: seconds(args.no_output_timeout),
        pty: args.pty,
        session_key: args.session.clone(),
        scope_key: args.scope.clone(),
        replace: args.replace,
        ask: args.ask.map(Into::into),
        notify: args.notify.map(Into::into),
        label: args.label.clone(),
        process: Some(process),
    }
}

fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}
