//! OS matrix, direct-exit: a command that ends by itself, through the daemon. Its record is closed once, and says so.

use tenure_it::home::{Home, TRANSPORTS};

#[test]
fn a_command_that_exits_is_recorded_with_its_code_and_its_run_is_closed() {
    let home = Home::watched();
    for flags in TRANSPORTS {
        for code in [0, 7] {
            let id = home.act(flags, &["exit", &code.to_string()]);
            assert_eq!(home.wait(&id), code, "{flags:?}");
            let record = home.show(&id);
            let ending = &record["termination"];
            assert_eq!((&record["state"], &record["leaseState"]), (&"exited".into(), &"closed".into()));
            assert_eq!((&ending["reason"], &ending["exitCode"]), (&"exit".into(), &code.into()), "{ending}");
            assert_eq!((&ending["confirmed"], &ending["signal"]), (&true.into(), &serde_json::Value::Null));
            assert_eq!(home.audit().run(&id).told("run-leaving"), 1, "{flags:?}");
        }
    }
    home.finish();
}

#[test]
fn a_foreground_command_passes_its_output_and_its_code_on() {
    let home = Home::watched();
    for flags in TRANSPORTS {
        let script = ["--", "sh", "-c", "echo heard; exit 3"];
        let output = home.tenure(&[&["run", "--quiet"], flags, &script].concat());
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim_end(), "heard");
    }
    home.finish();
}

#[test]
fn a_command_that_a_signal_ends_is_recorded_with_the_signal() {
    let home = Home::watched();
    for flags in TRANSPORTS {
        let id = home.act(flags, &["die", "9"]);
        assert_eq!(home.wait(&id), 137);
        let ending = home.show(&id)["termination"].clone();
        assert_eq!((&ending["reason"], &ending["exitCode"]), (&"signal".into(), &serde_json::Value::Null));
    }
    home.finish();
}

#[test]
fn a_command_that_cannot_be_started_is_closed_as_a_spawn_error_and_counts_as_no_spawn() {
    let home = Home::watched();
    for flags in TRANSPORTS {
        let output = home.tenure(&[&["run", "--bg"], flags, &["--", "/no/such/program"]].concat());
        assert_eq!(output.status.code(), Some(127), "{output:?}");
    }
    let ledger = home.audit();
    assert_eq!(ledger.runs.len(), 2);
    assert!(ledger.runs.iter().all(|run| run.reason() == Some("spawn-error")), "{ledger:?}");
    home.finish();
}
