//! Channels that are the event stream: a notice is sent there again until a client acknowledges it.

use serde_json::json;
use tenure_it::eventually;
use tenure_it::notify_fixture::NotifyFixture;
use tenure_it::tasks::{ask, events_channel_notices};

fn fixture() -> NotifyFixture {
    let fixture = NotifyFixture::new("[channels.gateway]\nevents = true\ntimeout = '1s'\n");
    fixture.owner("owner", "gateway");
    fixture
}

#[test]
fn an_end_is_sent_again_until_it_is_acknowledged() {
    let fixture = fixture();
    let run = fixture.task("owner", "exit 3");
    let id = fixture.id_of(&run);
    let twice = eventually("it is sent again", || {
        Some(events_channel_notices(&fixture, &id)).filter(|all| all.len() > 1)
    });
    assert!(
        twice.iter().all(|one| one["key"] == format!("task-{id}-terminal") && *one == twice[0]),
        "{twice:?}"
    );
    assert_eq!(fixture.show(&run)["deliveryStatus"], "pending");
    let said = fixture.tenure(&["tasks", "acknowledge", &id]);
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    assert_eq!(fixture.show(&run)["deliveryStatus"], "delivered");
    let (told_so_far, other) = (events_channel_notices(&fixture, &id).len(), fixture.task("owner", "exit 3"));
    let other = fixture.id_of(&other);
    eventually("another notice is sent again", || {
        (events_channel_notices(&fixture, &other).len() > 2).then_some(())
    });
    assert_eq!(events_channel_notices(&fixture, &id).len(), told_so_far, "it was acknowledged");
    let _ = ask(&fixture.api, "acknowledge", &id, &json!({})).is(200);
    fixture.finish();
}

#[test]
fn a_change_is_sent_once_and_a_future_end_cannot_be_acknowledged() {
    let fixture = fixture();
    let run = fixture.task_with("owner", "exec sleep 1000", json!({"notify": "state_changes"}));
    let id = fixture.id_of(&run);
    let shown = eventually("the change was sent", || {
        let shown = fixture.api.get(&format!("/v1/tasks/{id}")).is(200).json()["notices"].clone();
        (shown[0]["state"] == "delivered").then_some(shown)
    });
    assert_eq!((&shown[0]["purpose"], &shown[0]["attempts"]), (&json!("change"), &json!(1)), "{shown}");
    let why = ask(&fixture.api, "acknowledge", &id, &json!({})).refused(409, "wrong-state");
    assert!(why.contains("running"), "{why}");
    fixture.cancel(&run);
    eventually("its end", || {
        events_channel_notices(&fixture, &id)
            .last()
            .is_some_and(|last| last["status"] == "cancelled")
            .then_some(())
    });
    assert_eq!(
        events_channel_notices(&fixture, &id).iter().filter(|one| one["purpose"] == "change").count(),
        1
    );
    fixture.finish();
}
