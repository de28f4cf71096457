//! This test program, started again as a test process. It is the same on every system, unlike a shell.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The variable that names the role.
pub(crate) const ROLE: &str = "TENURE_OS_ROLE";

/// The arguments with which this program plays a role.
pub(crate) const ARGUMENTS: [&str; 4] = ["tests::role::play", "--exact", "--ignored", "--nocapture"];

#[test]
#[ignore = "it is a role that other tests start"]
fn play() {
    let role = std::env::var(ROLE).unwrap_or_default();
    let mut words = role.split(' ');
    let verb = words.next().unwrap_or_default();
    let number = words.next().and_then(|n| n.parse().ok()).unwrap_or(0);
    match verb {
        "echo" => {
            say("ready");
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::stderr());
        }
        "call" => drop(call(role.trim_start_matches("call "))),
        "exit" => leave(number),
        "hold" => hold(role.trim_start_matches("hold ")),
        #[cfg(unix)]
        "lead" => {
            crate::fork::new_session().expect("a session of its own");
            tree(number);
        }
        "let-go" => super::program::let_go(),
        "pass" => super::terminal::pass(),
        "tree" => tree(number),
        "wait" => {
            say("ready");
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
        }
        #[cfg(windows)]
        "flee" => flee(),
        #[cfg(windows)]
        "keep" => super::job::keep(),
        #[cfg(windows)]
        "type" => super::console::type_keys(),
        #[cfg(windows)]
        "show" => super::console::show(),
        _ => {}
    }
}

/// The arguments with which this program runs as a new child.
#[cfg(windows)]
pub(crate) const BORN: [&str; 4] = ["tests::role::run_child", "--exact", "--ignored", "--nocapture"];

#[cfg(windows)]
#[test]
#[ignore = "it is a role that other tests start"]
fn run_child() {
    super::children::run_child();
}

/// The arguments with which this program answers its starter.
#[cfg(windows)]
pub(crate) const STARTED: [&str; 4] = ["tests::role::answer", "--exact", "--ignored", "--nocapture"];

#[cfg(windows)]
#[test]
#[ignore = "it is a role that other tests start"]
fn answer() {
    super::children::answer();
}

#[expect(clippy::exit, clippy::disallowed_methods, reason = "a role that exits is what the test is about")]
pub(crate) fn leave(code: i32) {
    std::process::exit(code);
}

/// Prints a line of its own, whatever the test framework has left on the last one.
pub(crate) fn say(what: &str) {
    let mut out = std::io::stdout();
    out.write_all(format!("\nrole: {what} {}\n", std::process::id()).as_bytes()).expect("somebody reads");
    out.flush().expect("somebody reads");
}

/// Takes a lock in a directory and keeps it until its input ends.
fn hold(directory: &str) {
    let dir = crate::file::Dir::open(std::path::Path::new(directory)).expect("a directory");
    let lock = crate::lock::Lock::take(&dir, "lock").expect("a lock").expect("it is free");
    lock.write(b"mine").expect("a write");
    say("holds");
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

/// Connects to the socket `s` of a directory.
fn call(directory: &str) -> crate::socket::Conn {
    let dir = crate::file::Dir::open(std::path::Path::new(directory)).expect("a directory");
    crate::socket::Conn::connect(&dir, "s").expect("somebody listens")
}

/// Plays a process with so many descendants, each a child of the one before, none of which exits by itself within a
/// test's time.
fn tree(below: i32) {
    let _child = (below > 0).then(|| again(&format!("tree {}", below - 1)).spawn().expect("a child"));
    say("up");
    let (_hold, never) = std::sync::mpsc::channel::<()>();
    let _ = never.recv_timeout(Duration::from_secs(120));
}

/// Tries to start a process outside its own job.
#[cfg(windows)]
fn flee() {
    use std::os::windows::process::CommandExt;
    const BREAKAWAY: u32 = 0x0100_0000;
    let fled = again("tree 0").creation_flags(BREAKAWAY).spawn();
    say(if fled.is_ok() { "fled" } else { "stayed" });
}

#[expect(clippy::disallowed_methods, reason = "a test starts a process to look at")]
fn again(role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(ARGUMENTS).env(ROLE, role);
    command
}

/// Starts a role; dropping it kills the process.
pub(crate) fn start(role: &str) -> Player {
    let mut child = again(role).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let out = child.stdout.take().expect("piped");
    Player { child, out: BufReader::new(Box::new(out)) }
}

pub(crate) struct Player {
    pub(crate) child: Child,
    out: BufReader<Box<dyn Read>>,
}

impl Player {
    pub(crate) fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// Waits until the role, or a process below it, has printed this; returns that process's pid.
    pub(crate) fn hear(&mut self, what: &str) -> i32 {
        hear(&mut self.out, what)
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until a process has printed this; returns its pid.
pub(crate) fn hear(from: &mut impl BufRead, what: &str) -> i32 {
    let said = format!("role: {what} ");
    loop {
        let mut line = String::new();
        assert!(from.read_line(&mut line).expect("a line") > 0, "nobody said {what}");
        if let Some(pid) = line.trim_end().strip_prefix(&said) {
            return pid.parse().expect("a pid");
        }
    }
}
