//! The actor: one program with a verb for each nasty thing that a process can do to its supervisor.
//! It signals nobody but itself. `ready VERB` on stdout says that the behaviour is in place, and the line of the
//! first verb is the last one; verbs whose stdout is the point print none, nor do the modifiers around them.
//! There is no Rust `main`: its start-up ignores SIGPIPE and reopens closed stdio, and a test wants to see what
//! the supervisor really gave.

#![no_main]
#![allow(unsafe_code, reason = "the actor must fork without exec, and set signal dispositions and masks")]

mod armour;
mod family;
mod fork;
mod input;
mod life;
mod output;
mod signals;
mod silence;
mod stage;
mod state;
mod swarm;
mod terminal;
mod words;

use stage::Stage;
use std::ffi::c_int;
use words::{Fault, Outcome, Words};

type Play = fn(&mut Stage, Words) -> Outcome;

const OPTIONS: &str = "[--witness FIFO] [--pids FILE] [--quiet]";

const VERBS: &[(&str, Play)] = &[
    ("sleep [SECONDS]", life::sleep),
    ("exit CODE", life::exit),
    ("die SIGNAL", life::die),
    ("stop", life::stop),
    ("tree", family::tree),
    ("child VERB…", family::child),
    ("leave VERB…", family::leave),
    ("leave-code CODE VERB…", family::leave_code),
    ("setsid VERB…", family::setsid),
    ("daemon [--exit CODE] VERB…", family::daemon),
    ("clear-env VERB…", family::clear_env),
    ("chrome-like N", family::chrome_like),
    ("ignore-term VERB…", armour::ignore_term),
    ("ignore-all VERB…", armour::ignore_all),
    ("close-fds VERB…", armour::close_fds),
    ("hop [--setsid] [--micros N] [--root-exits] [--seconds N] [--births N]", swarm::hop),
    ("bomb [--setsid] [--limit N] [--micros N] [--seconds N] [--births N]", swarm::bomb),
    ("refork", swarm::refork),
    ("fill BYTES [--stderr|--both] [--line LEN] [--chunk LEN]", output::fill),
    ("flood [--stderr|--both] [--line LEN] [--chunk LEN]", output::flood),
    ("half-utf8 [--ms N]", output::half_utf8),
    ("interleave N", output::interleave),
    ("tick MS [COUNT]", output::tick),
    ("pass-output SOCKETPATH", output::pass_output),
    ("echo", input::echo),
    ("count-stdin", input::count_stdin),
    ("never-read", input::never_read),
    ("silent-cpu SECONDS", silence::silent_cpu),
    ("silent-io SECONDS", silence::silent_io),
    ("winch", terminal::winch),
    ("hold-pty", terminal::hold_pty),
    ("print-state", state::print_state),
    ("verbs", list_verbs),
];

#[unsafe(no_mangle)]
extern "C" fn main() -> c_int {
    tenure_it::begin_late();
    let mut words = Words::new(std::env::args().skip(1));
    code_of(Stage::open(&mut words).and_then(|mut stage| play(&mut stage, words)))
}

/// Goes on with the verb that `words` begins with.
fn play(stage: &mut Stage, mut words: Words) -> Outcome {
    let verb: String = words.next("VERB").unwrap_or_default();
    match VERBS.iter().find(|(usage, _)| usage.split(' ').next() == Some(&verb)) {
        Some((usage, play)) => play(stage, words).map_err(|fault| fault.in_verb(usage)),
        None => Err(Fault::Usage(format!(
            "no verb {verb:?}; actor {OPTIONS} VERB…, where VERB is\n{}",
            verb_list()
        ))),
    }
}

fn code_of(outcome: Outcome) -> c_int {
    outcome.unwrap_or_else(|fault| {
        eprintln!("actor: {fault}");
        fault.code()
    })
}

fn list_verbs(_: &mut Stage, words: Words) -> Outcome {
    words.end()?;
    stage::say(&verb_list())?;
    Ok(0)
}

fn verb_list() -> String {
    VERBS.iter().fold(String::new(), |list, (usage, _)| list + usage + "\n")
}
