//! Checks of this machine and this installation, with advice. Each file checks one thing and changes nothing. Functions
//! that observe are separate from functions that judge, so that tests of the judgements do not depend on the machine.

mod boundary;
mod channels;
mod daemon;
mod kernel;
mod limits;
mod stale;
mod storage;

use serde::Serialize;
use std::fmt;
use std::path::Path;
use tenure_os::{host, platform};
use tenure_settings::{BadSettings, Settings};

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Verdict {
    /// All right.
    Ok,
    /// Worth knowing.
    Note,
    /// Works, but badly, or not for long.
    Warning,
    /// Does not work.
    Problem,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Ok => "ok",
            Verdict::Note => "note",
            Verdict::Warning => "warning",
            Verdict::Problem => "problem",
        })
    }
}

/// A check and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Check {
    /// The name of the check.
    pub(crate) name: &'static str,
    /// The severity.
    pub(crate) verdict: Verdict,
    /// The finding.
    pub(crate) finding: String,
    /// The advice, if there is something to do.
    pub(crate) advice: Option<String>,
}

impl Check {
    fn ok(name: &'static str, finding: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Ok, finding: finding.into(), advice: None }
    }

    fn new(
        name: &'static str,
        verdict: Verdict,
        finding: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self { name, verdict, finding: finding.into(), advice: Some(advice.into()) }
    }
}

/// Runs all checks.
pub(crate) fn examine(settings: &Settings, mistakes: &[BadSettings]) -> Vec<Check> {
    let mut checks = boundary::checks(settings);
    checks.extend(kernel::checks(platform::here(), &host::kernel(), host::is_root()));
    checks.extend(limits::checks());
    checks.extend(storage::checks(settings));
    checks.extend(daemon::checks(settings));
    checks.extend(stale::checks(settings));
    checks.push(configuration(settings, mistakes));
    checks.push(agents(settings));
    checks.push(channels::check(settings));
    checks.push(exec(settings));
    checks
}

/// Reports the policy of `exec`. No policy is a fault.
fn exec(settings: &Settings) -> Check {
    let (mode, ask) = (settings.exec.mode, settings.exec.ask);
    let [mode_from, ask_from] = ["exec.mode", "exec.ask"].map(|key| settings.origin(key));
    Check::ok("exec", format!("mode {mode} ({mode_from}), asks {ask} ({ask_from})"))
}

/// Checks the descriptions of agents. One with a mistake is refused; the others start.
fn agents(settings: &Settings) -> Check {
    const NAME: &str = "agents";
    let file = settings.config().unwrap_or(Path::new(""));
    let agents = tenure_agents::agents(file, settings.agents());
    let adapters = tenure_agents::adapters(file, settings.agents());
    let errors = agents.values().filter_map(|it| it.as_ref().err());
    let mut errors: Vec<String> =
        errors.chain(adapters.values().filter_map(|it| it.as_ref().err())).map(ToString::to_string).collect();
    errors.dedup();
    if errors.is_empty() {
        return Check::ok(NAME, format!("{} in config.toml", settings.agents().len()));
    }
    let advice = "correct them and restart the daemon; until then these agents are refused";
    Check::new(NAME, Verdict::Problem, errors.join("; "), advice)
}

fn configuration(settings: &Settings, mistakes: &[BadSettings]) -> Check {
    const NAME: &str = "configuration";
    if !mistakes.is_empty() {
        let found: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
        let advice =
            "correct it: until then Tenure starts nothing, and other commands use the valid settings";
        return Check::new(NAME, Verdict::Problem, found.join("; "), advice);
    }
    match settings.config() {
        None => {
            let variable = tenure_os::place::home_variable();
            Check::ok(NAME, format!("no configuration file: {variable} is not set"))
        }
        Some(path) if path.exists() => Check::ok(NAME, path.display().to_string()),
        Some(path) => Check::ok(NAME, format!("{} does not exist: the defaults apply", path.display())),
    }
}

/// Returns all findings that depend on neither a process nor this machine, for the snapshot. `dir` must be empty.
#[cfg(test)]
#[cfg(unix)]
pub(crate) fn samples(settings: &Settings, dir: &Path) -> Vec<Check> {
    let mut checks = boundary::samples(settings, dir);
    checks.extend(kernel::samples());
    checks.extend(limits::samples());
    checks.extend(storage::samples(dir));
    checks.extend(daemon::samples(settings));
    checks.extend(stale::samples());
    checks.extend([
        configuration(settings, &[]),
        agents(settings),
        channels::check(settings),
        exec(settings),
    ]);
    checks
}
