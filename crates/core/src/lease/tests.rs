//! Scripts for leases; the small worlds are in `worlds`.

mod worlds;

use super::LeaseState::{self, Closed, Closing, Lost, Open};
use super::Rhythm;
use super::{Beat, Observer, Standing, Tenancy};
use crate::ids::InstanceId;
use std::time::Duration;

/// Past every date in these scripts.
const LATE: u64 = 1_000_000;

fn owner() -> InstanceId {
    InstanceId::from_random([1; 12])
}

fn beat(number: u64) -> Beat {
    Beat { number, incarnation: 1, expires_at_ms: 15_000 }
}

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// An observer that saw these heartbeats of the owner at these seconds.
fn saw(looks: &[(u64, Beat)]) -> Observer {
    let mut observer = Observer::new(Rhythm::default());
    for (at, beat) in looks {
        observer.see(&owner(), *beat, s(*at));
    }
    observer
}

#[test]
fn a_lease_state_reads_back_as_it_is_spelled() {
    for state in [Open, Closing, Closed, Lost] {
        let json = serde_json::to_value(state).unwrap();
        assert_eq!(json, state.to_string());
        assert_eq!(serde_json::from_value::<LeaseState>(json).unwrap(), state);
    }
}

#[test]
fn a_heartbeat_that_stood_still_for_a_full_ttl_past_its_date_is_expired() {
    let watched = saw(&[(0, beat(7)), (5, beat(7)), (10, beat(7)), (15, beat(7))]);
    assert!(watched.is_expired(&owner(), LATE, s(15)));
    let expired = watched.expired(&owner(), LATE, s(15)).unwrap();
    assert_eq!((expired.instance(), expired.beat()), (&owner(), beat(7)));
    let shorter = saw(&[(0, beat(7)), (5, beat(7)), (10, beat(7)), (14, beat(7))]);
    assert!(!shorter.is_expired(&owner(), LATE, s(15)), "the last second was not watched");
}

#[test]
fn a_date_that_has_not_passed_is_respected_however_long_the_silence() {
    let watched = saw(&[(0, beat(7)), (5, beat(7)), (10, beat(7)), (15, beat(7))]);
    for wall in [0, 14_999, 15_000] {
        assert!(!watched.is_expired(&owner(), wall, s(15)), "{wall}");
    }
}

#[test]
fn an_observer_that_has_just_started_holds_nobody_for_gone() {
    assert!(!Observer::new(Rhythm::default()).is_expired(&owner(), LATE, s(1000)));
    assert!(!saw(&[(1000, beat(7))]).is_expired(&owner(), LATE, s(1000)));
}

#[test]
fn a_new_heartbeat_or_incarnation_begins_the_count_anew() {
    let reborn = Beat { incarnation: 2, ..beat(7) };
    for renewed in [beat(8), reborn, beat(6)] {
        let watched = saw(&[(0, beat(7)), (5, beat(7)), (10, renewed), (15, renewed), (20, renewed)]);
        assert!(!watched.is_expired(&owner(), LATE, s(20)), "{renewed:?}");
    }
}

#[test]
fn an_observer_that_was_stopped_itself_begins_anew() {
    let stalled = saw(&[(0, beat(7)), (5, beat(7)), (100, beat(7))]);
    assert!(!stalled.is_expired(&owner(), LATE, s(100)));
}

#[test]
fn an_observer_that_has_not_looked_lately_must_look_first() {
    let mut watched = saw(&[(0, beat(7)), (5, beat(7)), (10, beat(7)), (15, beat(7))]);
    assert!(!watched.is_expired(&owner(), LATE, s(60)));
    watched.forget(&owner());
    assert!(!watched.is_expired(&owner(), LATE, s(15)));
}

#[test]
fn an_owner_without_a_heartbeat_row_expires_like_any_other() {
    let none = Beat::NONE;
    let watched = saw(&[(0, none), (5, none), (10, none), (15, none)]);
    assert!(watched.is_expired(&owner(), 1, s(15)));
}

#[test]
fn a_daemon_does_nothing_before_its_first_heartbeat_and_after_a_ttl_without_one() {
    let mut tenancy = Tenancy::begin(4, Rhythm::default());
    assert_eq!(tenancy.standing(s(0), 0), Standing::Unrenewed);
    tenancy.renewed(tenancy.next(0), s(0)).unwrap();
    assert!(tenancy.may_act(s(14), 14_000));
    assert!(!tenancy.may_act(s(15), 14_000), "the awake clock says so");
    assert!(!tenancy.may_act(s(1), 15_000), "the wall clock says so: the machine slept");
    tenancy.renewed(tenancy.next(16_000), s(16)).unwrap();
    assert!(tenancy.may_act(s(16), 16_000));
}

#[test]
fn a_superseded_daemon_never_acts_again_and_cannot_renew() {
    let mut tenancy = Tenancy::begin(4, Rhythm::default());
    tenancy.renewed(tenancy.next(0), s(0)).unwrap();
    tenancy.found(4);
    assert!(tenancy.may_act(s(1), 1_000));
    tenancy.found(5);
    assert_eq!(tenancy.standing(s(1), 1_000), Standing::Superseded);
    assert!(!tenancy.may_act(s(1), 1_000));
    assert!(tenancy.renewed(tenancy.next(2_000), s(2)).is_err());
}

#[test]
fn a_heartbeat_out_of_turn_is_an_error() {
    let mut tenancy = Tenancy::begin(4, Rhythm::default());
    let next = tenancy.next(0);
    for wrong in [Beat { number: 2, ..next }, Beat { number: 0, ..next }, Beat { incarnation: 5, ..next }] {
        assert!(tenancy.renewed(wrong, s(0)).is_err(), "{wrong:?}");
    }
    assert!(tenancy.renewed(next, s(0)).is_ok());
}
