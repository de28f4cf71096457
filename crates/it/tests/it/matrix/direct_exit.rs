//! OS matrix, direct-exit: a command that ends by itself. Its record is closed once, and names the exit.

use serde_json::Value;
use tenure_it::TRANSPORTS;
use tenure_it::matrix::install::{MatrixInstall, player};

#[test]
fn a_command_that_exits_is_recorded_with_its_code_and_its_run_is_closed() {
    let fixture = MatrixInstall::new();
    for flags in TRANSPORTS {
        for code in [0, 7, 255] {
            let run = fixture.play(flags, &["exit", &code.to_string()]);
            assert_eq!(fixture.wait(&run), Some(code), "{flags:?}");
            let record = fixture.show(&run);
            let ending = &record["termination"];
            assert_eq!((&record["state"], &record["leaseState"]), (&"exited".into(), &"closed".into()));
            assert_eq!((&ending["reason"], &ending["exitCode"]), (&"exit".into(), &code.into()), "{ending}");
            assert_eq!((&ending["confirmed"], &ending["signal"]), (&true.into(), &Value::Null), "{ending}");
            assert_eq!(fixture.events_of(&run, "run-leaving").len(), 1, "{flags:?}");
            assert!(fixture.logs(&run).contains("leaving"), "{flags:?}: {:?}", fixture.logs(&run));
        }
    }
    fixture.finish();
}

#[test]
fn a_foreground_run_passes_on_output_and_exit_code() {
    let fixture = MatrixInstall::new();
    for flags in TRANSPORTS {
        let output = fixture.tenure(&[&["run", "--quiet"], flags, &["--", player(), "exit", "3"]].concat());
        assert_eq!(output.code, Some(3), "{flags:?}: {output:?}");
        assert!(output.out.contains("leaving"), "{flags:?}: {output:?}");
    }
    fixture.finish();
}

#[test]
fn a_command_killed_from_outside_is_not_an_exit() {
    let fixture = MatrixInstall::new();
    for flags in TRANSPORTS {
        let run = fixture.play(flags, &["hold"]);
        fixture.book().wait_for(&run, 1)[0].kill();
        assert_eq!(fixture.wait(&run), Some(137), "{flags:?}: {}", fixture.termination(&run));
        let ending = fixture.termination(&run);
        assert_eq!((&ending["reason"], &ending["exitCode"]), (&"signal".into(), &Value::Null), "{ending}");
    }
    fixture.finish();
}

#[test]
fn a_command_that_cannot_start_is_a_spawn_error_and_not_counted_as_spawned() {
    let fixture = MatrixInstall::new();
    for flags in TRANSPORTS {
        let missing = fixture.dir().join("no-such-program");
        let words = ["--", missing.to_str().expect("UTF-8")];
        let output = fixture.tenure(&[&["run", "--bg"], flags, &words].concat());
        assert_eq!(output.code, Some(127), "{flags:?}: {output:?}");
    }
    let runs = fixture.runs();
    assert_eq!(runs.len(), 2);
    assert!(runs.iter().all(|run| run["termination"]["reason"] == "spawn-error"), "{runs:?}");
    assert_eq!(fixture.metric("tenure_run_spawn_total"), 0);
    fixture.finish();
}
