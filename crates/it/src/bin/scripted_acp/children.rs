//! Leftover processes of an agent's tools.

use std::process::{Command, Stdio};
use tenure_it::eventually;
use tenure_it::install::actor;

/// File with the pid of each of them.
const PIDS: &str = "children";

/// Starts a child, `HOW VERB…` of the actor, and waits until it is ready. One with a cleaned environment
/// holds the witness as well.
pub(crate) fn start(rest: &str) {
    let (how, verbs) = rest.split_once(' ').unwrap_or((rest, "sleep"));
    let witness =
        std::env::var("ACTOR_WITNESS").map(|fifo| format!("--witness '{fifo}'")).unwrap_or_default();
    let pids = std::env::current_dir().expect("a directory").join(PIDS);
    let line = format!("'{}' {witness} --pids '{}' --quiet {verbs}", actor().display(), pids.display());
    let line = match how {
        "plain" => format!("{line} &"),
        "nohup" => format!("nohup {line} &"),
        "setsid" => format!("setsid -f {line}"),
        "bare" => format!("env -i setsid -f {line}"),
        _ => panic!("unknown way to start a child: {how}"),
    };
    let before = noted();
    let mut shell = Command::new("sh");
    shell.args(["-c", &line]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = shell.status().expect("a shell");
    assert!(status.success(), "{line}: {status}");
    let wanted = before + verbs.split(' ').count();
    eventually("a child", || (noted() >= wanted).then_some(()));
}

fn noted() -> usize {
    std::fs::read_to_string(PIDS).unwrap_or_default().lines().count()
}
