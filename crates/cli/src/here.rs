//! This process, as what is started for it begins: its directory, its environment, its limits.

use crate::failure::Failure;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use std::env;
use std::os::unix::ffi::OsStrExt;
use tenure_core::api::Exact;
use tenure_os::descriptors;
use tenure_settings::Settings;

/// This process, without a command.
pub(crate) fn process(settings: &Settings) -> Result<Exact, Failure> {
    let cwd = env::current_dir()
        .map_err(|error| Failure::refused(format!("there is no current directory: {error}")))?;
    let pinned = settings.pinned();
    let mut words = [cwd.as_os_str().as_bytes(), b"\0"].concat();
    for (name, value) in env::vars_os().filter(|(name, _)| !pinned.iter().any(|(known, _)| name == known)) {
        words.extend([name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat());
    }
    for (name, path) in pinned {
        // A command that starts elsewhere means the same files.
        words.extend(format!("{name}={path}\0").into_bytes());
    }
    Ok(Exact {
        words: BASE64_STANDARD.encode(words),
        argc: 0,
        umask: tenure_os::file::umask(),
        nofile: descriptors::limit(),
        env_names: Vec::new(),
    })
}
