//! A command for the scenarios: `player VERB…`. It enters itself in the test's player log, then carries out its verb.
//!
//! | verb | behaviour |
//! |---|---|
//! | `exit CODE` | says `leaving` and exits |
//! | `tree DEPTH` | starts `player tree DEPTH-1` while DEPTH is above 1, says `level DEPTH`, and runs for ever |
//! | `speak EVERY TIMES` | says `word N` every EVERY milliseconds, TIMES times, and exits with 0 |
//! | `hold` | says `ready` and runs for ever |
//! | `echo` | says `heard LINE` for every line that it reads, and exits with 0 at `end` or at the end of its input |
//! | `ignore-term VERB…` | ignores requests to exit, then continues with the verb |
//! | `obey CODE` | says `ready` and runs until it is asked to exit, then exits |
//! | `leave VERB…` | starts `player VERB…`, waits until that plays, and exits with 4 |

use std::io::{BufRead, Write};
use std::process::{Command, ExitCode};
use std::time::Duration;
use tenure_os::poll::Interest;
use tenure_os::signals::{LEAVE, Signals};

#[cfg_attr(windows, path = "console.rs")]
#[cfg_attr(not(windows), path = "stream.rs")]
mod voice;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    tenure_it::matrix::player_log::enter(&words);
    match play(&words.iter().map(String::as_str).collect::<Vec<_>>()) {
        Some(code) => end_with(code),
        None => ExitCode::from(2),
    }
}

/// Plays; returns the exit code, or `None` if the words are not understood.
fn play(words: &[&str]) -> Option<i32> {
    match words {
        ["exit", code] => {
            say("leaving");
            code.parse().ok()
        }
        ["tree", depth] => tree(depth.parse().ok()?),
        ["speak", every, times] => {
            speak(Duration::from_millis(every.parse().ok()?), times.parse().ok()?);
            Some(0)
        }
        ["hold"] => {
            say("ready");
            for_ever()
        }
        ["echo"] => {
            echo();
            Some(0)
        }
        ["ignore-term", rest @ ..] => {
            // Taken and never read.
            let taken = Signals::take(&LEAVE).expect("signals can be taken");
            let code = play(rest);
            drop(taken);
            code
        }
        ["obey", code] => {
            obey();
            code.parse().ok()
        }
        ["leave", rest @ ..] => leave(rest),
        _ => None,
    }
}

fn tree(depth: u32) -> Option<i32> {
    let below = (depth > 1).then(|| start(&["tree", &(depth - 1).to_string()]));
    say(&format!("level {depth}"));
    match below {
        // The wait never ends by itself.
        Some(mut below) => below.wait().ok()?.code(),
        None => for_ever(),
    }
}

fn speak(every: Duration, times: u32) {
    for number in 1..=times {
        tenure_os::poll::wait(&[], Some(every)).expect("a clock");
        say(&format!("word {number}"));
    }
}

fn echo() {
    say("ready");
    for line in voice::input().lines() {
        let Ok(line) = line else { break };
        let line = line.trim_end_matches('\r');
        say(&format!("heard {line}"));
        if line == "end" {
            break;
        }
    }
}

fn obey() {
    let asked = Signals::take(&LEAVE).expect("signals can be taken");
    say("ready");
    while asked.next().is_none() {
        tenure_os::poll::wait(&[Interest::reading(&asked)], None).expect("signals can be waited for");
    }
}

fn leave(words: &[&str]) -> Option<i32> {
    let path = std::env::var_os(tenure_it::matrix::player_log::VARIABLE)?;
    let book = tenure_it::matrix::player_log::PlayerLog::new(std::path::Path::new(&path).parent()?);
    let mut child = start(words);
    let pid = child.id().cast_signed();
    tenure_it::eventually("the remaining one", || {
        assert!(matches!(child.try_wait(), Ok(None)), "it has ended");
        book.entries().iter().any(|one| one.identity.pid == pid).then_some(())
    });
    Some(4)
}

#[expect(clippy::disallowed_methods, reason = "what a command starts is what the scenarios are about")]
fn start(words: &[&str]) -> std::process::Child {
    let own = std::env::current_exe().expect("own path");
    Command::new(own).args(words).spawn().expect("a player starts")
}

fn say(line: &str) {
    // The reader may be gone.
    let _ = voice::output().write_all(format!("{line}\n").as_bytes());
}

fn for_ever() -> ! {
    loop {
        std::thread::park();
    }
}

#[expect(
    clippy::disallowed_methods,
    clippy::exit,
    reason = "some systems' codes are larger than an ExitCode"
)]
fn end_with(code: i32) -> ! {
    std::process::exit(code)
}
