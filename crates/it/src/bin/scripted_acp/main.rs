//! A scripted ACP agent: it speaks the protocol on its standard input and output, and carries out the lines of the
//! prompt that begin with `!`, in order. Flags set its abilities and misbehaviours. It shares no protocol code with the
//! product, so it is an independent witness: it records every message that it gets, its starts, the answers to its
//! requests, and its sessions in its working directory.

#![allow(clippy::disallowed_methods, reason = "an agent starts programs of its own")]

mod children;
mod flags;
mod requests;
mod script;
mod sessions;
mod turn;
mod wire;

use flags::Flags;
use requests::Agent;
use serde_json::{Value, json};
use std::io::BufRead;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use tenure_it::{eventually, proc};

/// While a file of this name exists, no input is read.
const HOLD: &str = "hold";

fn main() -> ExitCode {
    tenure_it::begin_late();
    let argv: Vec<String> = std::env::args().skip(1).collect();
    let flags = Flags::read(&argv);
    if flags.has("--ignore-term") && std::env::var_os("SIGNALS_BLOCKED").is_none() {
        // A blocked signal does not end the process, and stays visible.
        let own = std::env::current_exe().expect("own path");
        let mut command = Command::new("env");
        command.args(["--block-signal=TERM,INT,HUP", "SIGNALS_BLOCKED=1"]).arg(own).args(&argv);
        panic!("no env: {}", command.exec());
    }
    // The witness of a test must wait for this process.
    let _witness = std::env::var_os("ACTOR_WITNESS")
        .map(|fifo| std::fs::OpenOptions::new().write(true).open(fifo).expect("the witness"));
    wire::note("starts", &json!({"pid": std::process::id(), "argv": argv, "alive": alive()}));
    if let Some(code) = flags.crash {
        eprintln!("the agent will not start");
        return ExitCode::from(code);
    }
    let (agent, exits) = Agent::new(flags);
    let agent = Arc::new(agent);
    std::thread::spawn(move || read(&agent));
    exits.recv().expect("it is told to exit")
}

/// Live processes of earlier starts.
fn alive() -> Vec<i32> {
    let starts = std::fs::read_to_string("starts").unwrap_or_default();
    let starts = starts.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let pids = starts.filter_map(|start| i32::try_from(start["pid"].as_i64()?).ok());
    pids.filter(|pid| proc::runs(*pid)).collect()
}

/// Reads messages until the end of input.
fn read(agent: &Arc<Agent>) {
    let mut input = std::io::BufReader::with_capacity(1 << 12, std::io::stdin());
    loop {
        eventually("no process holds stdin", || (!Path::new(HOLD).exists()).then_some(()));
        let mut line = String::new();
        if input.read_line(&mut line).expect("text") == 0 {
            break;
        }
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|why| panic!("{why}: {line}"));
        wire::note("heard", &json!({"pid": std::process::id(), "message": message}));
        Agent::handle(agent, &message);
    }
    wire::note("heard", &json!({"pid": std::process::id(), "eof": true}));
    if !agent.flags.has("--ignore-eof") {
        agent.exit(0);
    }
}
