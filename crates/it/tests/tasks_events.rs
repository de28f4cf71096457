//! Channels that are the event stream: what is told there is told again until somebody says that it has taken it, and
//! only for the session that is told.

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

#[test]
fn only_who_is_told_decides_what_it_hears() {
    let told = told();
    let spawn = json!({"sessionKey": "worker", "parent": "owner", "task": "exec sleep 1000"});
    let _ = told.api.post("/v1/sessions", &spawn).is(201);
    let turn =
        eventually("its turn", || Some(told.show("worker")).filter(|task| task["status"] == "running"));
    assert_eq!(turn["ownerSessionKey"], "owner", "{turn}");
    let ask_as =
        |who: &str, action: &str| ask(&told.api, action, "worker", &json!({"as": who, "policy": "silent"}));
    let why = ask_as("worker", "notify").refused(403, "forbidden");
    assert!(why.contains("owner") && why.contains("worker"), "{why}");
    let _ = ask(&told.api, "cancel", "worker", &json!({"as": "worker"})).is(200);
    let ended =
        eventually("its end", || Some(told.show("worker")).filter(|task| task["status"] == "cancelled"));
    assert_eq!((&ended["notifyPolicy"], &ended["deliveryStatus"]), (&json!("done_only"), &json!("pending")));
    for action in ["acknowledge", "retry", "notify"] {
        let _ = ask_as("worker", action).refused(403, "forbidden");
    }
    assert_eq!(told.show("worker")["deliveryStatus"], "pending", "the work does not hide its own end");
    let _ = ask(&told.api, "acknowledge", "worker", &json!({"as": "owner"})).is(200);
    assert_eq!(told.show("worker")["deliveryStatus"], "delivered");
    told.finish();
}
