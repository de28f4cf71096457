//! `tenure agents`: list the agents, both commands and ACP adapters. Needs no daemon: descriptions are built in or in
//! `config.toml`.

use crate::args::{AgentsArgs, AgentsVerb};
use crate::failure::Failure;
use crate::print::{self, AdapterListing, AgentListing};
use crate::settings;
use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tenure_agents::{Adapter, Agent, BUILT_IN, PromptChannel};
use tenure_core::session::{AgentId, Backend};
use tenure_core::watchdog::Begins;
use tenure_os::stderr::complain;
use tenure_os::{environment, executable};
use tenure_settings::Settings;
use tenure_settings::raw::RawValue;

pub(crate) fn run(args: &AgentsArgs) -> Result<u8, Failure> {
    match args.verb {
        None | Some(AgentsVerb::List) => list(args.json),
    }
}

/// Prints the agents with valid descriptions, and the errors of the others.
fn list(json: bool) -> Result<u8, Failure> {
    let path = env::var_os("PATH").unwrap_or_else(|| environment::PATH.into());
    let (listed, errors) = listed(&settings::load_leniently()?, &path);
    errors.iter().for_each(complain);
    if json {
        print::json(&listed)?;
    } else {
        print::agents(&listed)?;
    }
    Ok(u8::from(!errors.is_empty()))
}

/// Agents with valid descriptions in these settings, with their programs on this path, and the errors of the others.
pub(crate) fn listed(settings: &Settings, path: &OsStr) -> (Vec<AgentListing>, Vec<String>) {
    let file = settings.config().unwrap_or_else(|| Path::new("config.toml"));
    let agents = tenure_agents::agents(file, settings.agents());
    let adapters = tenure_agents::adapters(file, settings.agents());
    let errors = agents.values().filter_map(|it| it.as_ref().err());
    let errors = errors.chain(adapters.values().filter_map(|it| it.as_ref().err()));
    let errors = errors.map(ToString::to_string).collect();
    let of_commands = agents.values().flatten().map(|agent| of_command(agent, settings, path));
    let of_adapters = adapters.values().flatten().map(|adapter| of_adapter(adapter, settings, path));
    let mut listed: Vec<AgentListing> = of_commands.chain(of_adapters).collect();
    // The sort is stable: an agent's command stays before its adapter.
    listed.sort_by(|a, b| a.name.cmp(&b.name));
    (listed, errors)
}

/// Origin of a description. The tables of a command and of an adapter are overridden independently.
fn source(name: &AgentId, settings: &Settings, backend: Backend) -> &'static str {
    let is_built_in = BUILT_IN.iter().any(|(built_in, _)| *built_in == name.as_str());
    let given = settings.agents().get(name.as_str()).and_then(|raw| match &raw.value {
        RawValue::Table(table) => Some(table),
        _ => None,
    });
    let is_given = given.is_some_and(|table| match backend {
        Backend::Acp => table.contains_key(Backend::Acp.word()),
        Backend::Cli | Backend::Exec | Backend::Run => table.keys().any(|key| key != Backend::Acp.word()),
    });
    match (is_built_in, is_given) {
        (true, false) => "built-in",
        (true, true) => "overridden",
        (false, _) => "own",
    }
}

fn of_command(agent: &Agent, settings: &Settings, path: &OsStr) -> AgentListing {
    let silence = |begins| agent.no_output(begins, agent.limits.timeout).map(millis);
    AgentListing {
        name: agent.name.to_string(),
        backend: Backend::Cli.word(),
        source: source(&agent.name, settings, Backend::Cli),
        command: agent.command.clone(),
        program: program(&agent.command, path).map(|found| found.display().to_string()),
        resumes: Some(agent.resume.is_some()),
        prompt: match agent.prompt {
            PromptChannel::Stdin => "stdin",
            PromptChannel::Argument => "argument",
        },
        model: agent.model.clone(),
        timeout_ms: agent.limits.timeout.map(millis),
        no_output_fresh_ms: silence(Begins::Fresh),
        no_output_resumed_ms: silence(Begins::Resumed),
        adapter: None,
    }
}

fn of_adapter(adapter: &Adapter, settings: &Settings, path: &OsStr) -> AgentListing {
    AgentListing {
        name: adapter.name.to_string(),
        backend: Backend::Acp.word(),
        source: source(&adapter.name, settings, Backend::Acp),
        command: adapter.command.clone(),
        program: program(&adapter.command, path).map(|found| found.display().to_string()),
        // Unknown until the agent runs and reports it.
        resumes: None,
        prompt: "protocol",
        model: adapter.session.model.clone(),
        timeout_ms: adapter.timeout.map(millis),
        no_output_fresh_ms: None,
        no_output_resumed_ms: None,
        adapter: Some(AdapterListing {
            args: adapter.args.clone(),
            permissions: adapter.permissions().word(),
            mode: adapter.session.mode.clone(),
            auth: adapter.session.auth.clone(),
            idle_ms: adapter.idle.map(millis),
            install: adapter.install.clone(),
        }),
    }
}

/// Program file of a command: the command itself if it is a path, else the first executable file of that name.
pub(crate) fn program(command: &str, path: &OsStr) -> Option<PathBuf> {
    let is_program = |file: &PathBuf| file.is_file() && executable::may_execute(file);
    let names = executable::spellings(command);
    if executable::has_place(command) {
        return names.iter().map(PathBuf::from).find(is_program);
    }
    env::split_paths(path).flat_map(|dir| names.iter().map(move |name| dir.join(name))).find(is_program)
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
        let [first, second] = ["first", "second"].map(|name| dir.path().join(name));
        std::fs::create_dir(&first).unwrap();
        std::fs::create_dir(&second).unwrap();
        // A copy of this program, under another name.
        let own = env::current_exe().unwrap();
        let name = format!("helper{}", env::consts::EXE_SUFFIX);
        std::fs::write(first.join("helper"), "").unwrap();
        std::fs::copy(own, second.join(&name)).unwrap();
        let path = env::join_paths([dir.path(), &first, &second]).unwrap();
        assert_eq!(program("helper", &path), Some(second.join(&name)));
        assert_eq!(program("first", &path), None, "a directory is no program");
        assert_eq!(program("other", &path), None);
        let whole = second.join(&name);
        assert_eq!(program(whole.to_str().unwrap(), OsStr::new("")), Some(whole));
        assert_eq!(program(first.join("helper").to_str().unwrap(), &path), None);
    }
}
