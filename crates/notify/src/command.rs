//! A command that is told: what is to be started, and what its end means. Whoever runs it holds its whole tree, and ends
//! it at the deadline.

use crate::channel::Command;
use crate::delivered::Delivered;
use crate::message::{BadMessage, Message};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// How much of its output is worth keeping for the reason, in bytes, from the end.
pub const OUTPUT_BYTES: usize = 4 << 10;

/// `EX_TEMPFAIL` of sysexits: "try again".
const TEMPORARY: i32 = 75;

/// What is to be started: a program by itself, without a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The program, as a name to look for or an absolute path, and its arguments.
    pub argv: Vec<String>,
    /// Where it starts; `None`: wherever the daemon's runs do.
    pub cwd: Option<PathBuf>,
    /// Variables to set.
    pub env: BTreeMap<String, String>,
    /// Its whole standard input: the notice's JSON and a line's end.
    pub stdin: Vec<u8>,
    /// How long it may take.
    pub timeout: Duration,
}

/// What is to be started so that this is told.
pub fn plan(command: &Command, message: &Message) -> Result<Plan, BadMessage> {
    let mut stdin = message.body()?;
    stdin.push(b'\n');
    let Command { argv, cwd, env, timeout } = command.clone();
    Ok(Plan { argv, cwd, env, stdin, timeout })
}

/// What its end means. What it wrote last to its standard error is told with it.
pub fn judge(exit: Option<i32>, signal: Option<i32>, timed_out: bool, stderr_tail: &str) -> Delivered {
    let why = |what: String| {
        let tail = tail(stderr_tail);
        if tail.trim().is_empty() { what } else { format!("{what}: {tail}") }
    };
    match (timed_out, signal, exit) {
        (true, _, _) => Delivered::try_again(why("the command did not end in time".to_owned())),
        (false, Some(signal), _) => {
            Delivered::try_again(why(format!("the command was ended by signal {signal}")))
        }
        (false, None, None) => Delivered::try_again(why("how the command ended is not known".to_owned())),
        (false, None, Some(0)) => Delivered::Accepted,
        (false, None, Some(TEMPORARY)) => {
            Delivered::try_again(why(format!("the command exited with {TEMPORARY}, which is \"try again\"")))
        }
        (false, None, Some(code)) => Delivered::given_up(why(format!(
            "the command exited with {code} (it is tried again only after {TEMPORARY})"
        ))),
    }
}

/// The end of a text, where the reason usually is.
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
            matches!(judge(exit, signal, timed_out, ""), Delivered::TryAgain { .. })
        };
        assert_eq!(judge(Some(0), None, false, "a warning"), Delivered::Accepted);
        assert!(again(Some(75), None, false));
        assert!(again(None, Some(9), false));
        assert!(again(None, Some(15), true));
        assert!(again(Some(0), None, true));
        assert!(again(None, None, false));
        for code in [1, 2, 74, 76, 126, 127, 255, -1] {
            assert!(matches!(judge(Some(code), None, false, ""), Delivered::GivenUp { .. }), "{code}");
        }
    }

    #[test]
    fn the_reason_ends_with_what_was_written_last() {
        let noise = "noise\n".repeat(10_000);
        let Delivered::GivenUp { why } =
            judge(Some(3), None, false, &format!("{noise}\u{1b}[1mno such room\n"))
        else {
            panic!("3 is no acceptance")
        };
        assert!(why.starts_with("the command exited with 3"), "{why}");
        assert!(why.ends_with(" [1mno such room") && why.chars().count() < 340, "{why}");
        assert_eq!(judge(Some(3), None, false, " \n"), judge(Some(3), None, false, ""));
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
        let plan = plan(&command, &message).unwrap();
        assert_eq!((&plan.argv, &plan.cwd, &plan.env), (&command.argv, &command.cwd, &command.env));
        assert_eq!(plan.timeout, command.timeout);
        assert_eq!(plan.stdin.strip_suffix(b"\n"), Some(&*message.body().unwrap()));
        assert_eq!(plan.stdin.iter().position(|byte| *byte == b'\n'), Some(plan.stdin.len() - 1));
        assert!(super::plan(&command, &Message { key: String::new(), ..message }).is_err());
    }
}
