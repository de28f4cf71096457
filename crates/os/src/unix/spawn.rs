//! Starts the root of a run: it is forked, recorded, and only then let through the gate to execute (I2).

use super::calls::exec::Child;
use crate::enclosure::Enclosure;
use crate::fork::SingleThread;
use crate::root::Root;
use crate::spawn::{NoRoot, Outcome};
use crate::stdio::Stdio;
use crate::system;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::process::Resource;
use std::ffi::{CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use tenure_core::ending::SpawnError;
use tenure_core::resources::Rlimit;

/// The program to execute, with its arguments, environment and limits.
#[derive(Debug)]
pub struct Plan {
    pub(crate) argv: Vec<CString>,
    pub(crate) env: Vec<CString>,
    pub(crate) cwd: CString,
    pub(crate) umask: u32,
    /// The soft and hard limits of open descriptors.
    pub(crate) nofile: (u64, u64),
    pub(crate) rlimits: Vec<(Resource, u64)>,
    /// The files to try, in order.
    pub(crate) programs: Vec<CString>,
}

impl Plan {
    /// Prepares everything that needs memory, because nothing can be allocated after the fork.
    pub fn new(argv: Vec<Vec<u8>>, env: Vec<Vec<u8>>, cwd: Vec<u8>) -> io::Result<Self> {
        let argv = c_strings(argv)?;
        let env = c_strings(env)?;
        let programs = candidates(argv[0].as_bytes(), &env)?;
        Ok(Self {
            argv,
            env,
            cwd: c_string(cwd)?,
            umask: 0o022,
            nofile: crate::descriptors::limit(),
            rlimits: Vec::new(),
            programs,
        })
    }

    /// Returns the plan with the caller's file mode creation mask and limits of open descriptors.
    #[must_use]
    pub fn with(self, umask: u32, nofile: (u64, u64)) -> Self {
        Self { umask, nofile, ..self }
    }

    /// Returns the plan with limits for each process.
    #[must_use]
    pub fn bounded(self, rlimits: &[(Rlimit, u64)]) -> Self {
        let rlimits = rlimits.iter().map(|&(limit, value)| (resource(limit), value)).collect();
        Self { rlimits, ..self }
    }

    /// Returns the absolute path of the file that will probably be executed; `None` if none is found now.
    pub fn executable(&self) -> Option<String> {
        use rustix::fs::{Access, access};
        let is_executable = |path: &PathBuf| path.is_file() && access(path, Access::EXEC_OK).is_ok();
        let found = self.programs.iter().map(|program| self.resolve(program)).find(is_executable)?;
        found.is_absolute().then(|| found.to_string_lossy().into_owned())
    }

    /// Explains a failed step to people.
    fn explain(&self, failure: Failure) -> SpawnError {
        let Failure { step, errno } = failure;
        let program = String::from_utf8_lossy(self.argv[0].as_bytes());
        let cwd = String::from_utf8_lossy(self.cwd.as_bytes());
        let word = io::Error::from(errno);
        let mut not_found = false;
        let detail = match (step, errno) {
            (Step::Chdir, _) => format!("cannot enter the working directory {cwd}: {}", bare(&word)),
            (Step::Exec, Errno::NOENT) if self.some_program_exists() => {
                format!("cannot execute {program}: the interpreter that it names does not exist")
            }
            (Step::Exec, Errno::NOENT | Errno::NOTDIR) => {
                not_found = true;
                format!("command not found: {program}")
            }
            (Step::Exec, Errno::ACCESS) if self.is_directory() => {
                format!("cannot execute {program}: it is a directory")
            }
            (Step::Exec, Errno::TOOBIG) => {
                format!(
                    "cannot execute {program}: its arguments and environment are too long for this system"
                )
            }
            (Step::Exec, _) => format!("cannot execute {program}: {}", bare(&word)),
            (Step::Limits, _) => format!("cannot set the limits of the process: {}", bare(&word)),
            (Step::Session | Step::Terminal | Step::Stdio | Step::Parent, _) => {
                format!("cannot set up the process ({step:?}): {}", bare(&word))
            }
        };
        SpawnError { detail, not_found }
    }

    fn some_program_exists(&self) -> bool {
        self.programs.iter().any(|program| self.resolve(program).exists())
    }

    fn is_directory(&self) -> bool {
        self.programs.iter().any(|program| self.resolve(program).is_dir())
    }

    fn resolve(&self, program: &CString) -> PathBuf {
        let path = |text: &CString| Path::new(OsStr::from_bytes(text.as_bytes())).to_owned();
        path(&self.cwd).join(path(program))
    }
}

/// Returns the system's text of an error, without its number.
fn bare(error: &io::Error) -> String {
    let text = error.to_string();
    let bare = text.split(" (os error").next().unwrap_or(&text);
    bare.to_lowercase()
}

fn c_string(bytes: Vec<u8>) -> io::Result<CString> {
    CString::new(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))
}

fn c_strings(list: Vec<Vec<u8>>) -> io::Result<Vec<CString>> {
    list.into_iter().map(c_string).collect()
}

/// Returns the files that a program's name may mean: itself if it has a slash, else one for each directory of the
/// run's own `PATH`.
fn candidates(program: &[u8], env: &[CString]) -> io::Result<Vec<CString>> {
    if program.contains(&b'/') {
        return Ok(vec![c_string(program.to_vec())?]);
    }
    let path = env.iter().rev().find_map(|entry| entry.as_bytes().strip_prefix(b"PATH="));
    let path = path.unwrap_or(b"/usr/local/bin:/usr/bin:/bin");
    path.split(|&b| b == b':')
        .map(|dir| {
            let dir = if dir.is_empty() { b"." } else { dir };
            c_string([dir, b"/", program].concat())
        })
        .collect()
}

fn resource(limit: Rlimit) -> Resource {
    match limit {
        Rlimit::As => Resource::As,
        Rlimit::Cpu => Resource::Cpu,
        Rlimit::Nproc => Resource::Nproc,
        Rlimit::Fsize => Resource::Fsize,
        Rlimit::Nofile => Resource::Nofile,
        Rlimit::Core => Resource::Core,
        Rlimit::Stack => Resource::Stack,
        Rlimit::Memlock => Resource::Memlock,
    }
}

/// The steps of a root before it executes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Session = 1,
    Terminal = 2,
    Stdio = 3,
    Parent = 4,
    Chdir = 5,
    Exec = 6,
    Limits = 7,
}

/// A step that failed, as the root reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) step: Step,
    pub(crate) errno: Errno,
}

impl Failure {
    pub(crate) fn encode(self) -> [u8; 8] {
        let mut bytes = [0; 8];
        bytes[0] = self.step as u8;
        bytes[4..].copy_from_slice(&self.errno.raw_os_error().to_ne_bytes());
        bytes
    }

    fn decode(bytes: [u8; 8]) -> Self {
        let [step, _, _, _, a, b, c, d] = bytes;
        let step = match step {
            1 => Step::Session,
            2 => Step::Terminal,
            3 => Step::Stdio,
            4 => Step::Parent,
            5 => Step::Chdir,
            7 => Step::Limits,
            _ => Step::Exec,
        };
        Self { step, errno: Errno::from_raw_os_error(i32::from_ne_bytes([a, b, c, d])) }
    }
}

impl From<rustix::io::Errno> for NoRoot {
    fn from(error: rustix::io::Errno) -> Self {
        Self::System(error.into())
    }
}

/// A forked root that waits at the gate. Dropping it unopened ends the root before it executes anything.
#[derive(Debug)]
pub struct Gated {
    root: Root,
    gate: OwnedFd,
    report: OwnedFd,
}

/// The report of a root that was let through the gate: it ends when the command executes.
#[derive(Debug)]
pub struct Report {
    pipe: OwnedFd,
}

/// Forks the root into its own session and group, inside the enclosure if there is one. It waits at the gate.
pub fn start_root(
    alone: &SingleThread,
    plan: &Plan,
    stdio: &Stdio,
    enclosure: Option<&Enclosure>,
) -> Result<Gated, NoRoot> {
    let (gate_read, gate_write) = system::pipe()?;
    let (report_read, report_write) = system::pipe()?;
    let child = Child::prepare(plan, stdio, (&gate_read, &gate_write), &report_write)?;
    let root = system::fork_root(alone, &child, enclosure)?;
    rustix::io::ioctl_fionbio(&report_read, true)?;
    Ok(Gated { root, gate: gate_write, report: report_read })
}

impl Gated {
    /// Returns the root, which has not executed anything yet.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// Ends the root before it executes anything, and frees its pid.
    pub fn abandon(self) {
        drop(self.gate);
        self.root.end();
    }

    /// Opens the gate.
    pub fn release(self) -> io::Result<(Root, Report)> {
        rustix::io::write(&self.gate, &[1])?;
        Ok((self.root, Report { pipe: self.report }))
    }
}

impl Report {
    /// Reads the report, without blocking.
    pub fn read(&self, plan: &Plan) -> Outcome {
        let mut bytes = [0; 8];
        match rustix::io::read(&self.pipe, &mut bytes) {
            Ok(8) => Outcome::Failed(plan.explain(Failure::decode(bytes))),
            Err(Errno::AGAIN | Errno::INTR) => Outcome::Pending,
            // End of file: the execution closed the pipe, or the root died first, which its exit will tell.
            Ok(_) | Err(_) => Outcome::Executes,
        }
    }
}

impl AsFd for Report {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn executable(program: &str, path: &str, cwd: &Path) -> Option<String> {
        let env = vec![format!("PATH={path}").into_bytes()];
        let cwd = cwd.as_os_str().as_bytes().to_vec();
        Plan::new(vec![program.as_bytes().to_vec()], env, cwd).expect("a plan").executable()
    }

    #[test]
    fn the_executable_is_the_first_on_the_path_that_can_be_executed() {
        let dir = tempfile::tempdir().expect("a directory");
        for (name, mode) in [("one", 0o644), ("two", 0o755)] {
            let below = dir.path().join(name);
            std::fs::create_dir_all(below.join("tool")).expect("a directory named like a program");
            std::fs::write(below.join("prog"), "").expect("a file");
            std::fs::set_permissions(below.join("prog"), PermissionsExt::from_mode(mode)).expect("chmod");
        }
        let path = format!("/nowhere:{0}/one:two", dir.path().display());
        let two = dir.path().join("two/prog").to_str().map(str::to_owned);
        assert_eq!(executable("prog", &path, dir.path()), two);
        assert_eq!(
            executable("./prog", "", &dir.path().join("two")).as_deref(),
            Some(&*format!("{}/two/./prog", dir.path().display()))
        );
        assert_eq!(executable("tool", &path, dir.path()), None, "a directory is no program");
        assert_eq!(
            executable("prog", "two", Path::new("relative")),
            None,
            "no path that means anything later"
        );
    }
}
