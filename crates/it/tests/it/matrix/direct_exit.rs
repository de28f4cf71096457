//! OS matrix, direct-exit: a command that ends by itself. Its record is closed once, and says how.

use serde_json::Value;
use tenure_it::TRANSPORTS;
use tenure_it::matrix::home::{Home, player};

#[test]
fn a_command_that_exits_is_recorded_with_its_code_and_its_run_is_closed() {
    let home = Home::new();
    for flags in TRANSPORTS {
        for code in [0, 7, 255] {
            let run = home.play(flags, &["exit", &code.to_string()]);
            assert_eq!(home.wait(&run), Some(code), "{flags:?}");
            let record = home.show(&run);
            let ending = &record["termination"];
            assert_eq!((&record["state"], &record["leaseState"]), (&"exited".into(), &"closed".into()));
            assert_eq!((&ending["reason"], &ending["exitCode"]), (&"exit".into(), &code.into()), "{ending}");
            assert_eq!((&ending["confirmed"], &ending["signal"]), (&true.into(), &Value::Null), "{ending}");
            assert_eq!(home.told(&run, "run-leaving").len(), 1, "{flags:?}");
            assert!(home.logs(&run).contains("leaving"), "{flags:?}: {:?}", home.logs(&run));
        }
    }
    home.finish();
}

#[test]
fn a_foreground_command_passes_its_output_and_its_code_on() {
    let home = Home::new();
    for flags in TRANSPORTS {
        let output = home.tenure(&[&["run", "--quiet"], flags, &["--", player(), "exit", "3"]].concat());
        assert_eq!(output.code, Some(3), "{flags:?}: {output:?}");
        assert!(output.out.contains("leaving"), "{flags:?}: {output:?}");
    }
    home.finish();
}

#[test]
fn a_command_that_somebody_else_kills_is_no_exit() {
    let home = Home::new();
    for flags in TRANSPORTS {
        let run = home.play(flags, &["hold"]);
        home.book().wait_for(&run, 1)[0].kill();
        assert_eq!(home.wait(&run), Some(137), "{flags:?}: {}", home.termination(&run));
        let ending = home.termination(&run);
        assert_eq!((&ending["reason"], &ending["exitCode"]), (&"signal".into(), &Value::Null), "{ending}");
    }
    home.finish();
}

#[test]
fn a_command_that_cannot_be_started_is_closed_as_a_spawn_error_and_counts_as_no_spawn() {
    let home = Home::new();
    for flags in TRANSPORTS {
        let missing = home.dir().join("no-such-program");
        let words = ["--", missing.to_str().expect("UTF-8")];
        let output = home.tenure(&[&["run", "--bg"], flags, &words].concat());
        assert_eq!(output.code, Some(127), "{flags:?}: {output:?}");
    }
    let runs = home.runs();
    assert_eq!(runs.len(), 2);
    assert!(runs.iter().all(|run| run["termination"]["reason"] == "spawn-error"), "{runs:?}");
    assert_eq!(home.metric("tenure_run_spawn_total"), 0);
    home.finish();
}
