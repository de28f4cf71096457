//! `tenure acp` at a terminal: questions, Ctrl-C, and a daemon that dies meanwhile.

use tenure_it::acp_fixture::AcpFixture;
use tenure_it::terminal::Terminal;

const OPTIONS: &str = "yes:allow_once|no:reject_once";

fn person(acp: &AcpFixture, args: &[&str]) -> Terminal {
    let mut command = acp.command(&[&["acp"], args].concat());
    command.env("TERM", "xterm").env("TENURE_COLOR", "never");
    Terminal::start(command, 100, 30)
}

#[test]
fn questions_are_asked_on_the_callers_terminal() {
    let acp = AcpFixture::new(&[]);
    let words = format!(
        "!tool-diff one a.txt old new\n!ask edit mend|{OPTIONS}\n!ask edit wreck|{OPTIONS}\n!say done"
    );
    let words = format!("!tool one edit Mends\n{words}");
    let mut person = person(&acp, &["prompt", "helper", &words, "--permissions", "ask"]);
    person.wait_for("permission requested: mend");
    person.wait_for("1. To yes");
    person.wait_for("1 to 2: ");
    person.keys("perhaps\n");
    person.wait_for("1 to 2: ");
    person.keys("y\n");
    person.wait_for("To yes (allow once):");
    person.wait_for("permission requested: wreck");
    person.wait_for("1 to 2: ");
    person.keys("2\n");
    person.wait_for("To no (reject once):");
    person.wait_for("done");
    assert_eq!(person.code(), 0, "{}", person.screen());
    let outcome = |name: &str| acp.answers(name)[0]["result"]["outcome"]["optionId"].clone();
    assert_eq!((outcome("mend"), outcome("wreck")), ("yes".into(), "no".into()));
    assert!(acp.questions().is_empty());
    acp.finish();
}

#[test]
fn the_first_ctrl_c_cancels_a_prompt_and_detaches_a_watcher() {
    let acp = AcpFixture::new(&[]);
    let mut first = person(&acp, &["prompt", "helper", "!say working hard \n!hang"]);
    first.wait_for("working hard");
    let mut second = person(&acp, &["attach", "helper"]);
    second.wait_for("> !say working hard");
    second.wait_for("working hard");
    second.keys("\x03");
    second.wait_for("the turn goes on");
    assert_eq!(second.code(), 0, "{}", second.screen());
    first.keys("\x03");
    first.wait_for("being cancelled");
    assert_eq!(first.code(), 123, "{}", first.screen());
    let mut third = person(&acp, &["prompt", "helper", "!say and on"]);
    third.wait_for("and on");
    assert_eq!(third.code(), 0, "{}", third.screen());
    acp.finish();
}

#[test]
fn a_watcher_does_not_notice_a_daemon_crash() {
    let acp = AcpFixture::new(&[]);
    let mut person = person(
        &acp,
        &["prompt", "helper", "!say morning \n!await first\n!say midday \n!await second\n!say evening"],
    );
    person.wait_for("morning");
    acp.kill();
    acp.release("first");
    acp.start_daemon();
    person.wait_for("midday");
    acp.kill();
    acp.start_daemon();
    acp.release("second");
    person.wait_for("evening");
    assert_eq!(person.code(), 0, "{}", person.screen());
    let screen = person.screen();
    let times = |word: &str| screen.matches(word).count();
    assert_eq!((times("morning"), times("midday"), times("evening")), (1, 1, 1), "{screen}");
    acp.finish();
}
