//! A run whose output cannot be stored at all: the command is unharmed, the foreground caller gets every byte, and the
//! ending names the loss.

use tenure_it::install::Install;
use tenure_it::paused_run::PausedRun;
use tenure_keeper::rundir::RunDir;

#[test]
fn a_run_whose_output_cannot_be_kept_goes_on_and_says_what_was_lost() {
    let install = Install::new();
    let args = ["run", "--quiet", "--", "sh", "-c", "echo out; echo err >&2; exit 3"];
    let mut paused = PausedRun::start(&install, "keeper-locked", &args, &[]);
    let dir = RunDir::open(&install.state().join("runs").join(install.only_run())).unwrap();
    std::fs::write(dir.output(), b"in the way").unwrap();
    paused.resume();
    assert_eq!(paused.cli.code(), 3);
    assert_eq!((paused.cli.out(), paused.cli.err()), ("out\n".to_owned(), "err\n".to_owned()));
    let output = &install.show(dir.id().as_str())["output"];
    assert_eq!((&output["bytes"], &output["droppedBytes"]), (&8.into(), &8.into()));
}
