//! Screens: of a run's terminal, and of a person who is attached to it.

use crate::eventually;
use crate::install::Install;
use crate::terminal::Terminal;
use serde_json::Value;

impl Install {
    /// The output of `tenure screen`.
    #[track_caller]
    pub fn screen(&self, id: &str) -> Value {
        let output = self.tenure(&["screen", "--json", id]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// Its lines, without the empty ones at the end.
    #[track_caller]
    pub fn lines(&self, id: &str) -> Vec<String> {
        trimmed(lines_of(&self.screen(id)))
    }

    /// Waits until the screen satisfies `wanted`.
    #[track_caller]
    pub fn wait_for_screen(&self, id: &str, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        let deadline = std::time::Instant::now() + crate::WAIT_LIMIT;
        while std::time::Instant::now() < deadline {
            last = self.screen(id);
            if wanted(&last) {
                return last;
            }
        }
        panic!("no {what} on the screen: {last:#}");
    }

    /// Waits until a line of the screen is this.
    #[track_caller]
    pub fn wait_for_line(&self, id: &str, line: &str) {
        self.wait_for_screen(id, line, |screen| lines_of(screen).iter().any(|found| found == line));
    }

    /// Runs `tenure`, which must succeed.
    #[track_caller]
    pub fn expect_ok(&self, args: &[&str]) {
        let output = self.tenure(args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// The lines of a screen.
pub fn lines_of(screen: &Value) -> Vec<String> {
    let lines = screen["lines"].as_array().expect("lines");
    lines.iter().map(|line| line.as_str().expect("text").to_owned()).collect()
}

fn trimmed(mut lines: Vec<String>) -> Vec<String> {
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

/// The screen of a terminal of this size after these bytes.
pub fn seen(terminal: &Terminal, cols: u16, rows: u16) -> vt100::Parser {
    let size = |number: u16| number.try_into().expect("a size");
    let mut eyes = vt100::Parser::new(size(rows), size(cols), 0);
    eyes.process(terminal.screen().as_bytes());
    eyes
}

/// Waits until a person's screen equals the run's.
#[track_caller]
pub fn wait_until_seen(install: &Install, id: &str, terminal: &Terminal, cols: u16, rows: u16) {
    eventually("the viewer sees what the run shows", || {
        let eyes = seen(terminal, cols, rows);
        let lines = eyes.screen().rows(0, cols).map(|line| line.trim_end().to_owned()).collect();
        let screen = install.screen(id);
        let (row, col) = eyes.screen().cursor_position();
        let cursor = (screen["cursor"]["row"] == row) && (screen["cursor"]["col"] == col.min(cols - 1));
        (trimmed(lines) == trimmed(lines_of(&screen)) && cursor).then_some(())
    });
}
