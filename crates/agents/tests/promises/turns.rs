//! The command of a turn.

use crate::agent;
use std::path::Path;
use std::time::Duration;
use tenure_agents::{ARGUMENT_BYTES, Agent, AgentSession, BadTurn, Turn, TurnCommand, turn};
use tenure_core::limits::Activity;
use tenure_core::watchdog::Begins;

fn fresh(prompt: &str) -> Turn<'_> {
    Turn { prompt, resume: None, cwd: Path::new("/home/me/project"), model: None, timeout: None }
}

fn words(planned: &TurnCommand) -> Vec<&str> {
    planned.argv.words().iter().map(|word| std::str::from_utf8(word).unwrap()).collect()
}

#[track_caller]
fn both(name: &str, fresh_line: &str, resumed_line: &str) {
    let described = agent(name, &format!("[agents.{name}]\nextra = ['--more', 'a b']"));
    let planned = turn(&described, &Turn { model: Some("big"), ..fresh("Do.") }).unwrap();
    assert_eq!(words(&planned).join("|"), fresh_line);
    assert_eq!(planned.stdin.as_deref(), Some(&b"Do."[..]));
    assert_eq!((planned.begins, planned.scope), (Begins::Fresh, None));

    let session = AgentSession::new("S1").unwrap();
    let planned = turn(&agent(name, ""), &Turn { resume: Some(&session), ..fresh("Do.") }).unwrap();
    assert_eq!(words(&planned).join("|"), resumed_line);
    assert_eq!((planned.begins, planned.scope), (Begins::Resumed, Some(format!("cli:{name}:S1"))));
}

#[test]
fn the_built_in_agents_are_called_as_they_want_it() {
    let claude = "claude|-p|--output-format|stream-json|--verbose|--include-partial-messages";
    both("claude", &format!("{claude}|--model|big|--more|a b"), &format!("{claude}|--resume|S1"));
    let codex = "codex|exec|--json|--skip-git-repo-check";
    both("codex", &format!("{codex}|--model|big|--more|a b|-"), &format!("{codex}|resume|S1|-"));
    let gemini = "gemini|--output-format|stream-json";
    both("gemini", &format!("{gemini}|--model|big|--more|a b"), &format!("{gemini}|--resume|S1"));
    let opencode = "opencode|run|--format|json";
    both("opencode", &format!("{opencode}|--model|big|--more|a b"), &format!("{opencode}|--session|S1"));
}

fn by_argument(fresh: &str) -> Agent {
    agent("mine", &format!("[agents.mine]\ncommand = 'mine-agent'\nprompt = 'argument'\nfresh = {fresh}"))
}

#[test]
fn nothing_of_a_prompt_is_read_by_a_shell_or_filled_in_again() {
    let prompt = "$(rm -rf /) `x` \"q\" {session} {cwd}\nsecond line 'é'";
    let planned = turn(&by_argument("['--in', '{cwd}', '--prompt={prompt}']"), &fresh(prompt)).unwrap();
    assert_eq!(words(&planned), ["mine-agent", "--in", "/home/me/project", &format!("--prompt={prompt}")]);
    assert_eq!(planned.stdin, None);
}

#[test]
fn a_prompt_that_would_be_an_option_is_refused() {
    let bare = by_argument("['{prompt}']");
    assert!(turn(&bare, &fresh("do")).is_ok());
    let refused = turn(&bare, &fresh("--danger")).unwrap_err();
    assert!(matches!(refused, BadTurn::LikeAnOption { what: "prompt", .. }), "{refused}");
    for safe in ["['--', '{prompt}']", "['--prompt={prompt}']"] {
        assert!(turn(&by_argument(safe), &fresh("--danger")).is_ok(), "{safe}");
    }
    let refused = turn(&agent("claude", ""), &Turn { model: Some("--danger"), ..fresh("do") }).unwrap_err();
    assert!(matches!(refused, BadTurn::LikeAnOption { what: "model", .. }), "{refused}");
    assert!(turn(&agent("claude", ""), &fresh("--danger")).is_ok(), "on stdin it is none");
}

#[test]
fn a_prompt_that_the_system_would_not_take_is_refused() {
    let bare = by_argument("['{prompt}']");
    assert!(turn(&bare, &fresh(&"x".repeat(ARGUMENT_BYTES))).is_ok());
    let refused = turn(&bare, &fresh(&"x".repeat(ARGUMENT_BYTES + 1))).unwrap_err();
    assert!(refused.to_string().contains("agents.mine.prompt = \"stdin\""), "{refused}");
    assert!(matches!(turn(&bare, &fresh("a\0b")), Err(BadTurn::Spec(_))));
    assert!(
        turn(&agent("claude", ""), &fresh(&"x".repeat(1 << 20))).is_ok(),
        "on stdin there is no such limit"
    );
    for empty in ["", " \n"] {
        assert!(matches!(turn(&bare, &fresh(empty)), Err(BadTurn::Empty { .. })));
    }
}

#[test]
fn an_agent_without_resume_cannot_go_on() {
    let session = AgentSession::new("S1").unwrap();
    let resumed = Turn { resume: Some(&session), ..fresh("do") };
    let refused = turn(&by_argument("['{prompt}']"), &resumed).unwrap_err();
    assert!(refused.to_string().contains("agents.mine.resume"), "{refused}");
    let never = agent("claude", "[agents.claude]\nresume = 'never'");
    assert!(matches!(turn(&never, &resumed), Err(BadTurn::CannotResume { .. })));
}

#[test]
fn a_group_is_left_out_where_there_is_nothing_for_it() {
    let mine = by_argument("[['--model', '{model}', '--strict'], '{prompt}']");
    assert_eq!(words(&turn(&mine, &fresh("do")).unwrap()), ["mine-agent", "do"]);
    let planned = turn(&mine, &Turn { model: Some("m"), ..fresh("do") }).unwrap();
    assert_eq!(words(&planned), ["mine-agent", "--model", "m", "--strict", "do"]);
    let with_own = agent("codex", "[agents.codex]\nmodel = 'own'");
    assert!(words(&turn(&with_own, &fresh("do")).unwrap()).contains(&"own"));
    let planned = turn(&with_own, &Turn { model: Some("its"), ..fresh("do") }).unwrap();
    assert!(words(&planned).contains(&"its") && !words(&planned).contains(&"own"));
}

#[test]
fn the_limits_of_a_turn_are_the_descriptions_or_its_own() {
    let secs = |n| Some(Duration::from_secs(n));
    let limits = |text: &str, timeout: Option<Duration>| {
        let planned = turn(&agent("codex", text), &Turn { timeout, ..fresh("do") }).unwrap();
        (planned.timeout, planned.no_output, planned.activity)
    };
    assert_eq!(limits("", None), (secs(3600), secs(600), Activity::Cpu));
    assert_eq!(limits("", secs(300)), (secs(300), secs(240), Activity::Cpu));
    let own = "[agents.codex]\ntimeout = '10m'\nno-output-timeout = '20m'\nactivity = 'output'";
    assert_eq!(limits(own, None), (secs(600), secs(599), Activity::Output));
    let off = "[agents.codex]\ntimeout = 'off'\nno-output-timeout = '0'";
    assert_eq!(
        limits(off, None),
        (None, None, Activity::Output),
        "without a limit there is nothing to measure"
    );
    assert_eq!(limits("[agents.codex]\ntimeout = '0'", None).1, secs(600));
    let session = AgentSession::new("S1").unwrap();
    let planned = turn(&agent("codex", ""), &Turn { resume: Some(&session), ..fresh("do") }).unwrap();
    assert_eq!(planned.no_output, secs(180));
}

#[test]
fn the_environment_is_the_descriptions() {
    let mine = agent("claude", "[agents.claude]\nenv-remove = ['SECRET']\nenv = { A = '1', B = '' }");
    let planned = turn(&mine, &fresh("do")).unwrap();
    let set: Vec<_> = planned.env.set.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!((set, planned.env.remove), (vec![("A", "1"), ("B", "")], vec!["SECRET".to_owned()]));
}
