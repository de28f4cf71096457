//! Freezing a forking tree faster than it forks.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;
use tenure_core::signal::Signal;
use tenure_it::install::Install;
use tenure_it::{eventually, proc};
use tenure_os::tree::{self, Member};
use tenure_os::{clock, reaper};

#[expect(clippy::disallowed_methods, reason = "a laboratory starts its own experiment")]
fn actor(words: &[&str]) -> (Child, BufReader<ChildStdout>) {
    let mut command = Command::new(Install::new().actor());
    let mut child =
        command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("actor starts");
    let mut out = BufReader::new(child.stdout.take().expect("piped"));
    let ready = format!("ready {}", words[0]);
    assert!(out.by_ref().lines().map_while(Result::ok).any(|line| line == ready), "{words:?}");
    // The child ends with the other end of its output.
    (child, out)
}

fn living(spared: i32) -> Vec<i32> {
    let own = std::process::id().cast_signed();
    let mut pids = proc::descendants(own);
    pids.retain(|&pid| pid != spared && proc::runs(pid));
    pids.sort_unstable();
    pids
}

/// A superuser's keeper has a higher priority than its targets; without that, the freeze must outrun them as
/// an equal.
pub(crate) fn stops_everything_and_outruns_forks(hurried: bool) {
    reaper::become_subreaper().expect("a subreaper");
    let (idler, _out) = actor(&["sleep"]);
    let spared = idler.id().cast_signed();
    let forkers: [&[&str]; 4] = [
        &["setsid", "ignore-all", "sleep"],
        &["hop", "--seconds", "90", "--births", "1000000"],
        &["hop", "--setsid", "--seconds", "90", "--births", "1000000", "--root-exits"],
        &["bomb", "--limit", "60", "--micros", "2000", "--seconds", "90", "--births", "1000000"],
    ];
    let _forkers = forkers.map(actor);
    let spared_set = HashSet::from([spared]);
    if hurried {
        tree::hurry();
    }
    // Far less than the lifetime of the forkers.
    let patience = Duration::from_secs(20);
    let begun = clock::awake();
    let frozen = tree::freeze(&spared_set, &[], begun + patience, &mut |_, _| {});
    if clock::awake() >= begun + patience {
        // On a busy machine an equal may lose the race, but it must not claim success.
        assert!(!hurried, "it gave up");
        return println!("given up after {patience:?}");
    }
    eventually("every process is stopped", || living(spared).into_iter().all(proc::is_stopped).then_some(()));
    let mut pids: Vec<i32> = frozen.iter().map(Member::pid).filter(|&pid| proc::runs(pid)).collect();
    pids.sort_unstable();
    assert_eq!(living(spared), pids, "every live process was listed");
    assert!(!proc::is_stopped(spared) && proc::runs(spared));
    for member in &frozen {
        member.signal(Signal::KILL);
    }
    eventually("only the spared process", || {
        reaper::reap_now();
        (tree::own_children() == [spared]).then_some(())
    });
    proc::kill(spared);
}
