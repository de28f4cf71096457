//! A run as the daemon is asked for it: the caller's own process, in exact bytes, and the flags.

use crate::args::RunArgs;
use crate::here;
use std::time::Duration;
use tenure_core::api::{Exact, RunRequest, Stdin};
use tenure_core::output::Keep;
use tenure_core::spec::{Spec, Transport};
use tenure_os::descriptors;

/// The request that means this spec, with this much of its output kept if we have to say so.
pub(super) fn of(flags: &RunArgs, spec: &Spec, keep: Option<Keep>) -> RunRequest {
    let argv = spec.transport.argv();
    let exact = Exact {
        words: here::packed([&spec.cwd].into_iter().chain(argv.words()).chain(&spec.env)),
        argc: argv.words().len(),
        umask: spec.umask,
        nofile: descriptors::limit(),
        env_names: spec.env_names.clone(),
        keep,
    };
    let stdin = match &spec.transport {
        Transport::Pipes { stdin, .. } => Some(if *stdin { Stdin::Open } else { Stdin::Closed }),
        Transport::Pty { .. } => None,
    };
    let limits = &spec.limits;
    RunRequest {
        pty: spec.transport.size().is_some(),
        pty_size: spec.transport.size(),
        // None is said to be none: what is not said is the daemon's to fill in.
        timeout_ms: Some(limits.overall.map_or(0, millis)),
        no_output_timeout_ms: limits.no_output.map(millis),
        activity: Some(limits.activity),
        grace_ms: Some(millis(limits.grace)),
        session: spec.session.clone(),
        scope: spec.scope.clone(),
        replace: flags.replace,
        notify: flags.notify,
        label: spec.label.clone(),
        on_escape: Some(spec.on_escape),
        orphan: Some(spec.orphan),
        orphan_grace_ms: Some(millis(limits.orphan_grace)),
        stdin,
        resources: (!spec.resources.is_unbounded()).then(|| spec.resources.clone()),
        exact: Some(exact),
        ..RunRequest::default()
    }
}

fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}
