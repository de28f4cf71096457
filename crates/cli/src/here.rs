//! This process, as what is started for it begins: its directory, its environment, its limits.

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

/// This process, without a command.
pub(crate) fn process(settings: &Settings) -> Result<Exact, Failure> {
    let here = env::current_dir()
        .map_err(|error| Failure::refused(format!("there is no current directory: {error}")))?;
    let spec = Spec { cwd: text::bytes(here), env: environment(settings), ..Spec::default() };
    Ok(Exact {
        words: packed(&spec),
        argc: 0,
        umask: file::umask(),
        nofile: descriptors::limit(),
        env_names: Vec::new(),
        keep: keep(settings),
    })
}

/// How much of the output is kept, if our environment says so. The rest of the settings is the daemon's.
pub(crate) fn keep(settings: &Settings) -> Option<Keep> {
    let given = ["output.head", "output.tail"].into_iter().any(|key| is_from_environment(settings, key));
    given.then_some(settings.output)
}

/// Whether our own environment gives a setting.
pub(crate) fn is_from_environment(settings: &Settings, key: &str) -> bool {
    matches!(settings.origin(key), Origin::Environment(_))
}

/// The entries of the environment, with paths that mean the same files from anywhere.
pub(crate) fn environment(settings: &Settings) -> Vec<Vec<u8>> {
    let entry = |(name, value)| [text::bytes(name), text::bytes(value)].join(&b'=');
    let mut env: Vec<Vec<u8>> = env::vars_os().map(entry).collect();
    for (name, path) in settings.pinned() {
        let setting = format!("{name}=");
        env.retain(|entry| !is_of(entry, setting.as_bytes()));
        env.push([setting, path].concat().into_bytes());
    }
    env
}

/// Whether an entry of an environment begins with this name and its `=`.
pub(crate) fn is_of(entry: &[u8], name: &[u8]) -> bool {
    entry.get(..name.len()).is_some_and(|its| environment::same_name(its, name))
}

/// The bytes of a spec as text: its directory, command and environment.
pub(crate) fn packed(spec: &Spec) -> String {
    BASE64_STANDARD.encode(wire::pack(&spec.cwd, spec.argv.words(), &spec.env))
}
