//! Descriptions of ACP adapters: their keys, the merge over built-in ones, and the errors.

use crate::{CONFIG, absolute, agents, given};
use std::path::Path;
use std::time::Duration;
use tenure_agents::{Adapter, BUILT_IN, BadAgent, adapters};
use tenure_core::defaults;
use tenure_core::session::Permissions;

fn all(text: &str) -> Result<Vec<Adapter>, BadAgent> {
    adapters(Path::new(CONFIG), &given(text)).into_values().collect()
}

#[track_caller]
fn adapter(name: &str, text: &str) -> Adapter {
    let all = all(text).unwrap_or_else(|error| panic!("{error}"));
    all.into_iter().find(|adapter| adapter.name.as_str() == name).expect("there is such an adapter")
}

fn line(adapter: &Adapter) -> String {
    let argv = adapter.argv().unwrap();
    let words: Vec<_> = argv.words().iter().map(|word| std::str::from_utf8(word).unwrap()).collect();
    words.join("|")
}

#[test]
fn every_built_in_agent_has_an_adapter_that_says_how_to_get_it() {
    let all = all("").unwrap();
    let names: Vec<_> = all.iter().map(|adapter| adapter.name.as_str()).collect();
    assert_eq!(names, BUILT_IN.map(|(name, _)| name));
    for adapter in all {
        assert!(adapter.install.is_some() && !adapter.env.pass.is_empty(), "{adapter:?}");
        assert_eq!(adapter.permissions(), Permissions::ApproveReads);
        assert_eq!(
            (adapter.timeout, adapter.idle),
            (Some(defaults::AGENT_TURN), Some(defaults::ADAPTER_IDLE))
        );
    }
}

#[test]
fn the_built_in_adapters_are_called_as_they_want_it() {
    let lines: Vec<_> = all("").unwrap().iter().map(line).collect();
    assert_eq!(
        lines,
        [
            "auggie|--acp",
            "claude-agent-acp",
            "cline|--acp",
            "codex-acp",
            "copilot|--acp|--stdio",
            "cursor-agent|acp",
            "gemini|--acp",
            "goose|acp",
            "kimi|acp",
            "kiro-cli|acp",
            "opencode|acp",
            "pi-acp",
            "qodercli|--acp",
            "qwen|--acp",
        ]
    );
}

#[test]
fn a_built_in_adapter_is_overridden_key_by_key() {
    let plain = adapter("claude", "");
    let path = absolute();
    let text = format!(
        "[agents.claude.acp]\ncommand = '{path}'\nargs = ['--debug', '{{model}}']\nenv.A = '1'\n\
                permissions = 'ask'\nmode = 'plan'\nauth = 'key'\nmodel = 'large'\nidle = 'off'\ntimeout = '5m'\n\
                files = 'own'"
    );
    let mine = adapter("claude", &text);
    assert_eq!(line(&mine), format!("{path}|--debug|{{model}}"), "arguments are literals");
    assert_eq!((&mine.env.pass, &mine.env.remove), (&plain.env.pass, &plain.env.remove));
    assert_eq!(mine.env.set["A"], "1");
    assert_eq!((mine.permissions(), mine.idle), (Permissions::Ask, None));
    assert_eq!((mine.session.mode.as_deref(), mine.session.auth.as_deref()), (Some("plan"), Some("key")));
    assert_eq!((mine.session.model.as_deref(), mine.timeout), (Some("large"), Some(Duration::from_mins(5))));
    assert_eq!((plain.serves_files, mine.serves_files), (true, false));
    assert_eq!(mine.install, plain.install);
}

#[test]
fn an_agent_may_have_a_command_or_an_adapter_or_both() {
    const ADAPTER: &str = "[agents.mine.acp]\ncommand = 'mine-acp'\n";
    let has = |text: &str| {
        let cli = agents(text).unwrap().iter().any(|agent| agent.name.as_str() == "mine");
        let acp = all(text).unwrap().iter().any(|adapter| adapter.name.as_str() == "mine");
        (cli, acp)
    };
    let command = "[agents.mine]\ncommand = 'mine'\nfresh = ['-p']\n";
    assert_eq!(has(ADAPTER), (false, true));
    assert_eq!(has(command), (true, false));
    assert_eq!(has(&format!("{command}{ADAPTER}")), (true, true));
}

#[test]
fn what_cannot_be_is_refused_with_its_key_its_line_and_what_to_write() {
    for (text, expected) in [
        ("mode = ''", "agents.mine.acp.mode (from /c/config.toml:3): it is empty: write an id"),
        (
            "fresh = []",
            "/c/config.toml:3: unknown setting \"agents.mine.acp.fresh\": use one of command, args",
        ),
        ("args = '--x'", "must be an array of texts, not a text"),
        ("args = [\"\\u0000\"]", "NUL"),
        ("permissions = 'all'", "use approve-all or approve-reads or deny-all or ask"),
        ("files = 'none'", "use served or own"),
        ("idle = 'soon'", "agents.mine.acp.idle (from /c/config.toml:3): \"soon\" is not a duration"),
        ("env-remove = ['A']\nenv.A = '1'", "A is set in env as well"),
        ("env.TENURE_STATE = '/x'", "TENURE_STATE is reserved for Tenure"),
        ("env-pass = 'A'", "agents.mine.acp.env-pass"),
    ] {
        let refused = all(&format!("[agents.mine.acp]\ncommand = 'x'\n{text}")).unwrap_err().to_string();
        assert!(refused.contains(expected), "{text}\n  expected {expected}\n  was      {refused}");
    }
    let refused = all("agents.mine.acp = 'x'").unwrap_err().to_string();
    assert!(
        refused.contains("agents.mine.acp (from /c/config.toml:1): must be a table, not a text"),
        "{refused}"
    );
    let refused = all("[agents.mine.acp]\nargs = []").unwrap_err().to_string();
    assert!(
        refused.contains("agents.mine.acp.command (from /c/config.toml:1): \"\" is not a program"),
        "{refused}"
    );
}

#[test]
fn a_key_beside_an_adapter_alone_is_told_where_it_belongs() {
    let refused = agents("[agents.goose]\nmodel = 'large'").unwrap_err().to_string();
    assert!(refused.contains("put these keys into [agents.goose.acp]"), "{refused}");
}

#[test]
fn what_the_file_passes_on_comes_beside_what_the_built_in_description_does() {
    let all = all("[agents.claude.acp]\nenv-pass = ['MYCO_*']\nenv-remove = ['AWS_*']").unwrap();
    let env = &all.iter().find(|adapter| adapter.name.as_str() == "claude").unwrap().env;
    for name in ["MYCO_KEY", "ANTHROPIC_API_KEY", "SSH_AUTH_SOCK", "CLOUD_ML_REGION"] {
        assert!(env.passes(name), "{name}");
    }
    for name in ["AWS_PROFILE", "OTHER_KEY"] {
        assert!(!env.passes(name), "{name}");
    }
}

#[test]
fn the_built_in_agents_get_what_their_providers_need() {
    let all = all("").unwrap();
    for adapter in &all {
        assert!(adapter.env.passes("SSH_AUTH_SOCK") && adapter.env.passes("HTTPS_PROXY"), "{}", adapter.name);
    }
    let bedrock = ["AWS_PROFILE", "AWS_REGION", "AWS_BEARER_TOKEN_BEDROCK"];
    let vertex = ["GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT", "CLOUD_ML_REGION"];
    for agent in ["claude", "cline", "goose", "opencode", "pi"] {
        let env = &all.iter().find(|adapter| adapter.name.as_str() == agent).unwrap().env;
        for name in bedrock.iter().chain(&vertex) {
            assert!(env.passes(name), "{agent}: {name}");
        }
    }
}

#[test]
fn one_bad_description_is_one_agents_and_the_others_hold() {
    let text = "agents.odd = 3\n[agents.claude.acp]\npermisions = 'ask'\n[agents.mine]\ncommand = 'x'";
    let wrong = |name: &str, all: Vec<(String, Option<String>)>| {
        let wrong: Vec<_> = all.into_iter().filter_map(|(its, why)| Some((its, why?))).collect();
        assert!(
            wrong.iter().any(|(its, why)| its == name && why.contains(&format!("agents.{name}"))),
            "{wrong:?}"
        );
        wrong.into_iter().map(|(its, _)| its).collect::<Vec<_>>()
    };
    let given = given(text);
    let of_adapters = adapters(Path::new(CONFIG), &given);
    let of_agents = tenure_agents::agents(Path::new(CONFIG), &given);
    assert!(of_adapters["codex"].is_ok() && of_agents["codex"].is_ok() && of_agents["claude"].is_ok());
    let why = |described: Result<String, BadAgent>| described.err().map(|error| error.to_string());
    let of_adapters =
        of_adapters.into_iter().map(|(name, it)| (name, why(it.map(|it| it.command)))).collect();
    let of_agents = of_agents.into_iter().map(|(name, it)| (name, why(it.map(|it| it.command)))).collect();
    assert_eq!(wrong("claude", of_adapters), ["claude", "odd"]);
    assert_eq!(wrong("mine", of_agents), ["mine", "odd"]);
}

#[test]
fn a_turn_may_be_silent_for_a_share_of_its_time_limit_unless_the_description_says_otherwise() {
    let of = |key: &str| adapter("claude", &format!("[agents.claude.acp]\n{key}"));
    let hour = Some(Duration::from_hours(1));
    assert_eq!(of("").no_output(hour), Some(Duration::from_mins(10)));
    assert_eq!(of("").no_output(None), Some(Duration::from_mins(10)));
    assert_eq!(of("no-output-timeout = '30s'").no_output(hour), Some(Duration::from_secs(30)));
    assert_eq!(of("no-output-timeout = '0'").no_output(hour), None);
}
