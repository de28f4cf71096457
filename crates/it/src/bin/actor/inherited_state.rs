//! State that a process inherits from its starter.

use crate::args::{Args, VerbResult};
use crate::context::{ActorContext, say};
use crate::terminal::window_size;
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Resource, getpgid, getpid, getppid, getrlimit, getsid};
use serde_json::{Value, json};
use std::fs;
use std::io;
use std::os::fd::RawFd;

/// Prints one line of JSON. Signals are numbers, the umask is octal text, a limit of `null` is unlimited.
pub(crate) fn print_state(context: &mut ActorContext, words: Args) -> VerbResult {
    words.end()?;
    context.begin("print-state")?;
    let descriptors: Vec<Value> =
        descriptors()?.into_iter().map(|(fd, target)| json!({"fd": fd, "target": target})).collect();
    let status = fs::read_to_string("/proc/self/status")?;
    let nofile = getrlimit(Resource::Nofile);
    let given = json!({
        "pid": getpid().as_raw_pid(),
        "ppid": Pid::as_raw(getppid()),
        "pgid": getpgid(None)?.as_raw_pid(),
        "sid": getsid(None)?.as_raw_pid(),
        "controllingTty": has_controlling_terminal(),
        "winsize": window_size().map(|size| json!({"cols": size.ws_col, "rows": size.ws_row})),
        "descriptors": descriptors,
        "blockedSignals": signals_in(&status, "SigBlk"),
        "ignoredSignals": signals_in(&status, "SigIgn"),
        "umask": field(&status, "Umask"),
        "cwd": std::env::current_dir()?,
        "nofile": {"soft": nofile.current, "hard": nofile.maximum},
        "environment": environment_names(),
    });
    say(&format!("{given}\n"))?;
    Ok(0)
}

/// The open descriptors and their targets, without the one that was opened to list them.
pub(crate) fn descriptors() -> io::Result<Vec<(RawFd, String)>> {
    let names = fs::read_dir("/proc/self/fd")?.map(|entry| Ok(entry?.path()));
    let paths: Vec<_> = names.collect::<io::Result<_>>()?;
    let followed = paths.iter().filter_map(|path| {
        let number = path.file_name()?.to_str()?.parse().ok()?;
        Some((number, fs::read_link(path).ok()?.display().to_string()))
    });
    let mut descriptors: Vec<_> = followed.collect();
    descriptors.sort_unstable();
    Ok(descriptors)
}

fn has_controlling_terminal() -> bool {
    rustix::fs::open("/dev/tty", OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).is_ok()
}

fn environment_names() -> Vec<String> {
    let mut names: Vec<_> = std::env::vars_os().map(|(name, _)| name.display().to_string()).collect();
    names.sort_unstable();
    names
}

fn signals_in(status: &str, mask: &str) -> Vec<u32> {
    let bits = field(status, mask).and_then(|hex| u64::from_str_radix(hex, 16).ok()).unwrap_or(0);
    (1..=64).filter(|signal| bits >> (signal - 1) & 1 == 1).collect()
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}
