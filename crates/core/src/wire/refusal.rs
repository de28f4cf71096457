//! The refusals that have a meaning for the refused program. On the wire there is only their text, and keepers of
//! every version send it: each is frozen, and is beside the function that recognises it.

use super::VERSION;

const SPEAKS: &str = "this keeper speaks version ";
const TAKEN_OVER: &str = "the lease was taken over at epoch ";
const OVER: &str = " is over: the lease is at ";
const NOT_ENTITLED: &str = "this run belongs to another installation";
const STILL_HELD: &str = "the present holder's lease stands";

/// The refusal of a hello in a version that this keeper does not know. The client may try an older one.
pub fn other_version(theirs: u32) -> String {
    format!("{SPEAKS}{VERSION} of its wire, not {theirs}")
}

/// Returns true for that refusal, by a keeper of any version.
pub fn is_other_version(why: &str) -> bool {
    why.starts_with(SPEAKS)
}

/// The refusal of a holder with an older epoch than the lease has (I5).
pub fn epoch_over(epoch: u64, current: u64) -> String {
    format!("epoch {epoch}{OVER}{current}")
}

/// Reads the lease's epoch from a refusal, if it names one.
pub fn current_epoch(why: &str) -> Option<u64> {
    why.strip_prefix("epoch ")?.split_once(OVER)?.1.parse().ok()
}

/// The message to a holder when another one comes with a newer epoch (I5).
pub fn taken_over(epoch: u64) -> String {
    format!("{TAKEN_OVER}{epoch}")
}

/// The refusal of a holder that has neither the run's instance nor its registry: a copy, or a stranger.
pub fn not_entitled() -> String {
    format!("{NOT_ENTITLED}, and is held only by that one or by a daemon that shares its registry")
}

/// The refusal of a daemon that asks for a run that its present holder keeps.
pub fn still_held() -> String {
    STILL_HELD.to_owned()
}

/// Returns true if a refusal is one of the two above: the run is not ours to hold now.
pub fn is_not_handed_over(why: &str) -> bool {
    why.starts_with(NOT_ENTITLED) || why.starts_with(STILL_HELD)
}

/// Returns true for a refusal that means that another holder has the lease.
pub fn is_lease_lost(why: &str) -> bool {
    why.starts_with(TAKEN_OVER) || why.strip_prefix("epoch ").is_some_and(|rest| rest.contains(OVER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_side_says_the_other_recognises() {
        assert!(is_other_version(&other_version(9)));
        assert!(is_lease_lost(&epoch_over(1, 2)) && is_lease_lost(&taken_over(2)));
        assert_eq!((current_epoch(&epoch_over(1, 20)), current_epoch(&taken_over(2))), (Some(20), None));
        assert!(is_not_handed_over(&not_entitled()) && is_not_handed_over(&still_held()));
        assert!(!is_lease_lost(&not_entitled()) && !is_not_handed_over(&taken_over(2)));
        for other in [epoch_over(1, 2), taken_over(2), "hello was said already".to_owned()] {
            assert!(!is_other_version(&other), "{other}");
        }
        for other in [&other_version(9), "the run is exiting", "no such epoch", "unknown variant `epoch`"] {
            assert!(!is_lease_lost(other), "{other}");
        }
    }

    #[test]
    fn the_texts_are_those_that_every_keeper_said() {
        assert_eq!(other_version(9), format!("this keeper speaks version {VERSION} of its wire, not 9"));
        assert_eq!(epoch_over(1, 2), "epoch 1 is over: the lease is at 2");
        assert_eq!(taken_over(2), "the lease was taken over at epoch 2");
        assert!(
            is_other_version("this keeper speaks version 1 of its wire, not 2"),
            "as the first version did"
        );
    }
}
