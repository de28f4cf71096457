//! The verdict on the process that a record names: one test per case.

use super::*;
use crate::identity::{Evidence, Identity, Place, Sighting, SignalProof};

const PID: i32 = 4711;
const START: u64 = 1_770_091_506_789;
const MINE: &str = "/state/mine";

fn held() -> SignalProof {
    let place = Place { machine_id: None, boot_id: "b".into(), pid_namespace: 1 };
    let identity = Identity { place: place.clone(), pid: PID, start_time: 7, pidfs_inode: None };
    let seen = Sighting::Found { start_time: 7, pidfs_inode: None };
    match crate::identity::judge(&identity, &place, &seen) {
        Evidence::Same(held) => held,
        other => panic!("{other:?}"),
    }
}

/// A process that has the pid, started at the recorded moment.
fn live(words: &[&str]) -> Live {
    let command = Ok(words.iter().map(ToString::to_string).collect());
    Live { held: held(), started_at_ms: START, exe: Some("/usr/bin/node".into()), command }
}

fn alive(words: &[&str]) -> ObservedRoot {
    ObservedRoot::Alive(live(words))
}

fn recorded(command: Option<&str>, started_at_ms: Option<u64>) -> LegacyRoot {
    let command = command.map(|line| LegacyCommand::Line(line.into()));
    LegacyRoot { pid: PID, started_at_ms, command, wrapper: false }
}

fn wrapped(command: Option<&str>, started_at_ms: Option<u64>) -> LegacyRoot {
    LegacyRoot { wrapper: true, ..recorded(command, started_at_ms) }
}

/// Checks the state, and that the sentence contains all of these parts.
#[track_caller]
fn check(
    root: &LegacyRoot,
    seen: &ObservedRoot,
    wrapper_root: Option<&str>,
    word: LegacyProcess,
    parts: &[&str],
) {
    let finding = judge(Some(root), seen, wrapper_root);
    assert_eq!(finding.process, word, "{}", finding.why);
    let about = format!("pid {PID}");
    for part in parts.iter().chain([&about.as_str()]) {
        assert!(finding.why.contains(part), "no {part:?} in {:?}", finding.why);
    }
}

const ADAPTER: &str = "node /opt/adapter.mjs --stdio";
const WORDS: [&str; 3] = ["node", "/opt/adapter.mjs", "--stdio"];

#[test]
fn a_pid_reused_by_an_unrelated_process_is_told_by_its_start_time() {
    let stranger = ObservedRoot::Alive(Live { started_at_ms: START + 3_600_000, ..live(&["sshd"]) });
    let root = recorded(Some(ADAPTER), Some(START));
    check(&root, &stranger, None, LegacyProcess::PidReused, &["another's now", "another time"]);
    check(&recorded(None, Some(START)), &stranger, None, LegacyProcess::PidReused, &[]);
}

#[test]
fn a_pid_reused_by_an_unrelated_process_is_left_alone_when_only_the_command_differs() {
    let root = recorded(Some(ADAPTER), None);
    check(&root, &alive(&["sshd"]), None, LegacyProcess::Unverified, &["not the recorded one"]);
}

#[test]
fn a_pid_reused_by_another_gateways_wrapper_root_is_never_verified() {
    let theirs = alive(&["node", "/state/theirs/codex-acp-wrapper.mjs"]);
    let line = "node /state/theirs/codex-acp-wrapper.mjs";
    for root in [wrapped(Some(line), None), wrapped(Some(line), Some(START)), wrapped(None, Some(START))] {
        check(&root, &theirs, Some(MINE), LegacyProcess::Unverified, &["not below the wrapper root"]);
    }
    let later =
        Live { started_at_ms: START + 60_000, ..live(&["node", "/state/theirs/codex-acp-wrapper.mjs"]) };
    let mine = wrapped(Some("node /state/mine/codex-acp-wrapper.mjs"), Some(START));
    check(&mine, &ObservedRoot::Alive(later), Some(MINE), LegacyProcess::PidReused, &[]);
}

#[test]
fn a_stored_command_that_is_shell_quoted_agrees_with_the_live_one_that_is_not() {
    let words = ["node", "/opt/my adapter/run.mjs", "it's"];
    let quoted = r#"node "/opt/my adapter/run.mjs" 'it'\''s'"#;
    check(&recorded(Some(quoted), None), &alive(&words), None, LegacyProcess::Verified, &["left running"]);
    let unquoted = "node /opt/my adapter/run.mjs it's";
    check(&recorded(Some(unquoted), None), &alive(&words), None, LegacyProcess::Unverified, &[]);
}

#[test]
fn a_stored_wrapper_command_that_is_shell_quoted_agrees_below_the_wrapper_root() {
    let words = ["node", "/state/mine/a b/codex-acp-wrapper.mjs"];
    let quoted = r#"node "/state/mine/a b/codex-acp-wrapper.mjs""#;
    check(&wrapped(Some(quoted), None), &alive(&words), Some(MINE), LegacyProcess::Verified, &["pid"]);
}

#[test]
fn a_wrapper_that_is_expected_while_the_live_root_is_elsewhere_is_left_alone() {
    let root = wrapped(Some(ADAPTER), Some(START));
    check(&root, &alive(&WORDS), Some(MINE), LegacyProcess::Unverified, &["not below the wrapper root"]);
}

#[test]
fn a_wrapper_that_is_expected_without_a_wrapper_root_is_left_alone() {
    let root = wrapped(Some("node /state/mine/w.mjs"), Some(START));
    let seen = alive(&["node", "/state/mine/w.mjs"]);
    check(&root, &seen, None, LegacyProcess::Unverified, &["--wrapper-root"]);
}

#[test]
fn a_wrapper_is_what_is_executed_and_not_what_is_only_named() {
    let line = "node /state/mine/w.mjs";
    for words in
        [&["node", "--no-warnings", "/state/mine/w.mjs"][..], &["node", "/state/mine/w.mjs", "--lease", "x"]]
    {
        check(&wrapped(None, Some(START)), &alive(words), Some(MINE), LegacyProcess::Verified, &[]);
    }
    let native = Live { exe: Some("/state/mine/wrapper".into()), ..live(&["wrapper"]) };
    check(
        &wrapped(None, Some(START)),
        &ObservedRoot::Alive(native),
        Some(MINE),
        LegacyProcess::Verified,
        &[],
    );
    // An editor that has the wrapper's file open has its path, but neither its command nor its start time.
    check(
        &wrapped(Some(line), None),
        &alive(&["vi", "/state/mine/w.mjs"]),
        Some(MINE),
        LegacyProcess::Unverified,
        &[],
    );
    let named = alive(&["node", "/opt/x.mjs", "/state/mine/w.mjs"]);
    check(&wrapped(None, Some(START)), &named, Some(MINE), LegacyProcess::Unverified, &[]);
}

#[test]
fn a_wrapper_root_alone_does_not_tell_two_sessions_of_one_gateway_apart() {
    let other = alive(&["node", "/state/mine/claude-agent-acp-wrapper.mjs"]);
    let root = wrapped(Some("node /state/mine/codex-acp-wrapper.mjs"), None);
    check(&root, &other, Some(MINE), LegacyProcess::Unverified, &["not the recorded one"]);
    check(&wrapped(None, None), &other, Some(MINE), LegacyProcess::Unverified, &["neither"]);
}

#[test]
fn a_record_without_a_pid_names_no_process() {
    let finding = judge(None, &ObservedRoot::Gone, None);
    assert_eq!((finding.process, finding.why.as_str()), (LegacyProcess::None, "no process is recorded"));
}

#[test]
fn a_record_without_a_command_and_a_start_is_only_a_pid_and_proves_nothing() {
    check(&recorded(None, None), &alive(&WORDS), None, LegacyProcess::Unverified, &["neither"]);
}

#[test]
fn a_record_without_a_command_has_nothing_that_could_agree() {
    check(&recorded(None, Some(START)), &alive(&WORDS), None, LegacyProcess::Unverified, &["no command"]);
}

#[test]
fn a_process_list_that_is_unreadable_settles_nothing() {
    for root in [recorded(Some(ADAPTER), Some(START)), recorded(None, None), wrapped(None, None)] {
        let seen = ObservedRoot::Unreadable("permission denied".into());
        check(&root, &seen, Some(MINE), LegacyProcess::Unverified, &["permission denied"]);
    }
}

#[test]
fn a_live_command_that_is_unreadable_is_no_agreement() {
    let hidden = ObservedRoot::Alive(Live { command: Err("it is hidden".into()), ..live(&[]) });
    check(&recorded(Some(ADAPTER), None), &hidden, None, LegacyProcess::Unverified, &["it is hidden"]);
    check(&wrapped(None, Some(START)), &hidden, Some(MINE), LegacyProcess::Unverified, &["it is hidden"]);
}

#[test]
fn a_stale_record_whose_process_is_missing_is_told_as_gone() {
    for root in [recorded(Some(ADAPTER), Some(START)), recorded(None, None), wrapped(None, None)] {
        check(&root, &ObservedRoot::Gone, Some(MINE), LegacyProcess::Gone, &["gone"]);
    }
}

#[test]
fn a_start_time_agrees_within_the_clocks_granularity_and_not_beyond() {
    for (apart, word, without_command) in [
        (0, LegacyProcess::Verified, LegacyProcess::Unverified),
        (START_SLACK_MS, LegacyProcess::Verified, LegacyProcess::Unverified),
        (START_SLACK_MS + 1, LegacyProcess::Unverified, LegacyProcess::PidReused),
    ] {
        for started_at_ms in [START - apart, START + apart] {
            let seen = ObservedRoot::Alive(Live { started_at_ms, ..live(&WORDS) });
            check(&recorded(Some(ADAPTER), Some(START)), &seen, None, word, &[]);
            check(&recorded(None, Some(START)), &seen, None, without_command, &[]);
        }
    }
}

#[test]
fn the_same_command_at_another_time_is_neither_verified_nor_told_to_be_gone() {
    let later = ObservedRoot::Alive(Live { started_at_ms: START + 60_000, ..live(&WORDS) });
    let root = recorded(Some(ADAPTER), Some(START));
    check(&root, &later, None, LegacyProcess::Unverified, &["another time"]);
}

#[test]
fn recorded_words_are_compared_as_they_are() {
    let words = |words: &[&str]| LegacyRoot {
        command: Some(LegacyCommand::Words(words.iter().map(ToString::to_string).collect())),
        ..recorded(None, None)
    };
    check(&words(&WORDS), &alive(&WORDS), None, LegacyProcess::Verified, &[]);
    check(
        &words(&["node", "'/opt/adapter.mjs'", "--stdio"]),
        &alive(&WORDS),
        None,
        LegacyProcess::Unverified,
        &[],
    );
}

#[test]
fn an_agent_that_renamed_itself_is_left_alone_though_it_started_when_the_record_says() {
    let seen = alive(&["npm exec @agentclientprotocol/codex-acp"]);
    let root = recorded(Some("npx @agentclientprotocol/codex-acp"), Some(START));
    check(&root, &seen, None, LegacyProcess::Unverified, &["not the recorded one"]);
}
