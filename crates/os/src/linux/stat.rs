//! `/proc/<pid>/stat`, parsed after the last parenthesis: a program may have any name.

use std::fs::File;
use std::io::{self, Read};
use std::sync::OnceLock;

/// The status line of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// The state letter: `R`, `S`, `D`, `T`, `Z`…
    pub state: char,
    /// The parent's pid.
    pub parent: i32,
    /// The group.
    pub group: i32,
    /// The session.
    pub session: i32,
    /// The start time, in ticks since boot.
    pub start_time: u64,
    /// The memory in use.
    pub rss_bytes: u64,
    own_ticks: u64,
    children_ticks: u64,
}

impl Stat {
    /// Reads a process's status; `None` if there is no such process.
    pub fn read(pid: i32) -> io::Result<Option<Self>> {
        match read(&format!("/proc/{pid}/stat")) {
            Ok(bytes) => Self::parse(&bytes).map(Some).ok_or_else(|| {
                io::Error::new(io::ErrorKind::InvalidData, format!("/proc/{pid}/stat is not understood"))
            }),
            Err(error) if is_gone(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let after_name = bytes.iter().rposition(|&b| b == b')')? + 1;
        let text = std::str::from_utf8(&bytes[after_name..]).ok()?;
        // The first field here is number 3 in proc(5).
        let fields: Vec<&str> = text.split_ascii_whitespace().collect();
        let field = |number: usize| fields.get(number - 3).copied();
        let number = |at: usize| field(at)?.parse::<i64>().ok();
        let count = |at: usize| number(at)?.try_into().ok();
        let small = |at: usize| number(at)?.try_into().ok();
        let rss_pages: u64 = count(24)?;
        Some(Self {
            state: field(3)?.chars().next()?,
            parent: small(4)?,
            group: small(5)?,
            session: small(6)?,
            own_ticks: count(14).zip(count(15)).map(|(user, system): (u64, u64)| user + system)?,
            children_ticks: count(16).zip(count(17)).map(|(user, system): (u64, u64)| user + system)?,
            start_time: count(22)?,
            rss_bytes: rss_pages * rustix::param::page_size() as u64,
        })
    }

    /// Returns the CPU time that the process has used itself.
    pub fn cpu_ms(&self) -> u64 {
        self.own_ticks * 1000 / ticks_per_second()
    }

    /// Returns the CPU time of the process and of the children that it waited for.
    pub fn cpu_with_children_ms(&self) -> u64 {
        (self.own_ticks + self.children_ticks) * 1000 / ticks_per_second()
    }
}

/// Reads the whole file in one piece: its size is not known before.
fn read(path: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(1024);
    File::open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns true for the errors of a process that vanished before or during the read.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH))
}

fn ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second().max(1)
}

/// Converts a start time in ticks since boot to Unix milliseconds.
pub(crate) fn started_at_ms(start_time: u64) -> u64 {
    static BOOT_MS: OnceLock<u64> = OnceLock::new();
    let boot_ms = *BOOT_MS.get_or_init(|| {
        // Start times count the machine's sleep, as this clock does.
        let up = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let up_ms = up.tv_sec.unsigned_abs() * 1000 + up.tv_nsec.unsigned_abs() / 1_000_000;
        crate::clock::unix_ms().saturating_sub(up_ms)
    });
    boot_ms + start_time * 1000 / ticks_per_second()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_named_like_a_status_line_is_read_right() {
        let line = b"42 (a) R 1 2 (x) S 7 8 9 0 -1 4194560 1 0 0 0 10 20 30 40 20 0 1 0 12345 999 3 18446744073709551615";
        let stat = Stat::parse(line).unwrap();
        assert_eq!((stat.state, stat.parent, stat.group, stat.session), ('S', 7, 8, 9));
        assert_eq!((stat.start_time, stat.own_ticks, stat.children_ticks), (12345, 30, 70));
    }

    #[test]
    fn our_own_status_is_readable() {
        let own = std::process::id().cast_signed();
        let stat = Stat::read(own).unwrap().unwrap();
        assert_eq!(stat.parent, std::os::unix::process::parent_id().cast_signed());
    }

    #[test]
    fn a_missing_process_is_no_error() {
        assert_eq!(Stat::read(i32::MAX).unwrap(), None);
    }
}
