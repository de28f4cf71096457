//! A scripted agent with a command line: it reads a prompt on standard input and answers in JSON lines. Lines of the
//! prompt that begin with `!` are its script, carried out in order. It records each of its starts, and the prompt
//! unchanged, in its working directory.

#![allow(clippy::disallowed_methods, reason = "an agent starts programs of its own")]

use serde_json::{Value, json};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use tenure_it::eventually;
use tenure_it::install::actor;

/// File with a line for each start.
const STARTS: &str = "starts";
/// While a file of this name exists, no input is read.
const HOLD: &str = "hold";
/// The prompt of the last turn.
const PROMPT: &str = "prompt";

/// The parts of the answer.
struct Turn {
    id: String,
    resumed: bool,
    seen: Value,
    finishes: bool,
    /// True if the answer names the conversation.
    named: bool,
}

fn main() -> ExitCode {
    tenure_it::begin_late();
    // The witness of a test must wait for this process.
    let _witness = std::env::var_os("ACTOR_WITNESS")
        .map(|fifo| std::fs::OpenOptions::new().write(true).open(fifo).expect("the witness"));
    let argv: Vec<String> = std::env::args().skip(1).collect();
    let resumed = argv.first().is_some_and(|word| word == "resume");
    let id = if resumed { argv[1].clone() } else { format!("talk-{}", std::process::id()) };
    note(STARTS, &json!({"pid": std::process::id(), "argv": argv}).to_string());
    eventually("no process holds stdin", || (!std::path::Path::new(HOLD).exists()).then_some(()));
    let mut prompt = Vec::new();
    std::io::stdin().read_to_end(&mut prompt).expect("a prompt");
    std::fs::write(PROMPT, &prompt).expect("noted");
    let prompt = String::from_utf8(prompt).expect("text");
    let mut turn = Turn { id, resumed, seen: json!({}), finishes: true, named: true };
    for line in prompt.lines().filter_map(|line| line.strip_prefix('!')) {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        if let Some(code) = run_line(&mut turn, verb, rest) {
            return code;
        }
    }
    answer(&turn, &argv, &prompt);
    ExitCode::SUCCESS
}

/// Carries out a line; some end the process.
fn run_line(turn: &mut Turn, verb: &str, rest: &str) -> Option<ExitCode> {
    match verb {
        // A message, so that the agent is seen to run.
        "say" => say(&json!({"type": "message", "text": rest})),
        // The id of the conversation, before anything else.
        "begin" => say(&json!({"type": "begin", "id": turn.id})),
        // Waits until a file of this name exists.
        "await" => eventually("the awaited file", || std::path::Path::new(rest).exists().then_some(())),
        "silent" => loop {
            std::thread::park();
        },
        // A message at intervals, for ever.
        "chatter" => loop {
            say(&json!({"type": "delta"}));
            std::thread::park_timeout(std::time::Duration::from_millis(20));
        },
        "exit" => {
            let (code, words) = rest.split_once(' ').unwrap_or((rest, ""));
            eprintln!("{words}");
            return Some(ExitCode::from(code.parse::<u8>().expect("a code")));
        }
        // An actor whose leftover is ready before it ends.
        "actor" => {
            let status = on_null(Command::new(actor()).args(rest.split(' '))).status().expect("an actor");
            assert!(status.success(), "{rest}: {status}");
        }
        "become" => panic!("no actor: {}", Command::new(actor()).args(rest.split(' ')).exec()),
        "junk" => junk(),
        "unfinished" => turn.finishes = false,
        "unnamed" => turn.named = false,
        "rename" => rest.clone_into(&mut turn.id),
        "error" => say(&json!({"type": "error", "text": rest})),
        "env" => turn.seen = std::env::vars().map(|(name, value)| (name, Value::from(value))).collect(),
        _ => panic!("no verb {verb}"),
    }
    None
}

fn answer(turn: &Turn, argv: &[String], prompt: &str) {
    let shown: String = prompt.chars().take(200).collect();
    let text = json!({
        "prompt": shown, "session": turn.id, "resumed": turn.resumed, "argv": argv, "env": turn.seen,
        "cwd": std::env::current_dir().expect("a directory"),
    });
    if turn.named {
        say(&json!({"type": "begin", "id": turn.id}));
    }
    let kind = if turn.finishes { "final" } else { "message" };
    say(&json!({"type": kind, "text": text.to_string()}));
}

/// Output that is no JSON line: words, broken bytes, half an object, and a line that is longer than the
/// reader's limit.
fn junk() {
    let mut out = std::io::stdout().lock();
    out.write_all(b"Warning: \xff\xfe\x00\n{\"type\": \"final\", \"te\n[1, 2]\n\n\"text\"\n\x1b[31m{}\n")
        .expect("written");
    out.write_all(br#"{"type": "final", "text": ""#).expect("written");
    let block = [b'x'; 1 << 14];
    for _ in 0..(12 << 6) {
        out.write_all(&block).expect("written");
    }
    out.write_all(b"\"}\n").expect("written");
}

fn say(line: &Value) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes()).and_then(|()| out.flush()).expect("written");
}

fn note(file: &str, line: &str) {
    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(file).expect("a note");
    file.write_all(format!("{line}\n").as_bytes()).expect("a note");
}

fn on_null(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null())
}
