//! Records from before leases. They have a pid and a command, and neither proves anything alone: the rules fail
//! closed, and an unverified process is left alone. To be removed when no such record is left.

use super::verdict::{Doubt, Lost, Settled, Verdict};
use super::{Leftovers, RootEvidence};

/// The part of a legacy record that its live process must agree with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// The wrapper: a generated wrapper started the process, so its executable must lie below the wrapper root of
    /// this installation.
    Wrapper(Agreement),
    /// The command: the process was started directly, so its command must be the recorded one.
    Command(Agreement),
}

/// The comparison of a live process with its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Agreement {
    /// Both agree.
    Agrees,
    /// They differ.
    Differs,
    /// The process cannot be read.
    Unreadable(String),
}

/// Returns the verdict on a legacy record that no keeper and no nursery answers for. Without a lease only the root
/// can be verified, so leftovers are never ended.
pub(super) fn decide(claim: &Claim, root: &RootEvidence, leftovers: &Leftovers) -> Verdict {
    let lost = |why| Verdict::CloseAsLost { steal: false, why, leftovers: 0 };
    let held = match root {
        RootEvidence::Same(held) => held,
        RootEvidence::Other => return lost(Lost::PidReused),
        RootEvidence::Gone => return lost(Lost::ProcessesGone),
        RootEvidence::Rebooted => return lost(Lost::Rebooted),
        RootEvidence::NoIdentity => return lost(Lost::NeverRecorded),
        RootEvidence::Unreadable(why) => {
            return Verdict::RetryLater { why: Doubt::RootUnreadable(why.clone()) };
        }
    };
    let (Claim::Wrapper(agreement) | Claim::Command(agreement)) = claim;
    match (agreement, leftovers) {
        (Agreement::Differs, Leftovers::Known(_) | Leftovers::Unreadable(_)) => {
            Verdict::Leave { why: Settled::LegacyUnverified }
        }
        (Agreement::Unreadable(why), Leftovers::Known(_) | Leftovers::Unreadable(_)) => {
            Verdict::RetryLater { why: Doubt::LegacyUnreadable(why.clone()) }
        }
        (Agreement::Agrees, Leftovers::Unreadable(why)) => {
            Verdict::RetryLater { why: Doubt::TreeUnreadable(why.clone()) }
        }
        (Agreement::Agrees, Leftovers::Known(_)) => Verdict::EndTree { steal: false, root: held.clone() },
    }
}

/// Compares a live command with the recorded one. Records are quoted for the shell and live commands are not, so
/// all the words are compared; a line that is no list of words agrees with nothing.
pub fn command_agrees(recorded: &str, live: &[String]) -> Agreement {
    shlex::split(recorded).map_or(Agreement::Differs, |words| words_agree(&words, live))
}

/// Compares a live command with a record that has the words themselves.
pub fn words_agree(recorded: &[String], live: &[String]) -> Agreement {
    if !recorded.is_empty() && recorded == live { Agreement::Agrees } else { Agreement::Differs }
}

/// Returns true if a live program lies below a wrapper root, by whole path components and without a way back up.
pub fn wrapper_agrees(wrapper_root: &str, live_program: &str) -> Agreement {
    let root = wrapper_root.trim_end_matches('/');
    let absolute = root.starts_with('/');
    let below = live_program.strip_prefix(root).and_then(|rest| rest.strip_prefix('/'));
    match below {
        Some(rest) if absolute && rest.split('/').all(|part| !matches!(part, "" | "." | "..")) => {
            Agreement::Agrees
        }
        Some(_) | None => Agreement::Differs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(words: &[&str]) -> Vec<String> {
        words.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_quoted_command_agrees_with_the_same_words_unquoted() {
        let words = live(&["node", "/opt/my adapter/run.mjs", "it's", "a\"b"]);
        for recorded in [
            r#"node '/opt/my adapter/run.mjs' 'it'\''s' "a\"b""#,
            r#"node  /opt/my\ adapter/run.mjs "it's" 'a"b'"#,
        ] {
            assert_eq!(command_agrees(recorded, &words), Agreement::Agrees, "{recorded}");
        }
    }

    #[test]
    fn a_command_that_differs_in_any_word_does_not_agree() {
        for recorded in
            ["node run.mjs", "node run.mjs --x --y", "node 'run.mjs --x'", "node 'run.mjs --x", ""]
        {
            assert_eq!(
                command_agrees(recorded, &live(&["node", "run.mjs", "--x"])),
                Agreement::Differs,
                "{recorded}"
            );
        }
        assert_eq!(command_agrees("", &[]), Agreement::Differs, "nothing is no command");
    }

    #[test]
    fn a_wrapper_lies_below_its_root_by_whole_names() {
        for (root, program, agrees) in [
            ("/state/a", "/state/a/wrap/x.mjs", true),
            ("/state/a/", "/state/a/x.mjs", true),
            ("/state/a", "/state/ab/x.mjs", false),
            ("/state/a", "/state/a/../b/x.mjs", false),
            ("/state/a", "/state/a", false),
            ("", "/state/a/x.mjs", false),
            ("/", "/x.mjs", false),
        ] {
            let expected = if agrees { Agreement::Agrees } else { Agreement::Differs };
            assert_eq!(wrapper_agrees(root, program), expected, "{program} below {root}");
        }
    }
}
