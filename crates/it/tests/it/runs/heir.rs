//! Declared daemons: with `--on-escape allow` an escapee becomes a run of its own, leased and listed.

use rustix::process::Signal;
use tenure_it::held_process::HeldProcess;
use tenure_it::install::Install;
use tenure_it::witness::Witness;
use tenure_it::{eventually, proc};
use tenure_keeper::rundir::RunDir;

/// Runs a command that leaves a daemonised process; returns the run that took it over.
#[track_caller]
fn daemonised(install: &Install, witness: &Witness, code: &str, daemon: &[&str]) -> String {
    let actor = install.actor();
    let fifo = witness.path().to_str().expect("UTF-8");
    let mut args = vec!["run", "--on-escape", "allow", "--grace", "300ms", "--", &actor, "--witness", fifo];
    args.extend(["daemon", "--exit", code]);
    args.extend(daemon);
    let mut run = install.start(&args);
    assert_eq!(run.code().to_string(), code, "{}", run.err());
    let heirs: Vec<String> = install.runs().into_iter().filter(|id| !run.err().contains(&id[..12])).collect();
    let heir = install.runs().into_iter().find(|id| run.err().contains(&format!("handed over to run {id}")));
    heir.unwrap_or_else(|| panic!("{heirs:?}: {}", run.err()))
}

#[test]
fn an_allowed_escape_is_handed_over_to_a_run_of_its_own() {
    let install = Install::new();
    let witness = Witness::new(install.dir());
    let heir = daemonised(&install, &witness, "3", &["sleep"]);
    let view = install.show(&heir);
    assert_eq!(view["state"], "running");
    assert!(proc::runs(i32::try_from(view["pid"].as_i64().expect("a pid")).expect("a pid")));
    assert!(!witness.all_dead());
    let pid = i32::try_from(view["pid"].as_i64().expect("a pid")).expect("a pid");
    let (_, _, group, ..) = proc::stat(pid).expect("it lives");
    assert_eq!(view["processGroupId"], group);
    assert_eq!(view["exe"], install.actor());
    install.cancel(&heir);
    witness.wait_all_dead();
    assert_eq!(install.show(&heir)["termination"]["reason"], "manual-cancel");
}

#[test]
fn the_old_run_keeps_its_own_ending_and_names_the_escapee() {
    let install = Install::new();
    let witness = Witness::new(install.dir());
    let heir = daemonised(&install, &witness, "0", &["sleep"]);
    let old = install.runs().into_iter().find(|id| *id != heir).expect("two runs");
    let termination = install.show(&old)["termination"].clone();
    assert_eq!((&termination["reason"], &termination["exitCode"]), (&"exit".into(), &0.into()));
    assert_eq!(termination["escapees"].as_array().map(Vec::len), Some(1), "{termination}");
    install.cancel(&heir);
}

#[test]
fn a_daemonised_process_that_exits_ends_its_run_with_its_own_code() {
    let install = Install::new();
    let witness = Witness::new(install.dir());
    let heir = daemonised(&install, &witness, "0", &["sleep", "3"]);
    assert_eq!(install.tenure(&["wait", &heir]).status.code(), Some(0));
    assert!(witness.all_dead());
}

#[test]
fn a_named_heir_has_a_control_socket() {
    let install = Install::new().with_env("TENURE_PAUSE", "keeper-after-ending");
    let words = [&install.actor(), "daemon", "--exit", "0", "sleep"];
    let old = install.start_in_background(&["--on-escape", "allow"], &words);
    let run = |id: &str| RunDir::open(&install.state().join("runs").join(id)).expect("a run");
    let ending = eventually("the ending", || run(&old).ending().expect("a record"));
    let keeper =
        HeldProcess::hold(run(&old).note().expect("a record").expect("a note").keeper.pid).expect("it lives");
    eventually("a stopped keeper", || proc::is_stopped(keeper.pid).then_some(()));
    let [heir] = &ending.handed_over_to[..] else { panic!("{ending:?}") };
    assert!(run(heir.as_str()).connect().is_ok(), "it accepts connections, and answers later");
    let mut asked = install.start(&["cancel", heir.as_str()]);
    eventually("the end of all processes", || {
        keeper.send(Signal::CONT);
        keeper.is_dead().then_some(())
    });
    assert_eq!(asked.code(), 0, "{}", asked.err());
    assert_eq!(install.wait(heir.as_str()), 123);
}

#[test]
fn a_killed_keeper_ends_the_daemonised_process_and_its_run_gets_an_ending() {
    let install = Install::new();
    let witness = Witness::new(install.dir());
    let heir = daemonised(&install, &witness, "0", &["ignore-all", "sleep"]);
    let keeper = install.show(&heir)["keeperPid"].as_i64().expect("a keeper");
    proc::kill(i32::try_from(keeper).expect("a pid"));
    witness.wait_all_dead();
    let reason = eventually("the ending", || {
        let view = install.show(&heir);
        view["termination"]["reason"].as_str().map(str::to_owned)
    });
    assert_eq!(reason, "owner-lost");
}
