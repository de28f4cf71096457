use std::process::{Child, Command, Stdio};

/// Starts a shell command; dropping it kills the shell.
#[expect(clippy::disallowed_methods, reason = "a test starts a process to look at")]
pub(super) fn shell(script: &str) -> Shell {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
    Shell(command.spawn().expect("sh starts"))
}

/// Creates a named pipe.
pub(super) fn make_pipe(path: &std::path::Path) {
    assert!(shell(&format!("mkfifo '{}'", path.display())).0.wait().expect("it ends").success());
}

pub(super) struct Shell(pub(super) Child);

impl Shell {
    pub(super) fn pid(&self) -> i32 {
        self.0.id().cast_signed()
    }

    /// Waits until the shell has printed a line.
    #[cfg(target_os = "linux")]
    pub(super) fn line(&mut self) -> String {
        use std::io::Read;
        let out = self.0.stdout.as_mut().expect("piped");
        let mut line = String::new();
        let mut byte = [0];
        while out.read(&mut byte).expect("it prints") == 1 && byte[0] != b'\n' {
            line.push(char::from(byte[0]));
        }
        line
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
