//! Records from before leases. They know a pid and a command, and neither proves anything alone: the rules fail closed,
//! and who is not verified is left alone. To be removed when no such record is left.

use super::verdict::{Doubt, Lost, Settled, Verdict};
use super::{Leftovers, RootEvidence};

/// What a legacy record needs its live process to agree with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// It was started by a generated wrapper: the live one lies below the wrapper root of this installation.
    Wrapper(Agreement),
    /// It was started as it is: the live command is the recorded one.
    Command(Agreement),
}

/// How a live process compares with what a record claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Agreement {
    /// It agrees.
    Agrees,
    /// It does not.
    Differs,
    /// It cannot be told.
    Unreadable(String),
}

/// The verdict on a legacy record that no keeper and no nursery answers for. Without a lease nothing but the root can
/// be verified, so leftovers are never ended.
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

/// Whether a live command is the recorded one. Records quote for the shell and live commands do not, so the words are
/// compared, all of them; a line that is no list of words agrees with nothing.
pub fn command_agrees(recorded: &str, live: &[String]) -> Agreement {
    words(recorded).map_or(Agreement::Differs, |words| words_agree(&words, live))
}

/// The same of a record that knows the words themselves.
pub fn words_agree(recorded: &[String], live: &[String]) -> Agreement {
    if !recorded.is_empty() && recorded == live { Agreement::Agrees } else { Agreement::Differs }
}

/// Whether a live program lies below a wrapper root, by whole path components and without a way back up.
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

/// The words of a line as a shell reads them, without any expansion; `None` if a quote is left open.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        c => word.push(c),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '"' => break,
                        '\\' => {
                            // Inside double quotes a backslash is itself before anything but these.
                            if !matches!(chars.peek()?, '"' | '\\' | '$' | '`') {
                                word.push('\\');
                            }
                            word.push(chars.next()?);
                        }
                        c => word.push(c),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(chars.next()?),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
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
