//! Real interactive programs, used by an agent through `exec` and `process` alone: its keys arrive, and it sees their
//! screens.

use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};
use tenure_it::agent::Agent;
use tenure_it::held_process::HeldProcess;
use tenure_it::install::Install;
use tenure_it::screen::lines_of;
use tenure_it::tool_run::ToolRun;
use tenure_it::{eventually, proc};

/// A bash whose screen is the same everywhere.
const BASH: &str = "exec env PS1='prompt> ' HISTFILE= bash --norc --noprofile -i";

/// A program that shows every byte it gets, after printing that it is ready.
fn byte_printer(agent: &Agent, modes: &str) -> ToolRun {
    let run = agent.in_terminal(&format!("stty -echo; printf '{modes}ready\\n'; cat -v"));
    run.wait_for_line("ready");
    run
}

fn pid_of(run: &ToolRun) -> i32 {
    run.listed()["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok()).expect("a pid")
}

/// Waits until a process has a child of this name.
#[track_caller]
fn child_named(parent: i32, name: &str) -> i32 {
    eventually(&format!("a child {name}"), || {
        proc::children(parent).into_iter().find(|&pid| proc::name(pid) == name)
    })
}

#[test]
fn python_computes_takes_a_paste_is_interrupted_and_quits() {
    let (_install, agent) = Agent::new();
    let run = agent.in_terminal("python3 -q");
    run.wait_for_prompt(">>>");
    run.write("6 * 7\n");
    run.wait_for_line("42");
    run.wait_for_prompt(">>>");
    // As many as end the block: one Enter if it was marked as pasted, and none if not.
    run.expect_ok("paste", &json!({"text": "def double(n):\n    return n * 2\n"}));
    run.wait_for_screen("the function", |screen| {
        lines_of(screen).iter().any(|line| line.contains("return n * 2"))
    });
    run.expect_ok("submit", &json!({}));
    run.expect_ok("submit", &json!({}));
    run.types("double(1234), 'pasted'");
    run.wait_for_line("(2468, 'pasted')");
    run.types("while True: pass");
    run.expect_ok("submit", &json!({}));
    run.wait_until_waiting_is(&json!(false));
    run.keys(&["C-c"]);
    run.wait_for_line("KeyboardInterrupt");
    run.wait_for_prompt(">>>");
    run.types("'still', 'here'");
    run.wait_for_line("('still', 'here')");
    run.keys(&["C-d"]);
    run.exits(0);
}

#[test]
fn vim_edits_a_file() {
    let (install, agent) = Agent::new();
    let file = install.dir().join("notes");
    std::fs::write(&file, "first\nsecond\nthird\n").expect("write");
    let run = agent.in_terminal(&format!("vim -N -u NONE -i NONE -n {}", file.display()));
    run.wait_for_line("third");
    assert_eq!(run.screen()["alternateScreen"], true);
    // Vim asks for application cursor keys, and gets them in every mode.
    run.keys(&["Down", "Down", "Right"]);
    run.wait_for_screen("the cursor in line 3", |screen| {
        screen["cursor"]["row"] == 2 && screen["cursor"]["col"] == 1
    });
    run.keys(&["Up", "A"]);
    run.expect_ok("send-keys", &json!({"literal": " and more", "keys": ["Left", "Left", "Home"]}));
    run.expect_ok("send-keys", &json!({"literal": "now ", "keys": ["Down", "End"]}));
    run.expect_ok("paste", &json!({"text": "\n    fourth\n    fifth"}));
    run.keys(&["Escape"]);
    run.wait_for_line("    fifth");
    run.types(":wq");
    run.exits(0);
    let saved = std::fs::read_to_string(&file).expect("saved");
    assert_eq!(saved, "first\nnow second and more\nthird\n    fourth\n    fifth\n");
    assert_eq!(run.screen()["alternateScreen"], false);
}

#[test]
fn bash_has_job_control_and_no_job_outlives_the_run() {
    let (_install, agent) = Agent::new();
    let run = agent.in_terminal(BASH);
    run.wait_for_prompt("prompt>");
    let shell = pid_of(&run);
    let (_, keeper, ..) = proc::stat(shell).expect("a shell");
    run.types("sleep 1000");
    let sleeper = child_named(shell, "sleep");
    run.keys(&["C-z"]);
    run.wait_for_screen("the stopped job", |screen| {
        lines_of(screen).iter().any(|line| line.starts_with("[1]+  Stopped"))
    });
    assert!(proc::is_stopped(sleeper));
    run.types("bg");
    run.wait_for_line("[1]+ sleep 1000 &");
    run.types("jobs");
    run.wait_for_screen("the running job", |screen| {
        lines_of(screen).iter().any(|line| line.starts_with("[1]+  Running"))
    });
    run.types("fg");
    run.wait_for_line("sleep 1000");
    proc::wait_in_background(shell);
    run.wait_until_waiting_is(&json!(false));
    run.keys(&["C-c"]);
    run.wait_for_screen("the prompt after ^C", |screen| lines_of(screen).iter().any(|line| line == "^C"));
    eventually("the end of the job", || (!proc::runs(sleeper)).then_some(()));
    run.wait_until_waiting_is(&json!(true));
    run.types("sleep 2001 & disown; setsid sleep 2002 & (trap '' TERM HUP; exec sleep 2003) & sleep 2004");
    let jobs: Vec<HeldProcess> = eventually("four jobs", || {
        let below = proc::descendants(keeper);
        let sleeping: Vec<i32> = below.into_iter().filter(|&pid| proc::name(pid) == "sleep").collect();
        (sleeping.len() == 4).then(|| sleeping.into_iter().filter_map(HeldProcess::hold).collect())
    });
    let killed = run.kill();
    assert_eq!((&killed["status"], &killed["failureKind"]), (&json!("failed"), &json!("aborted")));
    assert!(jobs.iter().all(HeldProcess::is_dead), "{:?}", jobs.iter().filter(|job| !job.is_dead()).count());
}

#[test]
fn less_can_page_and_search() {
    let (install, agent) = Agent::new();
    let text: String = (1..=500).map(|n| format!("line {n}\n")).collect();
    let file = install.dir().join("text");
    std::fs::write(&file, text).expect("write");
    let run = agent.in_terminal(&format!("less {}", file.display()));
    let top_is = |line: &str| {
        run.wait_for_screen(line, |screen| lines_of(screen)[0] == line && screen["alternateScreen"] == true);
    };
    run.wait_for_line("line 29");
    top_is("line 1");
    run.keys(&["Space"]);
    top_is("line 30");
    run.types("/line 321");
    top_is("line 321");
    run.keys(&["G"]);
    run.wait_for_line("line 500");
    run.keys(&["g", "PageDown", "Down"]);
    top_is("line 31");
    run.keys(&["q"]);
    run.exits(0);
    assert_eq!(run.screen()["alternateScreen"], false);
}

/// Every file below a directory that holds this text.
fn files_containing(dir: &Path, secret: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).expect("a directory").flatten() {
        let (path, kind) = (entry.path(), entry.file_type().expect("a type"));
        if kind.is_dir() {
            found.extend(files_containing(&path, secret));
        } else if kind.is_file() {
            // A removed file holds nothing.
            let bytes = std::fs::read(&path).unwrap_or_default();
            if bytes.windows(secret.len()).any(|window| window == secret.as_bytes()) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

const PASSWORD: &str = "xyzzy-Plugh-8841";

/// A way to give a run the password.
type Give = fn(&ToolRun);

#[test]
fn a_password_is_recorded_nowhere() {
    let (install, agent) = Agent::new();
    let python =
        "python3 -c 'import getpass; p = getpass.getpass(); print(\"took\", len(p), p[::-1])'; sleep 1000";
    let bash = "bash -c 'read -s -p Password: p; echo; echo took ${#p} $(echo $p | rev); sleep 1000'";
    let terminal = |command: &str| agent.in_terminal(command);
    let given: [(ToolRun, Give); 5] = [
        (terminal(python), |run| run.write(&format!("{PASSWORD}\n"))),
        (terminal(python), |run| run.types(PASSWORD)),
        (terminal(bash), |run| {
            run.expect_ok("paste", &json!({"text": PASSWORD}));
            run.expect_ok("submit", &json!({}));
        }),
        (terminal(bash), |run| {
            let hex: String = PASSWORD.bytes().map(|byte| format!("{byte:02x}")).collect();
            run.expect_ok("send-keys", &json!({"hex": [hex, "0d"]}));
        }),
        (agent.on_pipes("read p; echo took ${#p} $(echo $p | rev); sleep 1000"), |run| {
            run.expect_ok("write", &json!({"data": format!("{PASSWORD}\n"), "eof": true}));
        }),
    ];
    let backwards: String = PASSWORD.chars().rev().collect();
    for (run, give) in &given {
        run.wait_until_waiting_is(&json!(true));
        give(run);
        run.wait_for_log(&format!("took {} {backwards}", PASSWORD.len()));
        for reply in [run.listed(), run.expect_ok("log", &json!({})), run.expect_ok("poll", &json!({}))] {
            assert!(!reply.to_string().contains(PASSWORD), "{reply}");
        }
        assert!(!run.asks("screen", &json!({})).text().contains(PASSWORD));
    }
    // The search itself works.
    assert!(!files_containing(install.state(), &backwards).is_empty());
    assert_eq!(files_containing(install.state(), PASSWORD), Vec::<String>::new());
    for (run, _) in &given {
        run.kill();
    }
    assert_eq!(files_containing(install.state(), PASSWORD), Vec::<String>::new());
}

/// The screen that a Python script leaves when it exits by itself.
fn python_screen(install: &Install, agent: &Agent, script: &str) -> String {
    let file = install.dir().join("script.py");
    std::fs::write(&file, script).expect("write");
    let run = agent.in_terminal(&format!("python3 {}", file.display()));
    run.exits(0);
    lines_of(&run.screen()).join("\n")
}

#[test]
fn a_program_that_queries_its_terminal_is_answered() {
    let (install, agent) = Agent::new();
    let script = r#"
import os, sys, termios, tty
old = termios.tcgetattr(0)
tty.setraw(0)
def ask(question, end):
    os.write(1, question)
    answer = b""
    while not answer.endswith(end):
        answer += os.read(0, 1)
    return answer
answers = [ask(b"\x1b[2J\x1b[5;7Hab\x1b[6n", b"R"), ask(b"\x1b[c", b"c"), ask(b"\x1b[5n", b"n"), ask(b"\x1b[18t", b"t")]
termios.tcsetattr(0, termios.TCSADRAIN, old)
print("\r\n" + " ".join(repr(answer) for answer in answers))
"#;
    let shown = python_screen(&install, &agent, script);
    assert!(shown.contains(r"b'\x1b[5;9R' b'\x1b[?62;22c' b'\x1b[0n' b'\x1b[8;30;120t'"), "{shown}");
}

#[test]
fn each_of_many_terminal_queries_is_answered_once() {
    let (install, agent) = Agent::new();
    let script = r#"
import os, select, termios, tty
old = termios.tcgetattr(0)
tty.setraw(0)
answers = b""
def read():
    global answers
    answers += os.read(0, 4096)
# So close to each other that some come while those before them are being answered.
for n in range(300):
    os.write(1, b"\x1b[6n")
    if select.select([0], [], [], 0.0003)[0]:
        read()
os.write(1, b"\x1b[5n")
while b"\x1b[0n" not in answers:
    read()
os.write(1, b"\x1b[c")
while not answers.endswith(b"\x1b[?62;22c"):
    read()
termios.tcsetattr(0, termios.TCSADRAIN, old)
print("\r\n", answers.count(b"R"), "answers,", answers[-13:])
"#;
    let shown = python_screen(&install, &agent, script);
    assert!(shown.contains(r"300 answers, b'\x1b[0n\x1b[?62;22c'"), "{shown}");
}

#[test]
fn a_new_size_reaches_the_program() {
    let (install, agent) = Agent::new();
    let script = "import os, signal\nsize = lambda: print('size', *os.get_terminal_size(), flush=True)\n\
                  signal.signal(signal.SIGWINCH, lambda *_: size())\nsize()\nwhile True: signal.pause()\n";
    let file = install.dir().join("size.py");
    std::fs::write(&file, script).expect("write");
    let run = agent.in_terminal(&format!("python3 {}", file.display()));
    run.wait_for_line("size 120 30");
    run.expect_ok("resize", &json!({"cols": 66, "rows": 11}));
    let screen = run.wait_for_line("size 66 11");
    assert_eq!((&screen["cols"], &screen["rows"]), (&json!(66), &json!(11)));
    run.kill();
    let shell = agent.in_terminal(BASH);
    shell.wait_for_prompt("prompt>");
    shell.expect_ok("resize", &json!({"cols": 100, "rows": 40}));
    shell.types("stty size");
    shell.wait_for_line("40 100");
    shell.kill();
}

#[test]
fn top_shows_the_machine_and_quits() {
    let (_install, agent) = Agent::new();
    let run = agent.in_terminal("top");
    run.wait_for_screen("top", |screen| {
        let lines = lines_of(screen);
        lines[0].contains("load average") && lines.iter().any(|line| line.contains("PID"))
    });
    run.keys(&["q"]);
    run.exits(0);
}

#[test]
fn node_computes_and_quits() {
    let (_install, agent) = Agent::new();
    let run = agent.in_terminal("node");
    run.wait_for_prompt(">");
    run.types("6 * 7 + ' computed'");
    run.wait_for_line("'42 computed'");
    run.wait_for_prompt(">");
    // Before it runs, Ctrl-C is a key that node reads.
    run.types("console.log('begi' + 'ns'); while (true);");
    run.wait_for_line("begins");
    // Node can lose an interrupt that arrives while it still prints, so the key is pressed until it has one.
    let is_interrupted =
        || lines_of(&run.screen()).iter().any(|line| line.contains("interrupted by `SIGINT`")).then_some(());
    eventually("an interrupted loop", || {
        run.keys(&["C-c"]);
        let deadline = Instant::now() + Duration::from_secs(5);
        std::iter::repeat_with(is_interrupted).take_while(|_| Instant::now() < deadline).flatten().next()
    });
    run.wait_for_prompt(">");
    run.keys(&["C-d"]);
    run.exits(0);
}

#[test]
fn a_line_is_submitted_to_a_program_on_pipes() {
    let (_install, agent) = Agent::new();
    let run = agent.on_pipes("cat");
    run.write("hello");
    run.expect_ok("submit", &json!({}));
    run.wait_for_log("hello\n");
    run.expect_ok("paste", &json!({"text": "one\ntwo"}));
    run.expect_ok("send-keys", &json!({"literal": "!", "hex": ["0a"]}));
    run.expect_ok("write", &json!({"data": "end", "eof": true}));
    run.exits(0);
    assert_eq!(run.log(), "hello\none\ntwo!\nend");
}

#[test]
fn stdin_eof_reaches_a_terminal_command_after_any_input() {
    let (_install, agent) = Agent::new();
    for data in ["", "a line\n", "no line", "two\nhalves"] {
        let run = agent.in_terminal("stty -echo; echo ready; cat; echo over");
        run.wait_for_line("ready");
        run.wait_until_waiting_is(&json!(true));
        run.expect_ok("write", &json!({"data": data, "eof": true}));
        run.exits(0);
        let kept = run.log().replace('\r', "");
        assert_eq!(kept, format!("ready\n{data}over\n"));
    }
    // The end of one reader's input is not the end of the next one's.
    let run = agent.in_terminal("stty -echo; echo ready; cat; echo over; read x; echo got $x");
    run.wait_for_line("ready");
    run.wait_until_waiting_is(&json!(true));
    run.expect_ok("write", &json!({"data": "a line\n", "eof": true}));
    run.wait_for_line("over");
    run.types("more");
    run.wait_for_line("got more");
    run.exits(0);
}

#[test]
fn literal_text_is_sent_before_hex_and_hex_before_keys() {
    let (_install, agent) = Agent::new();
    let run = byte_printer(&agent, "");
    for body in [
        r#""literal": "L", "hex": ["48", "0x49"], "keys": ["Up", "M-x", "F5", "Enter"]"#,
        r#""keys": ["Up", "M-x", "F5", "Enter"], "hex": "4849", "literal": "L""#,
    ] {
        let request = format!(r#"{{"action": "send-keys", "runId": "{}", {body}}}"#, run.id);
        let reply = agent.api.ask("POST", "/v1/process", &[], request.as_bytes()).is(200).json();
        assert_eq!(reply["bytesWritten"], 14, "{reply}");
    }
    run.wait_for_screen("both", |screen| {
        lines_of(screen).iter().filter(|line| *line == "LHI^[[A^[x^[[15~").count() == 2
    });
    run.kill();
}

#[test]
fn keys_follow_the_programs_keyboard_mode() {
    let (_install, agent) = Agent::new();
    for (modes, shown) in [
        ("", "^[[A^[[H5^[[1;5A"),
        ("\\033[?1h", "^[OA^[OH5^[[1;5A"),
        ("\\033=", "^[[A^[[H^[Ou^[[1;5A"),
        ("\\033[?1h\\033=\\033[?1l\\033>", "^[[A^[[H5^[[1;5A"),
    ] {
        let run = byte_printer(&agent, modes);
        run.keys(&["Up", "Home", "KP5", "C-Up", "Enter"]);
        run.wait_for_line(shown);
        run.kill();
    }
}

#[test]
fn a_paste_is_bracketed_on_request_or_if_the_program_enabled_it() {
    let (_install, agent) = Agent::new();
    let marked = ["^[[200~one", "two^[[201~"];
    let plain = ["one", "two"];
    for (modes, bracketed, expected) in [
        ("", Value::Null, plain),
        ("", json!(true), marked),
        ("", json!(false), plain),
        ("\\033[?2004h", Value::Null, marked),
        ("\\033[?2004h", json!(true), marked),
        ("\\033[?2004h", json!(false), plain),
        ("\\033[?2004h\\033[?2004l", Value::Null, plain),
    ] {
        let run = byte_printer(&agent, modes);
        // A paste marker in the text cannot end the paste.
        let text = "o\u{1b}[201~ne\ntwo";
        run.expect_ok("paste", &json!({"text": text, "bracketed": bracketed}));
        run.expect_ok("submit", &json!({}));
        run.wait_for_line(expected[1]);
        assert_eq!(lines_of(&run.screen())[..3], ["ready", expected[0], expected[1]], "{modes} {bracketed}");
        run.kill();
    }
}

#[test]
fn a_long_paste_arrives_complete() {
    let (install, agent) = Agent::new();
    let file = install.dir().join("pasted");
    let run = agent.in_terminal(&format!("stty -echo; echo ready; cat > {}", file.display()));
    run.wait_for_line("ready");
    let text: String = (0..5000).map(|n| format!("line {n} of what is pasted, and then some\n")).collect();
    run.expect_ok("paste", &json!({"text": text}));
    run.keys(&["C-d"]);
    run.exits(0);
    assert!(std::fs::read_to_string(&file).expect("a file") == text);
}

#[test]
fn the_screen_of_an_untouched_terminal_is_shown_after_the_end() {
    let (install, agent) = Agent::new();
    let go = install.dir().join("go");
    // A command that ends before exec answers is not in the background.
    let run = agent.in_terminal(&format!(
        "until test -e {}; do sleep 0.02; done; printf 'left\\n\\033[1mbold\\033[0m  \\n'; exit 3",
        go.display()
    ));
    std::fs::write(&go, "").expect("write");
    run.exits(3);
    assert_eq!(lines_of(&run.screen())[..2], ["left", "bold"]);
    let Value::String(why) = run.asks("send-keys", &json!({"keys": ["Enter"]})).json()["detail"].clone()
    else {
        panic!("no detail");
    };
    assert!(why.contains("has ended"), "{why}");
}
