//! Commands as channels: the process to start, and the delivery result of its exit. The notifier runs it as a run, so
//! that all its processes end at the time limit.

use crate::channel::Command;
use crate::delivery::Delivery;
use crate::message::{BadMessage, Message};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Maximum length of the output's end that is read for the error, in bytes.
pub const OUTPUT_BYTES: usize = 4 << 10;

/// `EX_TEMPFAIL` of sysexits: the command asks for a retry.
const TEMPORARY: i32 = 75;

/// Process to start: a program without a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandStart {
    /// The program, as a name to look for or an absolute path, and its arguments.
    pub argv: Vec<String>,
    /// The working directory; `None`: that of the daemon's runs.
    pub cwd: Option<PathBuf>,
    /// Variables to set.
    pub env: BTreeMap<String, String>,
    /// The whole stdin: the notice's JSON and a newline.
    pub stdin: Vec<u8>,
    /// Time limit.
    pub timeout: Duration,
}

/// Returns the process that delivers this message.
pub fn start_of(command: &Command, message: &Message) -> Result<CommandStart, BadMessage> {
    let mut stdin = message.body()?;
    stdin.push(b'\n');
    let Command { argv, cwd, env, timeout } = command.clone();
    Ok(CommandStart { argv, cwd, env, stdin, timeout })
}

/// Returns the delivery result for the command's exit. The end of its output becomes part of the error.
pub fn delivery_of(exit: Option<i32>, signal: Option<i32>, timed_out: bool, stderr_tail: &str) -> Delivery {
    let why = |what: String| {
        let tail = tail(stderr_tail);
        if tail.trim().is_empty() { what } else { format!("{what}: {tail}") }
    };
    match (timed_out, signal, exit) {
        (true, _, _) => Delivery::try_again(why("the command exceeded its time limit".to_owned())),
        (false, Some(signal), _) => {
            Delivery::try_again(why(format!("the command was killed by signal {signal}")))
        }
        (false, None, None) => Delivery::try_again(why("the exit of the command is unknown".to_owned())),
        (false, None, Some(0)) => Delivery::Accepted,
        (false, None, Some(TEMPORARY)) => {
            Delivery::try_again(why(format!("the command exited with {TEMPORARY}, which requests a retry")))
        }
        (false, None, Some(code)) => Delivery::given_up(why(format!(
            "the command exited with {code} (only exit code {TEMPORARY} requests a retry)"
        ))),
    }
}

/// Returns the end of a text, where the reason usually is.
fn tail(text: &str) -> &str {
    const CHARS: usize = 240;
    let text = text.trim_end();
    text.char_indices().rev().nth(CHARS - 1).map_or(text, |(at, _)| &text[at..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_an_exit_of_0_is_an_acceptance() {
        let again = |exit, signal, timed_out| {
            matches!(delivery_of(exit, signal, timed_out, ""), Delivery::TryAgain { .. })
        };
        assert_eq!(delivery_of(Some(0), None, false, "a warning"), Delivery::Accepted);
        assert!(again(Some(75), None, false));
        assert!(again(None, Some(9), false));
        assert!(again(None, Some(15), true));
        assert!(again(Some(0), None, true));
        assert!(again(None, None, false));
        for code in [1, 2, 74, 76, 126, 127, 255, -1] {
            assert!(matches!(delivery_of(Some(code), None, false, ""), Delivery::GivenUp { .. }), "{code}");
        }
    }

    #[test]
    fn the_reason_ends_with_what_was_written_last() {
        let noise = "noise\n".repeat(10_000);
        let Delivery::GivenUp { why } =
            delivery_of(Some(3), None, false, &format!("{noise}\u{1b}[1mno such room\n"))
        else {
            panic!("3 is no acceptance")
        };
        assert!(why.starts_with("the command exited with 3"), "{why}");
        assert!(why.ends_with(" [1mno such room") && why.chars().count() < 340, "{why}");
        assert_eq!(delivery_of(Some(3), None, false, " \n"), delivery_of(Some(3), None, false, ""));
    }

    #[test]
    fn a_command_gets_the_notice_on_its_standard_input_and_nothing_of_it_in_its_arguments() {
        let command = Command {
            argv: vec!["tell".into(), "$(touch x)".into()],
            cwd: Some("/srv".into()),
            env: BTreeMap::from([("A".into(), "1".into())]),
            timeout: Duration::from_secs(7),
        };
        let message = Message {
            key: "k1".into(),
            created_at_ms: 0,
            kind: "task.failed".into(),
            text: "a\nb".into(),
            payload: json!({}),
        };
        let start = start_of(&command, &message).unwrap();
        assert_eq!((&start.argv, &start.cwd, &start.env), (&command.argv, &command.cwd, &command.env));
        assert_eq!(start.timeout, command.timeout);
        assert_eq!(start.stdin.strip_suffix(b"\n"), Some(&*message.body().unwrap()));
        assert_eq!(start.stdin.iter().position(|byte| *byte == b'\n'), Some(start.stdin.len() - 1));
        assert!(super::start_of(&command, &Message { key: String::new(), ..message }).is_err());
    }
}
