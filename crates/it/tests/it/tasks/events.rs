//! Channels that are the event stream: what is told there is told again until somebody says that it has taken it.

use serde_json::json;
use tenure_it::eventually;
use tenure_it::tasks::{ask, heard};
use tenure_it::told::Told;

fn told() -> Told {
    let told = Told::new("[channels.gateway]\nevents = true\ntimeout = '1s'\n");
    told.owner("owner", "gateway");
    told
}

#[test]
fn an_end_is_told_again_until_it_is_acknowledged() {
    let told = told();
    let run = told.task("owner", "exit 3");
    let id = told.id_of(&run);
    let twice = eventually("that it is told again", || Some(heard(&told, &id)).filter(|all| all.len() > 1));
    assert!(
        twice.iter().all(|one| one["key"] == format!("task-{id}-terminal") && *one == twice[0]),
        "{twice:?}"
    );
    assert_eq!(told.show(&run)["deliveryStatus"], "pending");
    let said = told.tenure(&["tasks", "acknowledge", &id]);
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    assert_eq!(told.show(&run)["deliveryStatus"], "delivered");
    let (told_so_far, other) = (heard(&told, &id).len(), told.task("owner", "exit 3"));
    let other = told.id_of(&other);
    eventually("that another is told again", || (heard(&told, &other).len() > 2).then_some(()));
    assert_eq!(heard(&told, &id).len(), told_so_far, "it was taken");
    let _ = ask(&told.api, "acknowledge", &id, &json!({})).is(200);
    told.finish();
}

#[test]
fn a_change_is_told_once_and_an_end_that_is_to_come_cannot_be_acknowledged() {
    let told = told();
    let run = told.task_with("owner", "exec sleep 1000", json!({"notify": "state_changes"}));
    let id = told.id_of(&run);
    let shown = eventually("that the change was told", || {
        let shown = told.api.get(&format!("/v1/tasks/{id}")).is(200).json()["notices"].clone();
        (shown[0]["state"] == "delivered").then_some(shown)
    });
    assert_eq!((&shown[0]["purpose"], &shown[0]["attempts"]), (&json!("change"), &json!(1)), "{shown}");
    let why = ask(&told.api, "acknowledge", &id, &json!({})).refused(409, "wrong-state");
    assert!(why.contains("running"), "{why}");
    told.cancel(&run);
    eventually("its end", || {
        heard(&told, &id).last().is_some_and(|last| last["status"] == "cancelled").then_some(())
    });
    assert_eq!(heard(&told, &id).iter().filter(|one| one["purpose"] == "change").count(), 1);
    told.finish();
}
