//! The calling process: its directory, environment and limits, which the daemon passes on to what it starts for it.

use crate::failure::Failure;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use std::env;
use tenure_core::api::Exact;
use tenure_core::output::Keep;
use tenure_core::spec::Spec;
use tenure_core::wire;
use tenure_os::{descriptors, environment, file, text};
use tenure_settings::{Origin, Settings};

/// Describes this process for a request. The request adds the command.
pub(crate) fn capture(settings: &Settings) -> Result<Exact, Failure> {
    let here = env::current_dir()
        .map_err(|error| Failure::refused(format!("the current directory cannot be read: {error}")))?;
    let spec = Spec { cwd: text::bytes(here), env: environment(settings), ..Spec::default() };
    Ok(Exact {
        words: pack(&spec),
        argc: 0,
        umask: file::umask(),
        nofile: descriptors::limit(),
        env_names: Vec::new(),
        keep: output_limits(settings),
    })
}

/// Limits of the recorded output, if this process's environment sets them. Otherwise the daemon's settings apply.
pub(crate) fn output_limits(settings: &Settings) -> Option<Keep> {
    let is_set = ["output.head", "output.tail"].into_iter().any(|key| is_from_environment(settings, key));
    is_set.then_some(settings.output)
}

/// Returns true if this process's environment sets a setting.
pub(crate) fn is_from_environment(settings: &Settings, key: &str) -> bool {
    matches!(settings.origin(key), Origin::Environment(_))
}

/// The environment, as `NAME=VALUE`. Paths in Tenure's own variables are made absolute.
pub(crate) fn environment(settings: &Settings) -> Vec<Vec<u8>> {
    let entry = |(name, value)| [text::bytes(name), text::bytes(value)].join(&b'=');
    let mut env: Vec<Vec<u8>> = env::vars_os().map(entry).collect();
    for (name, path) in settings.pinned() {
        let setting = format!("{name}=");
        env.retain(|entry| !has_name(entry, setting.as_bytes()));
        env.push([setting, path].concat().into_bytes());
    }
    env
}

/// Returns true if an entry of an environment begins with this name, which ends with `=`.
pub(crate) fn has_name(entry: &[u8], name: &[u8]) -> bool {
    entry.get(..name.len()).is_some_and(|its| environment::same_name(its, name))
}

/// Encodes the directory, command and environment of a spec as text.
pub(crate) fn pack(spec: &Spec) -> String {
    BASE64_STANDARD.encode(wire::pack(&spec.cwd, spec.argv.words(), &spec.env))
}
