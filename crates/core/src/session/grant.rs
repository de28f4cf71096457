//! Limits on the permissions of spawned agents: a session never grants more than it has itself.

use super::words::Permissions;
use crate::policy::{Ask, Mode};

/// Modes in which agents ask before they act, or do not act at all.
const CAUTIOUS_MODES: [&str; 6] = ["ask", "default", "plan", "read-only", "read_only", "readonly"];
/// Options that do not affect whether an agent asks.
const HARMLESS_OPTIONS: [&str; 6] =
    ["effort", "model", "reasoning", "reasoning_effort", "thinking", "thought_level"];

impl Permissions {
    /// Returns true if these permissions allow nothing beyond `limit`. `ask` and `approve-reads` are not within each
    /// other: the one lets a person allow everything, the other allows some of it without a person.
    pub fn is_within(self, limit: Self) -> bool {
        self == limit || self == Self::DenyAll || limit == Self::ApproveAll
    }

    /// Returns the most permissive value that is within both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self.is_within(other), other.is_within(self)) {
            (true, _) => self,
            (false, true) => other,
            (false, false) => Self::DenyAll,
        }
    }

    /// Returns the permissions that correspond to an exec policy.
    pub fn of_exec(mode: Mode, ask: Ask) -> Self {
        match (mode, ask) {
            (Mode::Deny, _) => Self::DenyAll,
            (Mode::Full, Ask::Off | Ask::OnMiss) => Self::ApproveAll,
            (Mode::Full, Ask::Always) | (Mode::Allowlist | Mode::Ask, _) => Self::Ask,
        }
    }

    /// Returns the permissions to record for a new session: the requested ones, if they are within the limit. Without a
    /// request, none if the usual ones are within the limit, otherwise the limit. The error is the request.
    pub fn grant(asked: Option<Self>, usual: Self, limit: Self) -> Result<Option<Self>, Self> {
        match asked {
            Some(asked) if asked.is_within(limit) => Ok(Some(asked)),
            Some(asked) => Err(asked),
            None => Ok((!usual.is_within(limit)).then_some(limit)),
        }
    }
}

/// Returns true if an agent asks before it acts in this mode, judged by its name. An unknown mode may do anything.
pub fn is_cautious_mode(mode: &str) -> bool {
    CAUTIOUS_MODES.contains(&mode.to_ascii_lowercase().as_str())
}

/// Returns true if an option does not affect whether the agent asks, or makes it ask.
pub fn is_harmless_option(option: &str, value: &str) -> bool {
    HARMLESS_OPTIONS.contains(&option.to_ascii_lowercase().as_str()) || is_cautious_mode(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Permissions::{ApproveAll, ApproveReads, Ask as AskSomebody, DenyAll};

    #[test]
    fn at_most_is_an_order_with_a_most_and_a_least() {
        let all = Permissions::ALL;
        for &a in all {
            assert!(a.is_within(a) && DenyAll.is_within(a) && a.is_within(ApproveAll), "{a}");
            for &b in all {
                assert!(!(a.is_within(b) && b.is_within(a)) || a == b, "{a} {b}");
                let both = a.and(b);
                assert!(both.is_within(a) && both.is_within(b) && both == b.and(a), "{a} {b}");
                for &c in all {
                    assert!(!(a.is_within(b) && b.is_within(c)) || a.is_within(c), "{a} {b} {c}");
                    assert!(!(c.is_within(a) && c.is_within(b)) || c.is_within(both), "{a} {b} {c}");
                }
            }
        }
        assert!(!AskSomebody.is_within(ApproveReads) && !ApproveReads.is_within(AskSomebody));
    }

    #[test]
    fn nobody_gives_more_than_the_exec_policy() {
        for (mode, ask, limit) in [
            (Mode::Deny, Ask::Off, DenyAll),
            (Mode::Deny, Ask::Always, DenyAll),
            (Mode::Allowlist, Ask::Off, AskSomebody),
            (Mode::Ask, Ask::Off, AskSomebody),
            (Mode::Full, Ask::Always, AskSomebody),
            (Mode::Full, Ask::OnMiss, ApproveAll),
            (Mode::Full, Ask::Off, ApproveAll),
        ] {
            assert_eq!(Permissions::of_exec(mode, ask), limit, "{mode:?} {ask:?}");
        }
    }

    #[test]
    fn too_much_is_refused_and_the_usual_is_lowered() {
        assert_eq!(Permissions::grant(Some(ApproveAll), ApproveReads, AskSomebody), Err(ApproveAll));
        assert_eq!(Permissions::grant(Some(DenyAll), ApproveReads, AskSomebody), Ok(Some(DenyAll)));
        assert_eq!(Permissions::grant(None, ApproveReads, AskSomebody), Ok(Some(AskSomebody)));
        assert_eq!(Permissions::grant(None, ApproveReads, DenyAll), Ok(Some(DenyAll)));
        assert_eq!(Permissions::grant(None, ApproveReads, ApproveAll), Ok(None));
    }

    #[test]
    fn a_mode_that_nobody_knows_may_do_anything() {
        assert!(
            is_cautious_mode("plan")
                && is_harmless_option("model", "big")
                && is_harmless_option("mode", "ask")
        );
        for mode in ["bypassPermissions", "yolo", "acceptEdits", "code", ""] {
            assert!(!is_cautious_mode(mode) && !is_harmless_option("mode", mode), "{mode}");
        }
    }
}
