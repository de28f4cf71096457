//! The command line: what `--help` says is what the program does.

use super::{AcpVerb, AllowlistVerb, ApprovalsVerb, Command, ProcessAction, definition, words};
use tenure_core::ending::{Exit, Reason, SpawnError, Termination};

/// Code and meaning, line by line, as `tenure run --help` prints them.
fn helped() -> Vec<(String, String)> {
    let help = definition().find_subcommand("run").and_then(|run| run.get_after_help()).unwrap().to_string();
    let list = help.split("Exit codes:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap();
    // The first line is about the command's own code.
    let lines = list.lines().skip(1).map(str::trim);
    lines
        .map(|line| line.split_once(' ').unwrap())
        .map(|(code, text)| (code.into(), text.trim().into()))
        .collect()
}

#[test]
fn the_listed_exit_codes_are_those_that_endings_have() {
    let spawn_error = |not_found| {
        Termination::not_started(&SpawnError { detail: String::new(), not_found }).code().to_string()
    };
    let code = |reason, exit| Termination::new(reason, exit, None).code().to_string();
    let ours = crate::failure::Failure::ours("").code().to_string();
    let real = [
        (code(Reason::ReconciledStale, None), "unknown"),
        (code(Reason::OwnershipEscape, None), "left the run's session"),
        (code(Reason::ManualCancel, None), "cancelled"),
        (code(Reason::OwnerLost, None), "owner was lost"),
        (code(Reason::OverallTimeout, None), "time limit"),
        (code(Reason::NoOutputTimeout, None), "time limit"),
        (ours, "Tenure itself failed"),
        (spawn_error(false), "could not be started"),
        (spawn_error(true), "not found"),
    ];
    let listed = helped();
    for (code, meaning) in real {
        assert!(listed.iter().any(|(c, text)| *c == code && text.contains(meaning)), "{code} {meaning}");
    }
    assert_eq!(code(Reason::Signal, Some(Exit::Signal(9))), (128 + 9).to_string());
}

#[test]
fn every_verb_that_is_shown_has_an_example() {
    let whole = definition();
    let shown = || whole.get_subcommands().filter(|verb| !verb.is_hide_set());
    let tools = shown().filter(|verb| {
        ["process", "approvals", "allowlist", "sessions", "acp", "tasks", "agents"].contains(&verb.get_name())
    });
    for verb in shown().chain(tools.flat_map(clap::Command::get_subcommands)) {
        let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert!(help.contains("Example"), "{}", verb.get_name());
    }
}

#[test]
fn the_command_line_is_well_formed() {
    definition().debug_assert();
}

#[test]
fn exec_takes_a_command_or_a_request_in_json() {
    let read = |line: &[&str]| words(&[&["tenure", "exec"], line].concat());
    let Ok(Command::Exec(args)) =
        read(&["--yield", "1m", "--env", "A=b=c", "--ask", "on-miss", "--", "ls", "-l"])
    else {
        panic!("it is not understood")
    };
    assert_eq!(args.command, ["ls", "-l"]);
    assert_eq!(args.env, [("A".to_owned(), "b=c".to_owned())]);
    assert!(matches!(read(&["--json-in", "-", "--json"]), Ok(Command::Exec(_))));
    for line in [
        &[][..],
        &["--json-in", "-", "--", "ls"],
        &["--json-in", "-", "--pty"],
        &["--replace", "--", "ls"],
        &["--env", "A", "--", "ls"],
        &["--yield", "soon", "--", "ls"],
        &["--notify", "perhaps", "--", "ls"],
    ] {
        assert!(read(line).is_err(), "{line:?}");
    }
}

#[test]
fn what_is_common_to_all_actions_stands_anywhere() {
    for line in [
        &["process", "--session", "s", "--json", "kill", "3f2"][..],
        &["process", "kill", "3f2", "--json", "--session", "s"],
        &["process", "kill", "--session", "s", "3f2", "--json"],
    ] {
        let Ok(Command::Process(args)) = words(&[&["tenure"], line].concat()) else { panic!("{line:?}") };
        assert!(matches!(args.action, Some(ProcessAction::Kill(run)) if run.id == "3f2"), "{line:?}");
        assert!(args.json && args.session.as_deref() == Some("s"), "{line:?}");
    }
}

#[test]
fn approvals_and_the_allowlist_are_listed_unless_told_otherwise() {
    let approvals = |line: &[&str]| match words(&[&["tenure", "approvals"], line].concat()) {
        Ok(Command::Approvals(args)) => Some(args),
        _ => None,
    };
    assert!(approvals(&["--json"]).is_some_and(|args| args.verb.is_none() && args.json));
    let all = approvals(&["list", "--all"]).and_then(|args| args.verb);
    assert!(matches!(all, Some(ApprovalsVerb::List(list)) if list.all));
    let two = approvals(&["deny", "a", "b", "--json"]).and_then(|args| args.verb);
    assert!(matches!(two, Some(ApprovalsVerb::Deny(which)) if which.ids == ["a", "b"]));
    assert!(approvals(&["allow-once"]).is_none());
    let Ok(Command::Allowlist(args)) = words(&["tenure", "allowlist", "add", "git", "--args", "-v"]) else {
        panic!("it is not understood")
    };
    assert!(matches!(args.verb, Some(AllowlistVerb::Add(what)) if what.args.as_deref() == Some("-v")));
    assert!(words(&["tenure", "allowlist", "remove"]).is_err());
}

#[test]
fn acp_lists_its_sessions_unless_told_otherwise() {
    let acp = |line: &[&str]| match words(&[&["tenure", "acp"], line].concat()) {
        Ok(Command::Acp(args)) => Some(args),
        _ => None,
    };
    assert!(acp(&["--json"]).is_some_and(|args| args.verb.is_none() && args.json));
    let prompt = acp(&["prompt", "claude", "-", "--permissions", "ask", "--timeout", "5m", "--json"]);
    let Some(AcpVerb::Prompt(prompt)) = prompt.and_then(|args| args.verb) else { panic!("no prompt") };
    assert_eq!((prompt.agent.as_str(), prompt.text.as_str()), ("claude", "-"));
    assert!(prompt.permissions.is_some() && prompt.timeout.is_some() && !prompt.no_wait);
    for line in [
        &["attach"][..],
        &["status", "k"],
        &["cancel"],
        &["close", "k", "--discard"],
        &["set-mode", "k", "m"],
    ] {
        assert!(acp(line).is_some_and(|args| args.verb.is_some()), "{line:?}");
    }
    for line in [
        &["prompt", "claude"][..],
        &["prompt", "claude", "x", "--new", "--oneshot"],
        &["prompt", "claude", "x", "--session", "k", "--new"],
        &["prompt", "claude", "x", "--permissions", "all"],
        &["set-mode", "k"],
        &["set-option", "k", "o"],
    ] {
        assert!(acp(line).is_none(), "{line:?}");
    }
}
