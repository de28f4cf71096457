//! The help is true and complete, and command lines are parsed as it says.

use super::help::GROUPS;
use super::{AcpVerb, AllowlistVerb, ApprovalsVerb, Command, HelpSections, ProcessAction, definition, words};
use tenure_core::ending::{Exit, Reason, SpawnError, Termination};

/// Returns the exit codes with their meanings, from the help of `run`.
fn listed_exit_codes() -> Vec<(String, String)> {
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
fn listed_exit_codes_are_those_of_endings() {
    let spawn_error = |not_found| {
        Termination::not_started(&SpawnError { detail: String::new(), not_found }).code().to_string()
    };
    let code = |reason, exit| Termination::new(reason, exit, None).code().to_string();
    let ours = crate::failure::Failure::tenure_failed("").code().to_string();
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
    let listed = listed_exit_codes();
    for (code, meaning) in real {
        assert!(listed.iter().any(|(c, text)| *c == code && text.contains(meaning)), "{code} {meaning}");
    }
    assert_eq!(code(Reason::Signal, Some(Exit::Signal(9))), (128 + 9).to_string());
}

/// Returns the visible verbs, with those below them.
fn verbs(above: &clap::Command) -> Vec<&clap::Command> {
    let visible = above.get_subcommands().filter(|verb| !verb.is_hide_set());
    visible.flat_map(|verb| [vec![verb], verbs(verb)].concat()).collect()
}

#[test]
fn every_verb_has_exit_codes_and_examples() {
    for verb in verbs(&definition()) {
        let sections = HelpSections::of(verb);
        let headings: Vec<_> = sections.headed.iter().map(|(heading, _)| heading.as_str()).collect();
        assert!(headings.ends_with(&["Exit codes", "Examples"]), "{}: {headings:?}", verb.get_name());
        assert!(sections.headed.iter().all(|(_, lines)| !lines.is_empty()), "{}", verb.get_name());
    }
}

#[test]
fn every_verb_is_in_one_group() {
    let mut grouped: Vec<_> = GROUPS.iter().flat_map(|(_, verbs)| *verbs).copied().collect();
    let definition = definition();
    let visible = definition.get_subcommands().filter(|verb| !verb.is_hide_set());
    let mut visible: Vec<_> = visible.map(clap::Command::get_name).collect();
    assert_eq!(visible, grouped, "the verbs are defined in the order of their groups");
    grouped.sort_unstable();
    visible.sort_unstable();
    visible.dedup();
    assert_eq!(visible, grouped);
}

/// The longest line of a verb or a flag.
const LONGEST_LINE: usize = 70;

/// First words that make a line a puzzle instead of an imperative or a noun.
const NO_FIRST_WORDS: [&str; 14] =
    ["Be", "How", "In", "It", "One", "Only", "Say", "The", "To", "What", "Where", "Whether", "Which", "Who"];

/// Asserts that a line of help is short and begins with an imperative or a noun.
fn assert_plain(owner: &str, line: Option<&clap::builder::StyledStr>) {
    let line = line.unwrap_or_else(|| panic!("{owner} has no help")).to_string();
    assert!(line.chars().count() <= LONGEST_LINE, "{owner}: {} characters: {line}", line.chars().count());
    assert!(!line.contains('\n') && !line.ends_with('.'), "{owner}: {line}");
    let first = line.split_whitespace().next().unwrap_or_default();
    assert!(first.starts_with(|c: char| c.is_ascii_uppercase()), "{owner}: {line}");
    assert!(!NO_FIRST_WORDS.contains(&first), "{owner}: {line}");
}

#[test]
fn help_lines_are_short_and_plain() {
    let root = definition();
    for verb in [vec![&root], verbs(&root)].concat() {
        let name = verb.get_name();
        assert_plain(name, verb.get_about());
        for flag in verb.get_arguments().filter(|flag| !flag.is_hide_set()) {
            assert_plain(&format!("{name} {}", flag.get_id()), flag.get_help());
            let values = flag.get_possible_values();
            for value in values.iter().filter(|value| value.get_help().is_some()) {
                let owner = format!("{name} {} {}", flag.get_id(), value.get_name());
                assert_plain(&owner, value.get_help());
            }
        }
    }
}

/// Returns the error for a command line.
fn error(line: &[&str]) -> String {
    words(&[&["tenure"], line].concat()).expect_err("an error").to_string()
}

#[test]
fn errors_of_values_say_what_to_write() {
    for (line, advice) in [
        (&["ps", "--limit", "few"][..], "'few' for '--limit <N>': write a whole number, as in 20"),
        (&["ps", "--limit", "99999999999999999999"], "the number is too large"),
        (
            &["resize", "3f2a", "wide"],
            "'wide' for '<COLSxROWS>': write columns and rows from 1 to 65535, as in 120x30",
        ),
        (&["resize", "3f2a", "0x30"], "write columns and rows from 1 to 65535, as in 120x30"),
        (&["run", "--cpus", "x", "true"], "write a number of CPUs, as in 2 or 0.5"),
        (&["run", "--rlimit", "x=1", "true"], "unknown limit \"x\": use as, cpu, nproc"),
        (&["send-keys", "3f2a"], "no keys to send: name at least one"),
    ] {
        let error = error(line);
        assert!(error.contains(advice), "{line:?}: {error}");
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
        panic!("not parsed")
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
fn common_flags_of_process_may_stand_anywhere() {
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
fn approvals_and_allowlist_list_by_default() {
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
        panic!("not parsed")
    };
    assert!(matches!(args.verb, Some(AllowlistVerb::Add(what)) if what.args.as_deref() == Some("-v")));
    assert!(words(&["tenure", "allowlist", "remove"]).is_err());
}

#[test]
fn acp_lists_sessions_by_default() {
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
