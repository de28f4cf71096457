//! The keeper's rule for handing its run to a daemon that says hello as the holder of the lease. The keeper decides: a
//! registry may be a copy or restored from a backup, but there is only one run.

use crate::ids::{InstanceId, RegistryId};
use crate::wire::Holder;

/// The keeper's knowledge of its run's lease.
#[derive(Debug, Clone, Copy)]
pub struct KeptLease<'a> {
    /// The instance that started the run.
    pub owner: &'a InstanceId,
    /// The registry that recorded the run first, if there is one.
    pub registry: Option<&'a RegistryId>,
    /// The newest epoch that the keeper obeyed.
    pub epoch: u64,
    /// The run's present holder, if one is connected.
    pub present: Option<PresentHolder<'a>>,
}

/// A connected holder.
#[derive(Debug, Clone, Copy)]
pub struct PresentHolder<'a> {
    /// The holder's instance, if its hello named one.
    pub instance: Option<&'a InstanceId>,
    /// True if the holder's wire version has the messages to be asked.
    pub can_answer: bool,
}

/// The keeper's decision on a daemon that asks for the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Handover {
    /// The keeper hands over the run now.
    Now,
    /// The keeper asks the present holder first.
    AskHolder,
    /// The daemon's epoch is older than the lease's (I5).
    EpochOver,
    /// The daemon has neither the run's instance nor its registry.
    NotEntitled,
    /// The present holder keeps the run.
    StillHeld,
}

/// Returns true if a keeper that obeyed `kept` obeys `epoch` (I5). A newer one is obeyed: the steal was committed
/// before it was sent.
fn obeys(kept: u64, epoch: u64) -> bool {
    epoch >= kept
}

/// Chooses the daemon that gets the run when the present holder gives it up or does not answer: the index of the
/// newest epoch among the waiting ones. `None` if the keeper has obeyed a newer one meanwhile.
pub fn next_holder(kept: u64, waiting: &[u64]) -> Option<usize> {
    let newest = *waiting.iter().max()?;
    if obeys(kept, newest) { waiting.iter().position(|&epoch| epoch == newest) } else { None }
}

/// Returns true if a connected holder of `epoch` loses its lease to a hello under `obeyed`: its epoch is older, or
/// it is another instance (I5). The same instance may hold the run on several connections.
pub fn loses_its_lease(epoch: u64, obeyed: u64, is_same_instance: bool) -> bool {
    !obeys(obeyed, epoch) || !is_same_instance
}

/// Decides on a hello with `epoch`. `from` identifies the daemon; older versions do not send it.
pub fn handover(lease: &KeptLease<'_>, epoch: u64, from: Option<&Holder>) -> Handover {
    let Some(from) = from else { return older(lease, epoch) };
    if from.instance_id != *lease.owner && lease.registry != Some(&from.registry_id) {
        return Handover::NotEntitled;
    }
    if !obeys(lease.epoch, epoch) {
        return Handover::EpochOver;
    }
    match lease.present {
        None => Handover::Now,
        // A state root has only one daemon: the one that connects now replaces the one before.
        Some(present) if present.instance == Some(&from.instance_id) => Handover::Now,
        Some(present) if present.can_answer => Handover::AskHolder,
        Some(_) if epoch > lease.epoch => Handover::Now,
        Some(_) => Handover::StillHeld,
    }
}

/// Decides on a hello from an older version, which cannot prove whose daemon it is. Such a daemon gets an unheld run
/// only at exactly the lease's epoch, and takes nothing over from a holder that can answer.
fn older(lease: &KeptLease<'_>, epoch: u64) -> Handover {
    match lease.present {
        _ if !obeys(lease.epoch, epoch) => Handover::EpochOver,
        Some(PresentHolder { can_answer: false, .. }) => Handover::Now,
        Some(_) => Handover::StillHeld,
        None if epoch == lease.epoch => Handover::Now,
        None => Handover::NotEntitled,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instance(n: u8) -> InstanceId {
        InstanceId::from_random([n; 12])
    }

    fn registry(n: u8) -> RegistryId {
        RegistryId::from_random([n; 12])
    }

    fn from(instance_id: InstanceId, registry_id: RegistryId) -> Holder {
        Holder { instance_id, registry_id, lease_ttl_ms: 1 }
    }

    const OWN: u8 = 1;
    const OTHER: u8 = 2;

    fn decide(epoch: u64, from: Option<&Holder>, present: Option<(Option<u8>, bool)>) -> Handover {
        let (owner, kept) = (instance(OWN), registry(OWN));
        let holder = present.map(|(whose, can_answer)| (whose.map(instance), can_answer));
        let present = holder.as_ref().map(|(instance, can_answer)| PresentHolder {
            instance: instance.as_ref(),
            can_answer: *can_answer,
        });
        handover(&KeptLease { owner: &owner, registry: Some(&kept), epoch: 3, present }, epoch, from)
    }

    #[test]
    fn neither_instance_nor_registry_is_refused_always() {
        let stranger = from(instance(OTHER), registry(OTHER));
        for epoch in [0, 3, 4, 99] {
            for present in [None, Some((Some(OWN), true)), Some((Some(OTHER), true)), Some((None, false))] {
                assert_eq!(decide(epoch, Some(&stranger), present), Handover::NotEntitled);
            }
        }
    }

    #[test]
    fn the_runs_own_instance_gets_it_whatever_its_registry() {
        for theirs in [OWN, OTHER] {
            let own = from(instance(OWN), registry(theirs));
            assert_eq!(decide(3, Some(&own), None), Handover::Now);
            assert_eq!(decide(4, Some(&own), Some((Some(OWN), true))), Handover::Now, "it replaces itself");
            assert_eq!(decide(4, Some(&own), Some((Some(OTHER), true))), Handover::AskHolder);
        }
    }

    #[test]
    fn one_that_shares_the_registry_gets_it_after_the_present_holder_was_asked() {
        let sharing = from(instance(OTHER), registry(OWN));
        assert_eq!(decide(4, Some(&sharing), None), Handover::Now);
        assert_eq!(decide(4, Some(&sharing), Some((Some(OWN), true))), Handover::AskHolder);
        assert_eq!(decide(4, Some(&sharing), Some((None, false))), Handover::Now, "as before");
    }

    #[test]
    fn an_older_epoch_is_refused() {
        for who in [Some(from(instance(OWN), registry(OWN))), None] {
            assert_eq!(decide(2, who.as_ref(), None), Handover::EpochOver);
        }
    }

    #[test]
    fn the_newest_epoch_that_waits_gets_the_run_unless_a_newer_one_was_obeyed() {
        assert_eq!(next_holder(3, &[3, 5, 5, 4]), Some(1), "the first of two");
        assert_eq!(next_holder(3, &[3]), Some(0));
        assert_eq!(next_holder(3, &[2, 1]), None);
        assert_eq!(next_holder(3, &[]), None);
    }

    #[test]
    fn a_holder_loses_its_lease_to_a_newer_epoch_and_to_another_instance() {
        assert!(!loses_its_lease(3, 3, true));
        assert!(loses_its_lease(2, 3, true) && loses_its_lease(3, 3, false) && loses_its_lease(2, 3, false));
    }

    #[test]
    fn an_older_daemon_gets_back_only_what_nobody_holds_at_the_epoch_it_left() {
        assert_eq!(decide(3, None, None), Handover::Now);
        assert_eq!(decide(4, None, None), Handover::NotEntitled);
        assert_eq!(decide(4, None, Some((Some(OWN), true))), Handover::StillHeld);
        assert_eq!(decide(4, None, Some((None, false))), Handover::Now);
    }
}
