#![allow(clippy::all, clippy::pedantic, missing_docs)]
use std::path::Path;
use std::time::Duration;
use tenure_core::spec::*;
use tenure_core::wire::{Ask, Role, Tell};
use tenure_keeper::{launch::*, nursery, state_root::StateRoot};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    match args.get(1).map(String::as_str) {
        Some("nursery") => nursery::main(&args[2].parse().unwrap(), Path::new(&args[3])).unwrap(),
        Some("keeper") => {
            let code = tenure_keeper::keeper_main(&args[2].parse().unwrap()).unwrap();
            std::process::exit(code.into());
        }
        Some("tree") => {
            let n: i32 = args[2].parse().unwrap();
            println!("up {} {n}", std::process::id());
            let _c = (n > 0).then(|| {
                std::process::Command::new(std::env::current_exe().unwrap())
                    .args(["tree", &(n - 1).to_string()])
                    .spawn()
                    .unwrap()
            });
            std::thread::sleep(Duration::from_secs(60));
        }
        Some("exit") => {
            println!("bye");
            std::process::exit(args[2].parse().unwrap())
        }
        Some("cat") => {
            let n = std::io::copy(&mut std::io::stdin(), &mut std::io::stdout()).unwrap();
            eprintln!("copied {n}");
        }
        _ => run(&args),
    }
}
fn run(args: &[String]) {
    let dir = std::env::temp_dir().join("trial-state");
    let state = StateRoot::open(&dir).unwrap();
    let nursery = Nursery::start(&state).unwrap();
    let words: Vec<Vec<u8>> = args[2..].iter().map(|w| w.clone().into_bytes()).collect();
    let argv = Argv::new(words).unwrap();
    let env = std::env::vars().map(|(a, b)| format!("{a}={b}").into_bytes()).collect();
    let transport = if args[1] == "pty" {
        Transport::Pty { command: PtyCommand::Argv(argv), size: Size::new(80, 24).unwrap() }
    } else {
        Transport::Pipes { command: argv, stdin: false }
    };
    let spec = Spec {
        session: None,
        scope: None,
        label: None,
        transport,
        cwd: std::env::current_dir().unwrap().to_str().unwrap().as_bytes().to_vec(),
        env,
        env_names: vec![],
        umask: 0,
        nofile: None,
        limits: Default::default(),
        resources: Default::default(),
        on_escape: OnEscape::Reap,
        orphan: Orphan::default(),
    };
    let t = std::time::Instant::now();
    let mut launched = nursery
        .run(&state, &spec, &Terms { backend: "trial", cgroup: true, keep: Default::default() }, Role::Caller)
        .unwrap();
    println!("launched {:?}", t.elapsed());
    loop {
        let (tell, _): (Tell, _) = match launched.keeper.receive(Duration::from_secs(20)) {
            Ok(t) => t,
            Err(e) => {
                println!("broken: {e:?}");
                break;
            }
        };
        println!("{:?} {tell:?}", t.elapsed());
        if let Tell::Grown { to } = tell {
            launched.keeper.send(&Ask::Taken { to }, &[]);
            if args[1] == "cancel" {
                launched.keeper.send(&Ask::Cancel { now: false }, &[]);
            }
        }
        if matches!(tell, Tell::Ended { .. } | Tell::Refused { .. }) {
            break;
        }
    }
    std::thread::sleep(Duration::from_secs(3));
    println!(
        "output: {:?}",
        std::fs::read_dir(launched.dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect::<Vec<_>>()
    );
    println!("ending: {:?}", launched.dir.ending());
    println!("journal: {:#?}", launched.dir.journal());
}
