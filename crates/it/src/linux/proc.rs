//! Facts from `/proc` about processes that a test knows by pid.

use std::fs;

/// Status fields of a process: state, parent, group, session, start time. `None` if it is gone.
pub fn stat(pid: i32) -> Option<(char, i32, i32, i32, u64)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let after = &text[text.rfind(')')? + 1..];
    let fields: Vec<&str> = after.split_ascii_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<i64>().ok();
    let small = |at: usize| i32::try_from(number(at)?).ok();
    Some((fields.first()?.chars().next()?, small(1)?, small(2)?, small(3)?, number(19)?.try_into().ok()?))
}

/// True if a process runs: it exists and is no zombie.
pub fn runs(pid: i32) -> bool {
    stat(pid).is_some_and(|(state, ..)| !matches!(state, 'Z' | 'X'))
}

/// Waits until a job has a shell's terminal: the shell prints the job before it passes the terminal on.
#[track_caller]
pub fn wait_in_background(shell: i32) {
    crate::eventually("a foreground job", || {
        let text = fs::read_to_string(format!("/proc/{shell}/stat")).ok()?;
        let after = &text[text.rfind(')')? + 1..];
        let foreground: i32 = after.split_ascii_whitespace().nth(5)?.parse().ok()?;
        (foreground > 0 && foreground != shell).then_some(())
    });
}

/// True if a process is stopped, as at a pause point.
pub fn is_stopped(pid: i32) -> bool {
    stat(pid).is_some_and(|(state, ..)| state == 'T')
}

/// The direct children of a process.
pub fn children(pid: i32) -> Vec<i32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists = tasks.flatten().filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>()
        })
        .collect()
}

/// All processes below a process.
pub fn descendants(pid: i32) -> Vec<i32> {
    let mut found = Vec::new();
    let mut parents = vec![pid];
    while let Some(parent) = parents.pop() {
        let below = children(parent);
        parents.extend(&below);
        found.extend(below);
    }
    found
}

/// The name of a process.
pub fn name(pid: i32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned()
}

/// The words of a process's command line.
pub fn command(pid: i32) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    text.strip_suffix('\0').map_or(Vec::new(), |text| text.split('\0').map(str::to_owned).collect())
}

/// The start time of a process in Unix milliseconds, to the clock's tick.
pub fn started_at_ms(pid: i32) -> Option<u64> {
    let (.., ticks) = stat(pid)?;
    let uptime = fs::read_to_string("/proc/uptime").ok()?;
    let up: f64 = uptime.split(' ').next()?.parse().ok()?;
    let age = std::time::Duration::try_from_secs_f64(up).ok()?.checked_sub(
        std::time::Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second()),
    )?;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?;
    u64::try_from(now.checked_sub(age)?.as_millis()).ok()
}

/// The pending signals of a process that blocks them.
pub fn pending(pid: i32) -> Vec<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let masks =
        status.lines().filter_map(|line| line.strip_prefix("SigPnd:").or(line.strip_prefix("ShdPnd:")));
    let bits =
        masks.filter_map(|hex| u64::from_str_radix(hex.trim(), 16).ok()).fold(0, |all, mask| all | mask);
    (1..=64).filter(|signal| bits >> (signal - 1) & 1 == 1).collect()
}

/// Every process there is.
pub fn all() -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Every process that was executed with this entry in its environment, as far as readable.
pub fn carriers(entry: &str) -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|&b| b == 0).any(|one| one == entry.as_bytes()) && runs(*pid)
    })
    .collect()
}

/// Every running process whose command line or environment holds this text, as far as readable.
pub fn naming(text: &str) -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let names = |pid: i32, file: &str| {
        let bytes = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    };
    pids.filter(|&pid| (names(pid, "cmdline") || names(pid, "environ")) && runs(pid)).collect()
}

/// Kills one process that the test started (or that Tenure started for it), by a pidfd.
pub fn kill(pid: i32) {
    send(pid, rustix::process::Signal::KILL);
}

/// Sends a signal to one process that the test started.
#[expect(clippy::disallowed_methods, reason = "the test's own processes, by exact pid, through a pidfd")]
pub fn send(pid: i32, signal: rustix::process::Signal) {
    assert!(pid > 1, "pid {pid} is never signalled");
    let Some(pid) = rustix::process::Pid::from_raw(pid) else { return };
    if let Ok(pidfd) = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) {
        // The process is dead already, as intended.
        let _ = rustix::process::pidfd_send_signal(pidfd, signal);
    }
}
