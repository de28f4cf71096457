//! The actor: one program with a verb for each nasty thing that a process can do to its supervisor. It signals only
//! itself. `ready VERB` on stdout says that the behaviour is in place, and the line of the first verb is the last one;
//! verbs whose stdout is the point print none, nor do the modifiers around them. There is no Rust `main`: its start-up
//! ignores SIGPIPE and reopens closed stdio, and a test wants to see the state that the supervisor really passed on.

#![no_main]
#![allow(unsafe_code, reason = "the actor must fork without exec, and set signal dispositions and masks")]

mod args;
mod context;
mod fork;
mod inherited_state;
mod input;
mod lifetime;
mod modifiers;
mod output;
mod process_trees;
mod signals;
mod silent_work;
mod swarm;
mod terminal;

use args::{Args, VerbError, VerbResult};
use context::ActorContext;
use std::ffi::c_int;

type VerbFn = fn(&mut ActorContext, Args) -> VerbResult;

const OPTIONS: &str = "[--witness FIFO] [--pids FILE] [--quiet]";

const VERBS: &[(&str, VerbFn)] = &[
    ("sleep [SECONDS]", lifetime::sleep),
    ("exit CODE", lifetime::exit),
    ("die SIGNAL", lifetime::die),
    ("stop", lifetime::stop),
    ("tree", process_trees::tree),
    ("child VERB…", process_trees::child),
    ("leave VERB…", process_trees::leave),
    ("leave-code CODE VERB…", process_trees::leave_code),
    ("setsid VERB…", process_trees::setsid),
    ("daemon [--exit CODE] VERB…", process_trees::daemon),
    ("clear-env VERB…", process_trees::clear_env),
    ("chrome-like N", process_trees::chrome_like),
    ("ignore-term VERB…", modifiers::ignore_term),
    ("ignore-all VERB…", modifiers::ignore_all),
    ("close-fds VERB…", modifiers::close_fds),
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
    ("silent-cpu SECONDS", silent_work::silent_cpu),
    ("silent-io SECONDS", silent_work::silent_io),
    ("winch", terminal::winch),
    ("hold-pty", terminal::hold_pty),
    ("print-state", inherited_state::print_state),
    ("verbs", list_verbs),
];

#[unsafe(no_mangle)]
extern "C" fn main() -> c_int {
    tenure_it::begin_late();
    let mut words = Args::new(std::env::args().skip(1));
    code_of(ActorContext::open(&mut words).and_then(|mut context| play(&mut context, words)))
}

/// Continues with the first verb of `words`.
fn play(context: &mut ActorContext, mut words: Args) -> VerbResult {
    let verb: String = words.next("VERB").unwrap_or_default();
    match VERBS.iter().find(|(usage, _)| usage.split(' ').next() == Some(&verb)) {
        Some((usage, play)) => play(context, words).map_err(|fault| fault.in_verb(usage)),
        None => Err(VerbError::Usage(format!(
            "no verb {verb:?}; actor {OPTIONS} VERB…, where VERB is\n{}",
            verb_list()
        ))),
    }
}

fn code_of(outcome: VerbResult) -> c_int {
    outcome.unwrap_or_else(|fault| {
        eprintln!("actor: {fault}");
        fault.code()
    })
}

fn list_verbs(_: &mut ActorContext, words: Args) -> VerbResult {
    words.end()?;
    context::say(&verb_list())?;
    Ok(0)
}

fn verb_list() -> String {
    VERBS.iter().fold(String::new(), |list, (usage, _)| list + usage + "\n")
}
