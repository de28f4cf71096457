//! Instances: enrolling, heartbeats, and being unseated.

use crate::sample::{NOW, instance};
use crate::store::on_every_store;
use tenure_store::{Beat, kind};

#[test]
fn enrolling_again_supersedes_whoever_acted_as_the_instance_before() {
    on_every_store(async |store| {
        let registry = store.open();
        let first = registry.enrol(instance(1), "here".into(), NOW).await.unwrap();
        let second = registry.enrol(instance(1), "there".into(), NOW + 1).await.unwrap();
        assert!(second.incarnation > first.incarnation);
        assert_eq!(registry.beat(instance(1), first, NOW + 9).await.unwrap(), None);
        let row = registry.instances().await.unwrap().remove(0);
        assert_eq!((row.beat, row.expires_at_ms, row.about.as_str()), (second, NOW + 1, "there"));
    });
}

#[test]
fn a_heartbeat_raises_the_number_and_moves_the_expiry() {
    on_every_store(async |store| {
        let registry = store.open();
        let first = registry.enrol(instance(1), String::new(), NOW).await.unwrap();
        let second = registry.beat(instance(1), first, NOW + 5).await.unwrap().unwrap();
        assert_eq!(second.incarnation, first.incarnation);
        assert!(second.number > first.number);
        // The reply to a heartbeat may be lost: the next one with the old number still counts.
        let third = registry.beat(instance(1), first, NOW + 6).await.unwrap().unwrap();
        assert!(third.number > second.number);
        assert_eq!(registry.instances().await.unwrap()[0].expires_at_ms, NOW + 6);
    });
}

#[test]
fn an_unknown_instance_has_no_heartbeat() {
    on_every_store(async |store| {
        let seen = Beat { incarnation: 1, number: 1 };
        assert_eq!(store.open().beat(instance(9), seen, NOW).await.unwrap(), None);
    });
}

#[test]
fn only_an_expired_instance_that_has_not_beaten_since_is_unseated() {
    on_every_store(async |store| {
        let registry = store.open();
        let seen = registry.enrol(instance(1), String::new(), NOW).await.unwrap();
        assert_eq!(registry.unseat(instance(1), seen, NOW).await.unwrap(), None, "not expired yet");
        let later = registry.beat(instance(1), seen, NOW).await.unwrap().unwrap();
        assert_eq!(registry.unseat(instance(1), seen, NOW + 1).await.unwrap(), None, "it has beaten since");
        let unseated = registry.unseat(instance(1), later, NOW + 1).await.unwrap().unwrap();
        assert!(unseated.incarnation > later.incarnation);
        assert_eq!(registry.beat(instance(1), later, NOW + 99).await.unwrap(), None, "it lost its seat");
        assert_eq!(registry.unseat(instance(1), later, NOW + 1).await.unwrap(), None, "once");
        let back = registry.enrol(instance(1), String::new(), NOW + 99).await.unwrap();
        assert!(back.incarnation > unseated.incarnation);
    });
}

#[test]
fn an_instance_that_was_stopped_on_purpose_never_expires() {
    on_every_store(async |store| {
        let registry = store.open();
        let seen = registry.enrol(instance(1), String::new(), u64::MAX).await.unwrap();
        assert_eq!(registry.instances().await.unwrap()[0].expires_at_ms, u64::MAX);
        assert_eq!(registry.unseat(instance(1), seen, u64::MAX).await.unwrap(), None);
    });
}

#[test]
fn coming_to_life_and_losing_the_seat_are_told() {
    on_every_store(async |store| {
        let registry = store.open();
        let seen = registry.enrol(instance(1), "host a".into(), NOW).await.unwrap();
        registry.unseat(instance(1), seen, NOW + 1).await.unwrap().unwrap();
        let events = registry.events(0, None, 10).await.unwrap();
        let kinds: Vec<_> = events.iter().map(|row| row.event.kind.as_str()).collect();
        assert_eq!(kinds, [kind::INSTANCE_ENROLLED, kind::INSTANCE_UNSEATED]);
        assert_eq!(events[0].event.detail["about"], "host a");
        assert_eq!(events[1].event.at_ms, NOW + 1);
    });
}
