//! The promises of the crate, from outside.
#![allow(clippy::unwrap_used, reason = "a test that panics fails")]

mod adapters;
mod descriptions;
mod reading;
mod recorded;
mod turns;

use std::path::Path;
use tenure_agents::{Agent, BadAgent};
use tenure_settings::raw::{RawTable, RawValue, parse};

const CONFIG: &str = "/c/config.toml";

/// Returns an absolute path of this system.
fn absolute() -> String {
    std::env::current_exe().unwrap().into_os_string().into_string().unwrap()
}

/// Parses the `agents` table of a config file.
fn given(text: &str) -> RawTable {
    let mut file = parse(Path::new(CONFIG), text).expect("TOML");
    match file.remove("agents").map(|raw| raw.value) {
        Some(RawValue::Table(table)) => table,
        _ => RawTable::new(),
    }
}

/// Parses the agents of a config file.
fn agents(text: &str) -> Result<Vec<Agent>, BadAgent> {
    tenure_agents::agents(Path::new(CONFIG), &given(text)).into_values().collect()
}

/// Returns the agent with this name.
#[track_caller]
fn agent(name: &str, text: &str) -> Agent {
    let all = agents(text).unwrap_or_else(|error| panic!("{error}"));
    all.into_iter().find(|agent| agent.name.as_str() == name).expect("there is such an agent")
}

#[track_caller]
fn refusal(text: &str) -> String {
    agents(text).expect_err("this is refused").to_string()
}
