//! `POST /v1/runs`, and the one place where a spec becomes a request and a request becomes options. The request says
//! what it wants changed, so each of its options may be left out; `flatten` and `deny_unknown_fields` exclude each other.

use super::is_false;
use crate::defaults;
use crate::limits::{Activity, Limits};
use crate::output::Keep;
use crate::resources::Resources;
use crate::spec::{OnEscape, Orphan, RunOptions, Size, Spec};
use crate::task::NotifyPolicy;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// `POST /v1/runs`: the flags of `tenure run`. The response comes when the command executes, or could not be
/// started.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RunRequest {
    /// The program and its arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// A verbatim line for the shell, run on a terminal; instead of `command`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pty_command: Option<String>,
    /// True to run the command on a pseudo-terminal.
    #[serde(skip_serializing_if = "is_false")]
    pub pty: bool,
    /// The terminal's size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pty_size: Option<Size>,
    /// The working directory, absolute; without it, the user's home.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Variables beside those of the daemon's cleaned environment.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The time limit of the run; 0 is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The longest silence: the run is ended after this long without output; 0 is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_output_timeout_ms: Option<u64>,
    /// The activity that counts against the no-output limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity: Option<Activity>,
    /// The time between SIGTERM and SIGKILL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_ms: Option<u64>,
    /// The session that the run belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// A key for which only one run may be live at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// True to end the live run of the same scope first.
    #[serde(skip_serializing_if = "is_false")]
    pub replace: bool,
    /// A name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The treatment of escaped processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_escape: Option<OnEscape>,
    /// The treatment of the run when its owner is lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub orphan: Option<Orphan>,
    /// The time between the owner's loss and the end of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub orphan_grace_ms: Option<u64>,
    /// The state of standard input: open for writes, or closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdin: Option<Stdin>,
    /// The notices that the owner gets if nobody waits for the run; without it, one about its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notify: Option<NotifyPolicy>,
    /// The resource limits of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub resources: Option<Resources>,
    /// The caller's own process, as exact bytes that JSON cannot carry. Instead of `command`, `cwd` and `env`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact: Option<Exact>,
}

impl RunRequest {
    /// The request for a run of the caller's own process. `exact` has the parts of the spec that are bytes.
    pub fn of(spec: &Spec, exact: Exact) -> Self {
        let RunOptions { limits, .. } = &spec.options;
        let options = spec.options.clone();
        let stdin = if options.stdin { Stdin::Open } else { Stdin::Closed };
        Self {
            pty: options.pty_size.is_some(),
            pty_size: options.pty_size,
            // 0 is no limit; without a number the daemon would fill in its own.
            timeout_ms: Some(limits.overall.map_or(0, millis)),
            no_output_timeout_ms: limits.no_output.map(millis),
            activity: Some(limits.activity),
            grace_ms: Some(millis(limits.grace)),
            session: options.session_id,
            scope: options.scope,
            label: options.label,
            on_escape: Some(options.on_escape),
            orphan: Some(options.orphan),
            orphan_grace_ms: Some(millis(limits.orphan_grace)),
            stdin: options.pty_size.is_none().then_some(stdin),
            resources: Some(options.resources).filter(|resources| !resources.is_unbounded()),
            exact: Some(exact),
            ..Self::default()
        }
    }

    /// The options that the request asks for. Options that it leaves out are the `usual` ones.
    pub fn options(&self, usual: &RunOptions) -> RunOptions {
        let terminal = self.pty || self.pty_command.is_some();
        let limit = |ms: Option<u64>, default| match ms {
            Some(ms) => Some(Duration::from_millis(ms)).filter(|limit| !limit.is_zero()),
            None => default,
        };
        let length = |ms: Option<u64>, default| ms.map_or(default, Duration::from_millis);
        let limits = Limits {
            overall: limit(self.timeout_ms, usual.limits.overall),
            no_output: limit(self.no_output_timeout_ms, usual.limits.no_output),
            activity: self.activity.unwrap_or(usual.limits.activity),
            grace: length(self.grace_ms, usual.limits.grace),
            give_up: usual.limits.give_up,
            orphan_grace: length(self.orphan_grace_ms, usual.limits.orphan_grace),
        };
        RunOptions {
            session_id: self.session.clone(),
            scope: self.scope.clone(),
            label: self.label.clone(),
            env_names: self
                .exact
                .as_ref()
                .map_or_else(|| self.env.keys().cloned().collect(), |exact| exact.env_names.clone()),
            pty_size: terminal.then(|| self.pty_size.unwrap_or(defaults::PTY_SIZE)),
            stdin: terminal || self.stdin == Some(Stdin::Open),
            limits,
            resources: self.resources.clone().unwrap_or_default(),
            on_escape: self.on_escape.unwrap_or(usual.on_escape),
            orphan: self.orphan.unwrap_or(usual.orphan),
            keep: self.exact.as_ref().and_then(|exact| exact.keep).unwrap_or(usual.keep),
        }
    }
}

fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

/// The state of a run's standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Stdin {
    /// The input can be written to.
    Open,
    /// The input is at its end from the start.
    Closed,
}

/// The protocol that a foreground caller's connection changes to.
pub const KEEPER_PROTOCOL: &str = "tenure-keeper";
/// The header by which a foreground caller says that it can pass its standard input to the keeper. The descriptor
/// itself is passed, so that the command takes no more of the input than it reads.
pub const STDIN_HEADER: &str = "tenure-stdin";
/// The header's value in that case.
pub const PASS_STDIN: &str = "pass";

/// A caller's command, directory and environment as bytes, and the process attributes that the command inherits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Exact {
    /// Base64 of: the directory, the command's words and the environment's entries, each ended by a NUL.
    pub words: String,
    /// The number of words that belong to the command.
    pub argc: usize,
    /// The file mode creation mask.
    pub umask: u32,
    /// The soft and hard limits of open descriptors.
    pub nofile: (u64, u64),
    /// The names of the variables that the caller set explicitly.
    #[serde(default)]
    pub env_names: Vec<String>,
    /// The amount of output to keep, if the caller's environment sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<Keep>,
}
