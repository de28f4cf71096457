//! No client can impersonate another: a process of a session's run is that session, whatever it claims and however it
//! hides, and an MCP client's session is a child of its creator's.

use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_it::api::{Api, text};
use tenure_it::daemon_fixture::DaemonFixture;
use tenure_it::eventually;
use tenure_it::held_process::HeldProcess;
use tenure_it::install::{Install, tenure};

const MINE: &str = "agent:a:main";
const THEIRS: &str = "agent:b:main";

/// A daemon under which every session may see every other, so that a refusal has another reason.
fn fixture(settings: &str) -> (DaemonFixture, Api) {
    let install = Install::new().with_daemon();
    std::fs::write(install.config(), settings).expect("a configuration");
    let fixture = DaemonFixture::of(install);
    fixture.start_daemon();
    let api = Api::of(&fixture);
    (fixture, api)
}

const OPEN: &str = "[sessions]\nvisibility = 'all'\nagent-to-agent = true\n";

#[track_caller]
fn spawn(api: &Api, body: &Value) {
    let _ = api.post("/v1/sessions", body).is(201);
}

/// Runs a script as a process of a session's run, with `$T` as the program and `$S` as the socket; returns
/// its output.
#[track_caller]
fn inside(fixture: &DaemonFixture, api: &Api, session: &str, script: &str) -> String {
    let id = begin(fixture, api, session, script);
    api.wait(&id);
    api.get(&format!("/v1/runs/{id}/output")).is(200).text()
}

#[track_caller]
fn begin(fixture: &DaemonFixture, api: &Api, session: &str, script: &str) -> String {
    let socket = fixture.state().join("daemon.sock");
    let request = json!({"command": ["sh", "-c", script], "session": session, "cwd": fixture.dir(), "onEscape": "reap",
        "env": {"T": tenure(), "S": socket, "TENURE_NO_AUTOSTART": "1"}});
    api.start(&request)
}

/// Writes a helper in Python, which prints the daemon's response to one request.
fn helper(fixture: &DaemonFixture) -> String {
    let path = fixture.dir().join("ask.py");
    let script = r#"
import http.client, json, os, socket, sys, time
def wait_for(path):
    for _ in range(5000):
        if os.path.exists(path): return
        time.sleep(0.01)
    sys.exit("no " + path)
def connect():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(50)
    s.connect(os.environ.get("S") or sys.argv[1])
    return s
def request(body, path="/v1/sessions", headers=()):
    body = json.dumps(body).encode()
    head = ["POST %s HTTP/1.1" % path, "Host: localhost", "Content-Length: %d" % len(body), *headers]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body
def answer(s):
    s.settimeout(50)
    response = http.client.HTTPResponse(s)
    response.begin()
    return "%d %s" % (response.status, response.read().decode())
"#;
    std::fs::write(&path, script).expect("a helper");
    "from ask import *".to_owned()
}

/// A Python program as a shell command.
fn python(import: &str, program: &str) -> String {
    format!("exec python3 -c '{import}\n{program}'")
}

/// The number of turns of a session, and its state.
#[track_caller]
fn turns_and_state(api: &Api, key: &str) -> (Value, Value) {
    let session = api.get(&format!("/v1/sessions/{key}")).is(200).json()["session"].clone();
    (session["turns"].clone(), session["state"].clone())
}

#[test]
fn a_process_of_a_run_acts_as_its_session_and_ends_only_the_sessions_own_work() {
    let (fixture, api) = fixture(OPEN);
    spawn(&api, &json!({"sessionKey": MINE, "backend": "exec"}));
    spawn(&api, &json!({"sessionKey": THEIRS, "backend": "exec"}));
    let _ = api
        .post("/v1/sessions", &json!({"action": "send", "sessionKey": THEIRS, "text": "sleep 1000"}))
        .is(200);
    for (line, words) in [
        (format!("list --as {THEIRS}"), "cannot act as session"),
        (format!("spawn --backend exec --as {THEIRS}"), "cannot act as session"),
        (format!("spawn --backend exec --parent {THEIRS}"), "only below itself"),
        (format!("spawn --backend exec --key {MINE}:x --parent {THEIRS}"), "only below itself"),
        (format!("cancel {THEIRS}"), "was not spawned by"),
        (format!("close {THEIRS}"), "was not spawned by"),
        (format!("close {THEIRS} --discard"), "was not spawned by"),
        ("import .".to_owned(), "cannot import"),
    ] {
        let said = inside(&fixture, &api, MINE, &format!("\"$T\" sessions {line} 2>&1; echo code $?"));
        assert!(said.contains(words) && said.contains("code 1\n"), "{line}: {said}");
    }
    // The other session stays visible, and takes messages.
    let said =
        inside(&fixture, &api, MINE, &format!("\"$T\" sessions status {THEIRS} && \"$T\" sessions list"));
    assert!(said.contains(THEIRS) && said.contains("busy"), "{said}");
    let said = inside(&fixture, &api, MINE, "\"$T\" sessions spawn --backend exec --key agent:a:child 2>&1");
    assert_eq!(said.trim(), "agent:a:child");
    let child = api.get("/v1/sessions/agent:a:child").is(200).json()["session"].clone();
    assert_eq!((&child["spawnedBy"], &child["lineage"]), (&json!(MINE), &json!([MINE])), "{child}");
    assert_eq!(turns_and_state(&api, THEIRS), (json!(1), json!("busy")));
    let said = inside(&fixture, &api, MINE, "\"$T\" sessions close agent:a:child 2>&1; echo code $?");
    assert!(said.contains("code 0"), "{said}");
    let _ = api.post("/v1/sessions", &json!({"action": "close", "sessionKey": THEIRS})).is(200);
    fixture.finish();
}

#[test]
fn a_process_of_a_run_sees_no_more_than_the_settings_say() {
    let (fixture, api) = fixture("[sessions]\nvisibility = 'tree'\nagent-to-agent = true\n");
    spawn(&api, &json!({"sessionKey": MINE, "backend": "exec"}));
    spawn(&api, &json!({"sessionKey": "agent:a:shut", "backend": "exec", "sandbox": true}));
    spawn(&api, &json!({"sessionKey": "agent:a:other", "backend": "exec"}));
    for visibility in ["agent", "all"] {
        let line = format!("\"$T\" sessions list --visibility {visibility} 2>&1; echo code $?");
        let said = inside(&fixture, &api, MINE, &line);
        assert!(said.contains("sessions.visibility") && said.contains("code 1\n"), "{said}");
        let line =
            format!("\"$T\" sessions status agent:a:other --visibility {visibility} 2>&1; echo code $?");
        assert!(inside(&fixture, &api, MINE, &line).contains("sessions.visibility"));
    }
    let said = inside(&fixture, &api, MINE, "\"$T\" sessions list --visibility self --json");
    assert!(said.contains(MINE) && !said.contains("agent:a:other"), "{said}");
    let import = helper(&fixture);
    let program = "s = connect()\nfor more in [{}, {\"sandboxed\": False}]:\n    s.sendall(request({\"action\": \"status\", \"sessionKey\": \"agent:a:other\", **more}))\n    print(answer(s))\ns.sendall(request({\"backend\": \"exec\", \"sessionKey\": \"agent:a:below\", \"sandbox\": False}))\nprint(answer(s))";
    let said = inside(&fixture, &api, "agent:a:shut", &python(&import, program));
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines.len() == 3 && lines[..2].iter().all(|line| line.contains("is sandboxed")), "{said}");
    assert!(lines[2].starts_with("201") && lines[2].contains("\"sandboxed\":true"), "{said}");
    fixture.finish();
}

#[test]
fn a_process_of_a_run_is_identified_on_every_kind_of_connection() {
    let (fixture, api) = fixture(OPEN);
    spawn(&api, &json!({"sessionKey": THEIRS, "backend": "exec"}));
    let import = helper(&fixture);
    let ask = format!("request({{\"action\": \"list\", \"as\": \"{THEIRS}\"}}, headers=HEADERS)");
    let headers = format!(
        "HEADERS = [\"Tenure-Session: {THEIRS}\", \"X-Session: {THEIRS}\", \"Authorization: Bearer {THEIRS}\"]"
    );
    let plain = format!("{headers}\ns = connect()\ns.sendall({ask})\nprint(answer(s))");
    // A helper that gets the connection from a live process, and from an exited one.
    let handed = format!(
        "{headers}\na, b = socket.socketpair()\nif os.fork() == 0:\n    s = connect()\n    socket.send_fds(a, [b\"x\"], [s.fileno()])\n    STAYS\n    os._exit(0)\n_, fds, _, _ = socket.recv_fds(b, 1, 1)\nWAIT\ns = socket.socket(fileno=fds[0])\ns.sendall({ask})\nprint(answer(s))"
    );
    let stays = handed.replace("STAYS", "socket.socket.recv(a, 1)").replace("WAIT", "pass");
    let gone = handed.replace("STAYS", "pass").replace("WAIT", "os.wait()");
    // Its parent is gone, it leads a session of its own and has no environment but the address.
    let loose = format!(
        "{headers}\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        path = os.environ[\"S\"]\n        os.environ.clear()\n        os.environ[\"S\"] = path\n        s = connect()\n        s.sendall({ask})\n        open(\"loose.part\", \"w\").write(answer(s))\n        os.rename(\"loose.part\", \"loose\")\n    os._exit(0)\nos.wait()\nwait_for(\"loose\")\nprint(open(\"loose\").read())"
    );
    // The connection is older than the program that uses it.
    let again = format!(
        "{headers}\nif len(sys.argv) > 1:\n    s = socket.socket(fileno=int(sys.argv[1]))\nelse:\n    s = connect()\n    s.sendall(request({{\"action\": \"list\"}}))\n    answer(s)\n    s.set_inheritable(True)\n    os.execvp(\"python3\", [\"python3\", \"-c\", open(\"again\").read(), str(s.fileno())])\ns.sendall({ask})\nprint(answer(s))"
    );
    std::fs::write(fixture.dir().join("again"), format!("{import}\n{again}")).expect("a program");
    for (about, program) in [
        ("plain", &plain),
        ("handed over", &stays),
        ("handed over by one that is gone", &gone),
        ("loose", &loose),
        ("again", &again),
    ] {
        let said = inside(&fixture, &api, MINE, &python(&import, program));
        assert!(said.starts_with("403 ") && said.contains("forbidden"), "{about}: {said}");
        assert!(!said.contains("\"sessions\""), "{about}: {said}");
    }
    let asks = "\"$T\" sessions list 2>&1; curl -s --unix-socket \"$S\" \"http://localhost/v1/sessions?as=agent:b:main\"";
    let said = inside(&fixture, &api, MINE, asks);
    assert!(said.contains("session agent:a:main cannot act as session agent:b:main"), "{said}");
    fixture.finish();
}

#[test]
fn a_client_that_exits_before_identification_is_nobody() {
    let (fixture, api) = fixture(OPEN);
    spawn(&api, &json!({"sessionKey": THEIRS, "backend": "exec"}));
    let import = helper(&fixture);
    let program = format!(
        "open(\"ready.part\", \"w\").write(str(os.getpid()))\nos.rename(\"ready.part\", \"ready\")\nwait_for(\"go\")\nfor path, body in [(\"/v1/sessions\", {{\"action\": \"send\", \"sessionKey\": \"{THEIRS}\", \"text\": \"touch sent\"}}), (\"/v1/sessions\", {{\"backend\": \"exec\", \"sessionKey\": \"made\"}}), (\"/v1/sessions\", {{\"action\": \"close\", \"sessionKey\": \"{THEIRS}\"}}), (\"/v1/runs\", {{\"command\": [\"true\"], \"session\": \"{THEIRS}\"}}), (\"/v1/exec\", {{\"command\": \"true\", \"sessionKey\": \"{THEIRS}\"}})]:\n    connect().sendall(request(body, path))\nopen(\"asked\", \"w\")"
    );
    let run = begin(&fixture, &api, MINE, &python(&import, &program));
    let appears = |name: &str| eventually(name, || fixture.dir().join(name).exists().then_some(()));
    appears("ready");
    let pid = std::fs::read_to_string(fixture.dir().join("ready")).expect("its pid");
    let asks = HeldProcess::hold(pid.parse().expect("a number")).expect("it lives");
    let daemon = fixture.daemon();
    daemon.stop();
    std::fs::write(fixture.dir().join("go"), "").expect("it waits");
    appears("asked");
    asks.wait_dead(tenure_it::WAIT_LIMIT);
    daemon.send(Signal::CONT);
    api.wait(&run);
    // A later request comes after all of them.
    let listed = api.get("/v1/sessions").is(200).json()["sessions"].clone();
    let keys: Vec<String> = listed.as_array().expect("a list").iter().map(|it| text(&it["key"])).collect();
    assert!(!keys.contains(&"made".to_owned()), "{keys:?}");
    assert_eq!(turns_and_state(&api, THEIRS), (json!(0), json!("idle")));
    let runs = api.get("/v1/runs?all=true").is(200).json()["runs"].clone();
    let whose: Vec<&Value> = runs.as_array().expect("runs").iter().map(|run| &run["sessionId"]).collect();
    assert_eq!(whose, [MINE], "nothing was started");
    fixture.finish();
}

#[test]
fn an_inherited_connection_of_an_exited_process_makes_no_client() {
    let (fixture, api) = fixture(OPEN);
    spawn(&api, &json!({"sessionKey": THEIRS, "backend": "exec"}));
    let import = helper(&fixture);
    // The process that connected hands the connection to its parent and exits, while the daemon is suspended.
    let program = format!(
        "open(\"ready\", \"w\")\nwait_for(\"go\")\na, b = socket.socketpair()\nif os.fork() == 0:\n    conns = [connect() for _ in range(3)]\n    socket.send_fds(a, [b\"x\"], [s.fileno() for s in conns])\n    os._exit(0)\n_, fds, _, _ = socket.recv_fds(b, 1, 3)\nos.wait()\nopen(\"asked\", \"w\")\nup = [\"Connection: upgrade\", \"Upgrade: tenure-mcp\"]\nfor fd, path, body in zip(fds, [\"/v1/mcp\", \"/v1/mcp\", \"/mcp\"], [{{\"sessionKey\": \"{THEIRS}\"}}, {{}}, {{}}]):\n    s = socket.socket(fileno=fd)\n    s.sendall(request(body, path, up))\n    print(answer(s))"
    );
    let run = begin(&fixture, &api, MINE, &python(&import, &program));
    let appears = |name: &str| eventually(name, || fixture.dir().join(name).exists().then_some(()));
    appears("ready");
    let daemon = fixture.daemon();
    daemon.stop();
    std::fs::write(fixture.dir().join("go"), "").expect("it waits");
    appears("asked");
    daemon.send(Signal::CONT);
    api.wait(&run);
    let said = api.get(&format!("/v1/runs/{run}/output")).is(200).text();
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines.len() == 3 && lines.iter().all(|line| line.starts_with("403 ")), "{said}");
    fixture.finish();
}

#[test]
fn a_connection_of_an_exited_process_allows_only_health() {
    let (fixture, api) = fixture(OPEN);
    let theirs = api.start(&json!({"command": ["sleep", "1000"], "session": THEIRS}));
    let import = helper(&fixture);
    let asks = json!([
        ["GET", "/v1/health"],
        ["GET", "/v1/runs?all=true"],
        ["GET", format!("/v1/runs/{theirs}")],
        ["GET", format!("/v1/runs/{theirs}/output")],
        ["GET", "/v1/events"],
        ["GET", "/v1/approvals"],
        ["GET", "/v1/allowlist"],
        ["GET", "/v1/tasks"],
        ["GET", "/metrics"],
        ["GET", "/openapi.json"],
        ["GET", "/v1/no-such-thing"],
        ["POST", format!("/v1/runs/{theirs}/cancel")],
        ["DELETE", format!("/v1/runs/{theirs}")],
        ["POST", "/v1/runs", {"command": ["touch", "made"], "cwd": fixture.dir()}],
        ["POST", "/v1/backup", {"path": fixture.dir().join("copy")}],
        ["POST", "/v1/reap"],
        ["POST", "/v1/shutdown"],
    ]);
    let program = format!(
        "open(\"ready\", \"w\")\nwait_for(\"go\")\nasks = json.loads(r\"\"\"{asks}\"\"\")\na, b = socket.socketpair()\nif os.fork() == 0:\n    conns = [connect() for _ in asks]\n    socket.send_fds(a, [b\"x\"], [s.fileno() for s in conns])\n    os._exit(0)\n_, fds, _, _ = socket.recv_fds(b, 1, len(asks))\nos.wait()\nopen(\"asked\", \"w\")\nfor fd, (method, path, *body) in zip(fds, asks):\n    s = socket.socket(fileno=fd)\n    s.sendall(request(body[0] if body else {{}}, path).replace(b\"POST\", method.encode(), 1))\n    print(method, path, answer(s), flush=True)"
    );
    let run = begin(&fixture, &api, MINE, &python(&import, &program));
    let appears = |name: &str| eventually(name, || fixture.dir().join(name).exists().then_some(()));
    appears("ready");
    let daemon = fixture.daemon();
    daemon.stop();
    std::fs::write(fixture.dir().join("go"), "").expect("it waits");
    appears("asked");
    daemon.send(Signal::CONT);
    api.wait(&run);
    let said = api.get(&format!("/v1/runs/{run}/output")).is(200).text();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), asks.as_array().expect("a list").len(), "{said}");
    assert!(lines[0].starts_with("GET /v1/health 200 "), "{said}");
    for line in &lines[1..] {
        assert!(
            line.contains(" 403 ") && line.contains("exited before the daemon could identify it"),
            "{line}"
        );
    }
    assert_eq!(api.get(&format!("/v1/runs/{theirs}")).is(200).json()["state"], "running");
    assert!(!fixture.dir().join("copy").exists() && !fixture.dir().join("made").exists());
    let _ = api.post(&format!("/v1/runs/{theirs}/cancel"), &json!({})).is(202);
    api.wait(&theirs);
    fixture.finish();
}

#[test]
fn a_process_of_a_run_cannot_become_a_client_over_http() {
    let (fixture, api) = fixture(OPEN);
    let import = helper(&fixture);
    let begin = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "it", "version": "0"}}});
    let headers = [("Accept", "application/json, text/event-stream"), ("Content-Type", "application/json")];
    let outside = api.ask("POST", "/mcp", &headers, begin.to_string().as_bytes()).is(200).text();
    assert!(outside.contains("serverInfo"), "{outside}");
    let program = format!(
        "s = connect()\ns.sendall(request(json.loads(r\"\"\"{begin}\"\"\"), \"/mcp\", [\"Accept: application/json, text/event-stream\", \"Content-Type: application/json\"]))\nprint(answer(s))"
    );
    let said = inside(&fixture, &api, MINE, &python(&import, &program));
    assert!(said.starts_with("403 ") && said.contains("tenure mcp"), "{said}");
    fixture.finish();
}

#[test]
fn a_session_executes_under_its_own_agents_rules() {
    let (fixture, api) = fixture("[sessions]\nvisibility = 'all'\n[exec]\nmode = 'allowlist'\n");
    let allowed = fixture.tenure(&["allowlist", "add", "--agent", "b", "/usr/bin/touch"]);
    assert!(allowed.status.success(), "{}", String::from_utf8_lossy(&allowed.stderr));
    let file = fixture.dir().join("touched");
    let spawns = |key: &str| {
        let line = format!(
            "\"$T\" sessions spawn --backend exec {key} --task '/usr/bin/touch {}' --wait 2>&1; echo code $?",
            file.display()
        );
        inside(&fixture, &api, MINE, &line)
    };
    for key in ["--key agent:b:mine", "--agent b"] {
        let said = spawns(key);
        assert!(said.contains("execute commands as agent b") && said.contains("code 1\n"), "{key}: {said}");
    }
    assert!(spawns("").contains("code 1\n") && !file.exists(), "its own agent may not");
    let outside = json!({"sessionKey": "agent:b:own", "backend": "exec", "task": format!("/usr/bin/touch {}", file.display())});
    spawn(&api, &outside);
    eventually("the permissions of agent b", || file.exists().then_some(()));
    fixture.finish();
}
