//! `tenure agents`: the CLI agents that there are. It needs no daemon: the descriptions are built in or in `config.toml`.

use crate::args::{AgentsArgs, AgentsVerb};
use crate::failure::Failure;
use crate::print::{self, Listed};
use crate::settings;
use std::env;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tenure_agents::{Agent, BUILT_IN, PromptGoes};
use tenure_core::session::Backend;
use tenure_core::watchdog::Begins;
use tenure_settings::Settings;

/// Where programs are looked for by whoever has no PATH.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

pub(crate) fn run(args: &AgentsArgs) -> Result<u8, Failure> {
    match args.verb {
        None | Some(AgentsVerb::List) => list(args.json)?,
    }
    Ok(0)
}

fn list(json: bool) -> Result<(), Failure> {
    let settings = settings::load()?;
    let file = settings.config().unwrap_or_else(|| Path::new("config.toml"));
    let agents = tenure_agents::agents(file, settings.agents()).map_err(Failure::refused)?;
    let path = env::var_os("PATH").unwrap_or_else(|| PATH.into());
    let listed: Vec<Listed> = agents.values().map(|agent| listed(agent, &settings, &path)).collect();
    if json { print::json(&listed) } else { print::agents(&listed) }
}

fn listed(agent: &Agent, settings: &Settings, path: &OsStr) -> Listed {
    let name = agent.name.as_str();
    let is_built_in = BUILT_IN.iter().any(|(built_in, _)| *built_in == name);
    let silence = |begins| agent.no_output(begins, agent.timeout).map(millis);
    Listed {
        name: name.to_owned(),
        backend: Backend::Cli.word(),
        source: match (is_built_in, settings.agents().contains_key(name)) {
            (true, false) => "built-in",
            (true, true) => "overridden",
            (false, _) => "own",
        },
        command: agent.command.clone(),
        program: program(&agent.command, path).map(|found| found.display().to_string()),
        resumes: agent.resume.is_some(),
        prompt: match agent.prompt {
            PromptGoes::Stdin => "stdin",
            PromptGoes::Argument => "argument",
        },
        model: agent.model.clone(),
        timeout_ms: agent.timeout.map(millis),
        no_output_fresh_ms: silence(Begins::Fresh),
        no_output_resumed_ms: silence(Begins::Resumed),
    }
}

/// The file that a command means: itself if it is a path, else the first of its name that can be executed.
fn program(command: &str, path: &OsStr) -> Option<PathBuf> {
    let is_program = |file: &PathBuf| {
        file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    if command.contains('/') {
        return Some(PathBuf::from(command)).filter(is_program);
    }
    env::split_paths(path).map(|dir| dir.join(command)).find(is_program)
}

fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_the_first_of_its_name_that_can_be_executed() {
        let dir = tempfile::tempdir().unwrap();
        let place = |name: &str, mode| {
            let at = dir.path().join(name);
            std::fs::create_dir(&at).unwrap();
            std::fs::write(at.join("helper"), "").unwrap();
            std::fs::set_permissions(at.join("helper"), PermissionsExt::from_mode(mode)).unwrap();
            at
        };
        let (first, second) = (place("first", 0o644), place("second", 0o755));
        let path = env::join_paths([dir.path(), &first, &second]).unwrap();
        assert_eq!(program("helper", &path), Some(second.join("helper")));
        assert_eq!(program("first", &path), None, "a directory is no program");
        assert_eq!(program("other", &path), None);
        let whole = second.join("helper");
        assert_eq!(program(whole.to_str().unwrap(), OsStr::new("")), Some(whole));
        assert_eq!(program(first.join("helper").to_str().unwrap(), &path), None);
    }
}
