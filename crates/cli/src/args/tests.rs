//! What the README and `--help` say is what the program does.

use super::definition;
use tenure_core::ending::{Exit, Reason, SpawnError, Termination};

const README: &str = include_str!("../../../../README.md");

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

/// The same from the README's table.
fn told() -> Vec<(String, String)> {
    let section = README.split("## Exit codes").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    rows.map(|(code, text)| (code.to_owned(), text.trim_end_matches([' ', '|']).to_owned())).collect()
}

#[test]
fn the_readme_and_the_help_list_the_same_exit_codes() {
    assert_eq!(told(), helped());
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
    for verb in definition().get_subcommands().filter(|verb| !verb.is_hide_set()) {
        let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert!(help.contains("Example"), "{}", verb.get_name());
    }
}

#[test]
fn the_command_line_is_well_formed() {
    definition().debug_assert();
}
