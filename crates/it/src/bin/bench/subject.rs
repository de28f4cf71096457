//! The static program that is measured, compiled when the benchmark runs, and a directory to work in: raw and
//! supervised output go to the same file system. It lies apart from the build directory: ext4 without a journal checks
//! every file that was removed nearby in the last minutes before it makes one, 50 times slower than usual.

use rustix::fs::{FileType, Mode, OFlags};
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program, the directory, and the environment for both ways of starting it.
pub(crate) struct Subject {
    pub(crate) program: PathBuf,
    pub(crate) env: Vec<Vec<u8>>,
    dir: tempfile::TempDir,
}

impl Subject {
    /// Compiles the program.
    #[expect(clippy::disallowed_methods, reason = "the compiler, once, before anything is measured")]
    pub(crate) fn build() -> io::Result<Self> {
        let dir = tempfile::Builder::new().prefix("bench-").tempdir()?;
        let (source, program) = (dir.path().join("subject.c"), dir.path().join("subject"));
        std::fs::write(&source, include_str!("subject.c"))?;
        let built = Command::new("cc").args(["-static", "-O2", "-o"]).arg(&program).arg(&source).status()?;
        if !built.success() {
            return Err(io::Error::other("cc -static could not compile the measured program"));
        }
        let entry = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            [name.as_bytes(), b"=", value.as_bytes()].concat()
        };
        Ok(Self { program, env: std::env::vars_os().map(entry).collect(), dir })
    }

    /// The directory for files.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The program with these arguments.
    pub(crate) fn words(&self, args: &[&str]) -> Vec<Vec<u8>> {
        let program = self.program.clone().into_os_string().into_vec();
        [program].into_iter().chain(args.iter().map(|arg| arg.as_bytes().to_vec())).collect()
    }
}

/// A FIFO and its non-blocking reading end.
pub(crate) struct Fifo {
    pub(crate) path: String,
    pub(crate) end: File,
}

impl Fifo {
    /// Makes a FIFO. With `held`, a writing end stays open with it, so that it never hangs up.
    pub(crate) fn make(dir: &Path, name: &str, held: bool) -> io::Result<Self> {
        let path = dir.join(name);
        rustix::fs::mknodat(rustix::fs::CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
        let access = if held { OFlags::RDWR } else { OFlags::RDONLY | OFlags::NONBLOCK };
        let end = rustix::fs::open(&path, access | OFlags::CLOEXEC, Mode::empty())?.into();
        let path = path.into_os_string().into_string();
        Ok(Self { path: path.map_err(|_| io::Error::other("a path that is not UTF-8"))?, end })
    }
}

/// Converts words to C strings.
pub(crate) fn c_strings(words: &[Vec<u8>]) -> io::Result<Vec<CString>> {
    words.iter().map(|word| CString::new(word.clone()).map_err(io::Error::other)).collect()
}
