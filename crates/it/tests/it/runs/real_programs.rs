//! Programs in everyday use. A missing one fails its test.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use tenure_it::install::Install;
use tenure_it::{eventually, proc};

/// The processes of a run, each with its start time as identity.
fn processes(install: &Install, id: &str) -> Vec<(i32, u64)> {
    let keeper = i32::try_from(install.show(id)["keeperPid"].as_i64().expect("a pid")).expect("a pid");
    let pids = proc::descendants(keeper).into_iter();
    pids.filter_map(|pid| proc::stat(pid).map(|(.., start)| (pid, start))).collect()
}

/// Asserts that none of these processes runs.
#[track_caller]
fn assert_gone(processes: &[(i32, u64)]) {
    for &(pid, start) in processes {
        let same =
            proc::stat(pid).is_some_and(|(state, .., now)| now == start && !matches!(state, 'Z' | 'X'));
        assert!(!same, "{} ({pid}) outlived its run", proc::name(pid));
    }
}

#[test]
fn a_login_shell_runs_a_pipeline_with_its_own_code() {
    let install = Install::new();
    let script = "shopt -q login_shell && seq 1 1000 | sort -rn | head -n 2; exit 4";
    let output = install.tenure(&["run", "--quiet", "--", "bash", "-lc", script]);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(4), &b"1000\n999\n"[..]));
    install.assert_ended_cleanly(&install.only_run());
}

#[test]
fn a_cancelled_login_shell_leaves_none_of_its_jobs() {
    let install = Install::new();
    let script = "sleep 1000 & nohup sleep 1000 >/dev/null 2>&1 & setsid sleep 1000 & (sleep 1000; echo) | cat & echo ready; wait";
    let id = install.start_in_background(&["--grace", "1s"], &["bash", "-lc", script]);
    install.wait_for_output(&id, "ready\n");
    let processes = eventually("all of its jobs", || {
        let processes = processes(&install, &id);
        (processes.iter().filter(|(pid, _)| proc::name(*pid) == "sleep").count() == 4).then_some(processes)
    });
    install.cancel(&id);
    assert_gone(&processes);
    assert_eq!(install.assert_ended_cleanly(&id)["reason"], "manual-cancel");
}

#[test]
fn a_dev_server_started_by_npm_is_gone_with_its_workers() {
    let install = Install::new().with_env("npm_config_update_notifier", "false");
    let package =
        r#"{"name": "dev", "version": "1.0.0", "private": true, "scripts": {"dev": "node server.js"}}"#;
    let server = "const http = require('http'), { spawn } = require('child_process');
        spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true, stdio: 'ignore' });
        spawn(process.execPath, ['-e', 'process.on(\"SIGTERM\", () => {}); setInterval(() => {}, 1000)'], { stdio: 'inherit' });
        const server = http.createServer((_, reply) => reply.end('hello'));
        server.listen(0, '127.0.0.1', () => console.log('port=' + server.address().port + ';'));";
    fs::write(install.dir().join("package.json"), package).expect("write");
    fs::write(install.dir().join("server.js"), server).expect("write");
    let mut run = install.start(&["run", "--grace", "1s", "--", "npm", "run", "dev"]);
    run.wait_for(";\n");
    let out = run.out();
    let port = out.split("port=").nth(1).and_then(|rest| rest.split(';').next()).expect("a port");
    let address = format!("127.0.0.1:{port}");
    let mut client = TcpStream::connect(&address).expect("the server listens");
    client.write_all(b"GET / HTTP/1.0\r\n\r\n").expect("a request");
    let mut reply = String::new();
    client.read_to_string(&mut reply).expect("a reply");
    assert!(reply.ends_with("hello"), "{reply}");
    let id = install.only_run();
    let processes = processes(&install, &id);
    assert!(processes.len() >= 4, "npm, the server and its two workers: {processes:?}");
    install.ask_to_cancel(&[&id]);
    assert_eq!(run.code(), 123, "{}", run.err());
    assert_gone(&processes);
    assert!(TcpStream::connect(&address).is_err(), "no process listens");
    install.assert_ended_cleanly(&id);
}

#[test]
fn a_parallel_build_gives_its_code_and_all_of_its_output() {
    let install = Install::new();
    let rules = (0..40).map(|n| format!("t{n}:\n\t@echo built {n}\n")).collect::<Vec<_>>().concat();
    let all = (0..40).map(|n| format!(" t{n}")).collect::<Vec<_>>().concat();
    fs::write(install.dir().join("Makefile"), format!("all:{all}\n{rules}bad:\n\t@exit 3\n")).expect("write");
    let output = install.tenure(&["run", "--quiet", "--", "make", "-j4", "all"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 40);
    assert_eq!(install.tenure(&["run", "--quiet", "--", "make", "-j4", "all", "bad"]).status.code(), Some(2));
    install.assert_no_process_left();
}

#[test]
fn a_cancelled_parallel_build_leaves_no_job() {
    for install in [Install::new(), Install::new().unprivileged().without_cgroup()] {
        let rules = (0..4)
            .map(|n| format!("t{n}:\n\t@echo job {n}; sleep 1000; true\n"))
            .collect::<Vec<_>>()
            .concat();
        fs::write(install.dir().join("Makefile"), format!("all: t0 t1 t2 t3\n{rules}")).expect("write");
        let id = install.start_in_background(&["--grace", "1s"], &["make", "-j4"]);
        let mut follower = install.start(&["logs", "-f", &id]);
        (0..4).for_each(|n| follower.wait_for(&format!("job {n}\n")));
        let processes = processes(&install, &id);
        assert!(processes.len() >= 5, "{processes:?}");
        install.cancel(&id);
        assert_gone(&processes);
        assert_eq!(install.assert_ended_cleanly(&id)["reason"], "manual-cancel");
    }
}

/// A helper that starts a browser in a session of its own and prints when it is ready; then it runs `after`.
fn browser(install: &Install, after: &str) -> String {
    let helper = format!(
        "import subprocess, sys, time
browser = subprocess.Popen(['chromium', '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage',
    '--remote-debugging-port=0', '--user-data-dir={}/profile', 'about:blank'],
    start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
for line in browser.stderr:
    if b'DevTools listening' in line:
        break
else:
    sys.exit('no browser')
print('browser ready', flush=True)
{after}
",
        install.dir().display()
    );
    let path = install.dir().join("helper.py");
    fs::write(&path, helper).expect("write");
    path.to_str().expect("UTF-8").to_owned()
}

/// The processes of a browser that is ready.
fn browser_processes(install: &Install, id: &str) -> Vec<(i32, u64)> {
    eventually("several browser processes", || {
        let processes = processes(install, id);
        (processes.len() >= 6).then_some(processes)
    })
}

#[test]
fn a_browser_started_by_a_detached_helper_is_gone_when_its_run_is_cancelled() {
    for install in [Install::new(), Install::new().without_cgroup()] {
        let helper = browser(&install, "time.sleep(1000)");
        let mut run = install.start(&["run", "--grace", "2s", "--", "python3", &helper]);
        run.wait_for("browser ready\n");
        let id = install.only_run();
        let processes = browser_processes(&install, &id);
        install.ask_to_cancel(&[&id]);
        assert_eq!(run.code(), 123, "{}", run.err());
        assert_gone(&processes);
        install.assert_ended_cleanly(&id);
    }
}

#[test]
fn a_browser_whose_helper_is_gone_is_an_escape_and_is_ended() {
    let install = Install::new();
    // The helper exits on request, and leaves its browser behind.
    let helper = browser(&install, "sys.stdin.readline(); import os; os._exit(0)");
    let id = install.start_in_background(&["--grace", "2s", "--stdin", "open"], &["python3", &helper]);
    install.wait_for_output(&id, "browser ready\n");
    let processes = browser_processes(&install, &id);
    assert!(install.tenure(&["write", &id, "go\n"]).status.success());
    assert_eq!(install.wait(&id), 122);
    assert_gone(&processes);
    let ending = install.assert_ended_cleanly(&id);
    let escapees = ending["escapees"].as_array().expect("a list");
    let named =
        |escapee: &serde_json::Value| escapee["exe"].as_str().is_some_and(|exe| exe.contains("chromium"));
    assert!(escapees.iter().any(named), "{ending}");
}
