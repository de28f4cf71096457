//! What the crate promises, from outside.
#![allow(clippy::unwrap_used, reason = "a test that panics fails")]

mod descriptions;
mod reading;
mod recorded;
mod turns;

use std::path::Path;
use tenure_agents::{Agent, BadAgent};
use tenure_settings::raw::{RawTable, RawValue, parse};

/// The agents that a configuration with this text gives.
fn agents(text: &str) -> Result<Vec<Agent>, BadAgent> {
    let path = Path::new("/c/config.toml");
    let mut file = parse(path, text).expect("TOML");
    let given = match file.remove("agents").map(|raw| raw.value) {
        Some(RawValue::Table(table)) => table,
        _ => RawTable::new(),
    };
    tenure_agents::agents(path, &given).map(|all| all.into_values().collect())
}

/// One of them.
#[track_caller]
fn agent(name: &str, text: &str) -> Agent {
    let all = agents(text).unwrap_or_else(|error| panic!("{error}"));
    all.into_iter().find(|agent| agent.name.as_str() == name).expect("there is such an agent")
}

#[track_caller]
fn refusal(text: &str) -> String {
    agents(text).expect_err("this is refused").to_string()
}
