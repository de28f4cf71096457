//! Combines the layers, the strongest last.

use crate::file::OnMistake;
use crate::kind::Place;
use crate::origin::{BadSettings, Origin};
use crate::table::{Env, Setting, TABLE};
use crate::{Settings, file};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tenure_os::place::{self, Variables};

/// Returns the settings of these flags and variables, and of the file that the variables name.
pub(crate) fn load(flags: &[(&str, &str)], variables: Variables<'_>) -> Result<Settings, BadSettings> {
    load_with(flags, variables, &mut Err)
}

/// Returns the settings with defaults in place of mistakes, and all mistakes. A mistake that leaves the
/// installation unclear is refused.
pub(crate) fn load_leniently(variables: Variables<'_>) -> Result<(Settings, Vec<BadSettings>), BadSettings> {
    let mut mistakes = Vec::new();
    let settings = load_with(&[], variables, &mut |mistake| {
        if mistake.is_final() {
            return Err(mistake);
        }
        mistakes.push(mistake);
        Ok(())
    })?;
    Ok((settings, mistakes))
}

fn load_with(
    flags: &[(&str, &str)],
    variables: Variables<'_>,
    mistake: OnMistake<'_>,
) -> Result<Settings, BadSettings> {
    let home = place::home(variables);
    let caller = Place { base: None, home: home.as_deref() };
    // Only defaults may need a home: a named state root needs none.
    let state = place::state(variables);
    let mut settings = Settings::defaults(state.clone().unwrap_or_default());
    let (config, origin) = config(variables);
    settings.config = config;
    let named = origin != Origin::Default;
    settings.origins.insert("config", origin);
    if let Some(path) = settings.config.clone() {
        let contents = read(&path, named, variables, mistake)?;
        (settings.agents, settings.channels) = (contents.agents, contents.channels);
        for given in contents.given {
            let origin = Origin::File { path: path.clone(), line: given.line };
            let place = Place { base: path.parent(), home: home.as_deref() };
            settings.set(given.setting, &given.text, place, origin).or_else(&mut *mistake)?;
        }
    }
    for setting in TABLE {
        let Some(value) = variables(setting.env.name()).filter(|value| !value.is_empty()) else { continue };
        let origin = Origin::Environment(setting.env.name());
        let bad = |why: String| BadSettings::Value { key: setting.key, origin: origin.clone(), why };
        let Some(text) = value.to_str() else {
            mistake(bad(format!("{} is not UTF-8", value.display())))?;
            continue;
        };
        settings.set(setting, text, caller, origin).or_else(&mut *mistake)?;
    }
    for &(key, text) in flags {
        let setting = TABLE.iter().find(|setting| setting.key == key);
        let setting = setting.ok_or_else(|| BadSettings::UnknownFlag(key.to_owned()))?;
        (setting.set)(&mut settings, text, caller).map_err(|why| BadSettings::Value {
            key: setting.key,
            origin: Origin::Flag,
            why,
        })?;
        settings.origins.insert(setting.key, Origin::Flag);
    }
    if state.is_none() && *settings.origin("state") == Origin::Default {
        return Err(BadSettings::NoStateRoot);
    }
    settings.check().or_else(mistake)?;
    Ok(settings)
}

/// Minimum of `replace_after`: a daemon shows a sign of life several times in this.
const SHORTEST_REPLACEMENT: Duration = Duration::from_secs(1);

impl Settings {
    fn set(
        &mut self,
        setting: &'static Setting,
        text: &str,
        place: Place<'_>,
        origin: Origin,
    ) -> Result<(), BadSettings> {
        let from_env = matches!(origin, Origin::Environment(_));
        let result = match setting.env {
            Env::Negates(_) if from_env => (setting.set)(self, &negated(text), place),
            Env::Negates(_) | Env::Is(_) => (setting.set)(self, text, place),
        };
        result.map_err(|why| BadSettings::Value { key: setting.key, origin: origin.clone(), why })?;
        self.origins.insert(setting.key, origin);
        Ok(())
    }

    /// Checks the rules that involve several settings.
    fn check(&self) -> Result<(), BadSettings> {
        let lease = self.lease;
        if lease.heartbeat.is_zero() || lease.heartbeat * 2 > lease.ttl {
            let because = "one heartbeat that is late must not cost the leases";
            let now = format!("they are {:?} and {:?}", lease.heartbeat, lease.ttl);
            return Err(BadSettings::Contradiction(format!(
                "lease.heartbeat must be above 0 and at most half of lease.ttl ({now}): {because}"
            )));
        }
        if self.daemon.replace_after.is_some_and(|limit| limit < SHORTEST_REPLACEMENT) {
            return Err(BadSettings::Contradiction(format!(
                "daemon.replace-after must be at least {SHORTEST_REPLACEMENT:?}, or off: a daemon that is only slow must live"
            )));
        }
        Ok(())
    }
}

/// Returns the opposite of a switch's text, for a variable that switches off.
fn negated(text: &str) -> String {
    match text {
        "1" | "true" | "yes" | "on" => "off".to_owned(),
        "0" | "false" | "no" | "off" => "on".to_owned(),
        other => other.to_owned(),
    }
}

/// Returns the configuration file, which may be missing, and the origin of its name.
fn config(variables: Variables<'_>) -> (Option<PathBuf>, Origin) {
    const NAME: &str = "TENURE_CONFIG";
    if let Some(named) = variables(NAME).filter(|value| !value.is_empty()) {
        let path = std::path::absolute(&named).unwrap_or(named.into());
        return (Some(path), Origin::Environment(NAME));
    }
    (place::config(variables).map(|dir| dir.join("config.toml")), Origin::Default)
}

fn read(
    path: &Path,
    named: bool,
    variables: Variables<'_>,
    mistake: OnMistake<'_>,
) -> Result<file::Contents, BadSettings> {
    use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    match std::fs::read_to_string(path) {
        Ok(text) => file::read(path, &text, &mut |bad| match bad {
            BadSettings::NotToml { .. } if names_installation(&text, variables) => Err(bad),
            bad => mistake(bad),
        }),
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => {
            if named {
                mistake(BadSettings::Missing(path.to_owned()))?;
            }
            Ok(file::Contents::default())
        }
        // A process that was started with another user's home has no configuration there.
        Err(error) if !named && error.kind() == PermissionDenied && is_out_of_reach(path) => {
            Ok(file::Contents::default())
        }
        Err(source) => {
            mistake(BadSettings::Unreadable { path: path.to_owned(), source })?;
            Ok(file::Contents::default())
        }
    }
}

/// Returns true if an unreadable text seems to name the installation, and no variable does.
fn names_installation(text: &str, variables: Variables<'_>) -> bool {
    [("state", "TENURE_STATE"), ("registry", "TENURE_REGISTRY")].into_iter().any(|(key, variable)| {
        text.lines().any(|line| line.trim_start().starts_with(key))
            && variables(variable).is_none_or(|value| value.is_empty())
    })
}

/// Returns true if a directory above a file is closed to us, so that even the file's existence is unknown.
fn is_out_of_reach(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}
