//! The session visibility matrix, against a daemon: what a list shows can be read and spoken to, and what it hides cannot.
//! What is expected is written down here, by the words of the plan, and computed from nothing.

use serde_json::{Value, json};
use tenure_it::api::{Answer, Api, text};
use tenure_it::install::Install;

const ASKS: &str = "agent:a:main";
/// The same session, recorded as shut in.
const SHUT_IN: &str = "agent:a:shut-in";

/// What is to be seen of: itself, a row of the same agent, a row of another agent, a row of another agent that it
/// spawned, and what that one spawned.
type Seen = [bool; 5];

const YES: bool = true;
const NO: bool = false;

/// Visibility, whether it is shut in, and what it sees with agent-to-agent off and on.
#[rustfmt::skip]
const MATRIX: [(&str, bool, Seen, Seen); 8] = [
    ("self",  NO,  [YES, NO,  NO, NO,  NO],  [YES, NO,  NO,  NO,  NO]),
    ("self",  YES, [YES, NO,  NO, NO,  NO],  [YES, NO,  NO,  NO,  NO]),
    ("tree",  NO,  [YES, NO,  NO, YES, YES], [YES, NO,  NO,  YES, YES]),
    ("tree",  YES, [YES, NO,  NO, YES, YES], [YES, NO,  NO,  YES, YES]),
    // What its child spawned belongs to its child: it is another agent's, and not its own.
    ("agent", NO,  [YES, YES, NO, YES, NO],  [YES, YES, NO,  YES, NO]),
    ("agent", YES, [YES, NO,  NO, YES, NO],  [YES, NO,  NO,  YES, NO]),
    ("all",   NO,  [YES, YES, NO, YES, YES], [YES, YES, YES, YES, YES]),
    ("all",   YES, [YES, NO,  NO, YES, YES], [YES, NO,  NO,  YES, YES]),
];

fn daemon(settings: &str) -> (Install, Api) {
    let install = Install::new().with_daemon();
    std::fs::write(install.config(), settings).expect("a configuration");
    let api = Api::of(&install);
    (install, api)
}

/// Makes the rows that one requester sees or does not see.
#[track_caller]
fn family(api: &Api, requester: &str, sandbox: bool) -> [String; 5] {
    let name = |agent: &str, what: &str| format!("agent:{agent}:{what}-of-{}", requester.replace(':', "-"));
    let keys =
        [requester.to_owned(), name("a", "other"), name("b", "main"), name("b", "child"), name("b", "below")];
    let spawn = |body: Value| drop(api.post("/v1/sessions", &body).is(201));
    spawn(json!({"sessionKey": keys[0], "backend": "exec", "sandbox": sandbox}));
    spawn(json!({"sessionKey": keys[1], "backend": "exec"}));
    spawn(json!({"sessionKey": keys[2], "backend": "exec"}));
    spawn(json!({"sessionKey": keys[3], "backend": "exec", "as": keys[0]}));
    spawn(json!({"sessionKey": keys[4], "backend": "exec", "as": keys[3]}));
    keys
}

/// Everything that is done with a session as another, by its name.
fn doings(key: &str, who: &Value) -> Vec<(&'static str, Value)> {
    vec![
        ("history", asked(json!({"action": "history", "sessionKey": key}), who)),
        ("status", asked(json!({"action": "status", "sessionKey": key}), who)),
        ("send", asked(json!({"action": "send", "sessionKey": key, "text": "true"}), who)),
    ]
}

/// The same, asked by somebody.
fn asked(mut body: Value, who: &Value) -> Value {
    for (name, value) in who.as_object().into_iter().flatten() {
        body[name] = value.clone();
    }
    body
}

/// All keys that are listed, page by page.
#[track_caller]
fn listed(api: &Api, who: &Value, limit: u64) -> Vec<String> {
    let (mut keys, mut after) = (Vec::new(), Value::Null);
    loop {
        let mut body = asked(json!({"action": "list", "limit": limit}), who);
        if !after.is_null() {
            body["after"] = after;
        }
        let reply = api.post("/v1/sessions", &body).is(200).json();
        let page = reply["sessions"].as_array().expect("a list");
        keys.extend(page.iter().map(|session| text(&session["key"])));
        after = reply["next"].clone();
        if after.is_null() {
            keys.sort();
            return keys;
        }
        assert!(!page.is_empty(), "a page with nothing but a next: {reply}");
    }
}

/// One line of the matrix: how the requester asks, and what it is to see.
#[track_caller]
fn check(api: &Api, who: &Value, keys: &[String; 5], expected: Seen) -> usize {
    let mut cells = 0;
    let shown = listed(api, who, 500);
    assert_eq!(shown, listed(api, who, 1), "{who}: page by page it is the same");
    for (key, expected) in keys.iter().zip(expected) {
        assert_eq!(shown.contains(key), expected, "list of {key} for {who}");
        // To wait, cancel and close one has to see, too.
        let more = ["wait", "cancel", "close"]
            .map(|action| (action, asked(json!({"action": action, "sessionKey": key}), who)));
        for (doing, body) in more.into_iter().filter(|_| !expected) {
            let why = api.post("/v1/sessions", &body).refused(403, "forbidden");
            assert!(!why.contains(key.as_str()), "{doing}: {why}");
        }
        for (doing, body) in doings(key, who) {
            let answer: Answer = api.post("/v1/sessions", &body);
            if expected {
                let _ = answer.is(200);
            } else {
                let turns =
                    api.get(&format!("/v1/sessions/{key}")).is(200).json()["session"]["turns"].clone();
                let why = answer.refused(403, "forbidden");
                assert!(why.contains("; have "), "{doing} says what to do: {why}");
                assert!(!why.contains(key.as_str()), "{doing} tells nothing of {key}: {why}");
                assert_eq!(turns, 0, "{doing} of {key} for {who}");
            }
            cells += 1;
        }
    }
    cells
}

/// The matrix by one setting of agent-to-agent.
fn matrix(on: bool) {
    let settings = format!("[sessions]\nvisibility = 'all'\nagent-to-agent = {on}\nqueue = 1000\n");
    let (_install, api) = daemon(&settings);
    let mut cells = 0;
    for (n, (visibility, shut_in, off, with)) in MATRIX.into_iter().enumerate() {
        let expected = if on { with } else { off };
        // Each line has its own rows, so that what was sent in one is not looked for in the next.
        let keys = family(&api, &format!("{ASKS}:{n}"), NO);
        let mut who = json!({"as": keys[0], "visibility": visibility});
        if shut_in {
            who["sandboxed"] = true.into();
        }
        cells += check(&api, &who, &keys, expected);
        if shut_in {
            let keys = family(&api, &format!("{SHUT_IN}:{n}"), YES);
            for says in [json!(null), json!(false)] {
                let who = json!({"as": keys[0], "visibility": visibility, "sandboxed": says});
                cells += check(&api, &who, &keys, expected);
            }
        }
    }
    assert_eq!(cells, (8 + 4 * 2) * 5 * 3);
}

#[test]
fn the_matrix_holds_while_agents_may_not_reach_each_other() {
    matrix(false);
}

#[test]
fn the_matrix_holds_while_agents_may_reach_each_other() {
    matrix(true);
}
