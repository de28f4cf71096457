//! Many simultaneous requests for sessions: one key is one session, no message is lost or repeated, and a list that
//! changes during paging shows every permanent entry once.

use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use tenure_it::api::{Api, text};
use tenure_it::eventually;
use tenure_it::install::Install;

const KEY: &str = "agent:a:main";

fn daemon() -> (Install, Api) {
    let install = Install::new().with_daemon();
    let api = Api::of(&install);
    (install, api)
}

#[track_caller]
fn act(api: &Api, body: &Value) -> Value {
    let answer = api.post("/v1/sessions", body);
    assert!(matches!(answer.head.status, 200 | 201), "{body}: {}", answer.text());
    answer.json()
}

/// All turns of a session, page by page.
#[track_caller]
fn turns(api: &Api, key: &str) -> Vec<Value> {
    let (mut turns, mut after) = (Vec::new(), "0".to_owned());
    loop {
        let body = json!({"action": "history", "sessionKey": key, "after": after, "limit": 7});
        let reply = act(api, &body);
        turns.extend(reply["turns"].as_array().expect("turns").iter().cloned());
        match reply["next"].as_str() {
            Some(next) => next.clone_into(&mut after),
            None => return turns,
        }
    }
}

#[test]
fn exactly_one_of_many_simultaneous_spawns_of_a_key_succeeds() {
    let (install, api) = daemon();
    for round in 0..5 {
        let key = format!("{KEY}:{round}");
        let statuses: Vec<u16> = thread::scope(|scope| {
            let (api, key) = (&api, &key);
            let ask = move |n: usize| {
                let task = format!("echo {n} >> {}", key.replace(':', "-"));
                let body =
                    json!({"sessionKey": key, "backend": "exec", "task": task, "cwd": install_dir(api)});
                api.post("/v1/sessions", &body).head.status
            };
            let all: Vec<_> = (0..8).map(|n| scope.spawn(move || ask(n))).collect();
            all.into_iter().map(|one| one.join().expect("an answer")).collect()
        });
        let count = |status| statuses.iter().filter(|it| **it == status).count();
        assert_eq!((count(201), count(409)), (1, 7), "{statuses:?}");
        act(&api, &json!({"action": "wait", "sessionKey": key}));
        assert_eq!(turns(&api, &key).len(), 1, "one task was started");
        let written =
            std::fs::read_to_string(install.dir().join(key.replace(':', "-"))).expect("recorded output");
        assert_eq!(written.lines().count(), 1, "{written}");
    }
}

/// The installation directory of a daemon: beside its state.
fn install_dir(api: &Api) -> Value {
    match api {
        Api::Local(socket) => json!(socket.parent().and_then(std::path::Path::parent).expect("a directory")),
        Api::Loopback(_) => Value::Null,
    }
}

#[test]
fn messages_of_many_senders_each_run_once_and_in_each_senders_order() {
    let install = Install::new().with_daemon().with_env("TENURE_SESSIONS_QUEUE", "100");
    let api = Api::of(&install);
    act(&api, &json!({"sessionKey": KEY, "backend": "exec", "cwd": install.dir()}));
    let ids: Vec<String> = thread::scope(|scope| {
        let send = |client: usize| {
            let api = &api;
            move || {
                let one = |n: usize| {
                    let text = format!("echo {client}.{n} >> said");
                    act(api, &json!({"action": "send", "sessionKey": KEY, "text": text}))
                };
                (0..5).map(|n| text(&one(n)["sent"]["turnId"])).collect::<Vec<_>>()
            }
        };
        let all: Vec<_> = (0..10).map(|client| scope.spawn(send(client))).collect();
        all.into_iter().flat_map(|one| one.join().expect("all sent")).collect()
    });
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 50);
    eventually("the end of the last process", || {
        let session = act(&api, &json!({"action": "status", "sessionKey": KEY}))["session"].clone();
        (session["state"] == "idle" && session["queued"] == 0).then_some(())
    });
    let turns = turns(&api, KEY);
    assert_eq!(turns.len(), 50);
    assert!(turns.iter().all(|turn| turn["state"] == "done"), "{turns:?}");
    assert!(turns.iter().zip(1..).all(|(turn, number)| turn["number"] == number), "counted one by one");
    let mut known: Vec<String> = turns.iter().map(|turn| text(&turn["turnId"])).collect();
    let order: Vec<String> = turns.iter().map(|turn| text(&turn["message"])).collect();
    known.sort();
    let mut ids = ids;
    ids.sort();
    assert_eq!(known, ids, "each message has the turn that its sender got");
    let written = std::fs::read_to_string(install.dir().join("said")).expect("recorded pids");
    let said: Vec<String> = written.lines().map(|line| format!("echo {line} >> said")).collect();
    assert_eq!(said, order, "carried out one after the other, in the order of the history");
    for client in 0..10 {
        let own: Vec<&String> =
            order.iter().filter(|it| it.starts_with(&format!("echo {client}."))).collect();
        assert!(own.is_sorted() && own.len() == 5, "{own:?}");
    }
    let mut taken: Vec<u64> = turns.iter().map(|turn| turn["beganAtMs"].as_u64().expect("a time")).collect();
    assert!(taken.is_sorted());
    taken.dedup();
}

#[test]
fn a_list_that_changes_while_it_is_paged_shows_unchanged_sessions_once() {
    let (_install, api) = daemon();
    let stay: BTreeSet<String> = (0..30).map(|n| format!("stays:{n}")).collect();
    let spawn = |key: &str| drop(act(&api, &json!({"sessionKey": key, "backend": "exec"})));
    for (n, key) in stay.iter().enumerate() {
        spawn(key);
        spawn(&format!("goes:{n}"));
    }
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut n = 0;
            while !over.load(Ordering::Relaxed) {
                spawn(&format!("comes:{n}"));
                let close =
                    json!({"action": "close", "sessionKey": format!("goes:{}", n % 30), "discard": true});
                drop(api.post("/v1/sessions", &close));
                spawn(&format!("goes:{}", n % 30));
                n += 1;
            }
        });
        let read = || {
            let (mut shown, mut after) = (Vec::new(), Value::Null);
            loop {
                let mut body = json!({"action": "list", "limit": 3});
                if !after.is_null() {
                    body["after"] = after;
                }
                let reply = act(&api, &body);
                let page = reply["sessions"].as_array().expect("a list");
                shown.extend(page.iter().map(|session| text(&session["key"])));
                after = reply["next"].clone();
                if after.is_null() {
                    return shown;
                }
            }
        };
        let reads: Vec<Vec<String>> = (0..5).map(|_| read()).collect();
        over.store(true, Ordering::Relaxed);
        for shown in reads {
            let once: BTreeSet<String> = shown.iter().filter(|key| stay.contains(*key)).cloned().collect();
            assert_eq!(once, stay, "a permanent entry is missing");
            let stays = shown.iter().filter(|key| key.starts_with("stays:")).count();
            assert_eq!(stays, stay.len(), "and once: {shown:?}");
        }
    });
}
