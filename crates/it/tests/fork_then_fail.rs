//! A root that was forked but may not execute, because something that a run needs cannot be had: the command never
//! runs, and nothing of it is left.

use tenure_it::install::Install;
use tenure_it::pauses::Paused;
use tenure_it::{PATIENCE, remains};
use tenure_keeper::rundir::RunDir;

#[test]
fn a_run_whose_output_cannot_be_kept_is_refused_and_leaves_nothing() {
    for install in [Install::new(), Install::new().without_cgroup()] {
        let actor = install.actor();
        let args = ["run", "--quiet", "--", &actor, "--pids", "pids", "exit", "0"];
        let mut paused = Paused::start(&install, "keeper-locked", &args, &[]);
        let dir = RunDir::open(&install.state().join("runs").join(install.only_run())).unwrap();
        std::fs::write(dir.output(), b"in the way").unwrap();
        paused.go_on();
        assert_eq!(paused.cli.code(), 125);
        paused.everybody().iter().for_each(|process| process.wait_dead(PATIENCE));
        assert!(!install.dir().join("pids").exists(), "the command was executed");
        assert_eq!(install.show(dir.id().as_str())["termination"]["reason"], "spawn-error");
        assert_eq!(remains::processes(&install), Vec::<i32>::new());
        assert_eq!(remains::groups(&install), Vec::<std::path::PathBuf>::new());
        remains::forget(&install);
    }
}
