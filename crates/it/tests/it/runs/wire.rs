//! The keeper's socket, spoken to in bytes: what the first version said is understood for ever, and whoever speaks
//! it hears nothing newer.

use serde_json::{Value, json};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use tenure_core::ending::Cause;
use tenure_core::wire::{Ask, Role, Tell, VERSION};
use tenure_it::PATIENCE;
use tenure_it::crib::{Warm, hear, owner_of, wait_written};
use tenure_it::install::Install;
use tenure_keeper::frames::Frames;
use tenure_keeper::rundir::RunDir;

const HOLDER: Role = Role::Holder { epoch: 1 };

// As the first version sent them: these bytes are never edited.
const HELLO: &[u8] = b"\x35\0\0\0\0\0\0\0{\"ask\":\"hello\",\"version\":1,\"role\":\"holder\",\"epoch\":1}";
const FOLLOW: &[u8] = b"\x10\0\0\0\0\0\0\0{\"ask\":\"follow\"}";
const STATUS: &[u8] = b"\x10\0\0\0\0\0\0\0{\"ask\":\"status\"}";
const CANCEL: &[u8] = b"\x1c\0\0\0\0\0\0\0{\"ask\":\"cancel\",\"now\":false}";
/// What the first version said, beside what needs a terminal, a full disk or an empty command.
const TELLS_OF_ONE: [&str; 5] = ["welcome", "status", "done", "grown", "ended"];

/// A client that knows no version but the first.
struct Old(UnixStream);

impl Old {
    #[track_caller]
    fn connect(dir: &RunDir) -> Self {
        let stream = UnixStream::from(dir.dial().expect("a keeper").into_fd());
        stream.set_nonblocking(false).expect("it may wait");
        stream.set_read_timeout(Some(PATIENCE)).expect("not for ever");
        Self(stream)
    }

    #[track_caller]
    fn say(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).expect("the keeper listens");
    }

    /// The next head; `None` at the end.
    #[track_caller]
    fn hear(&mut self) -> Option<Value> {
        let mut prefix = [0; 8];
        self.0.read_exact(&mut prefix).ok()?;
        let [a, b, c, d, ..] = prefix;
        assert_eq!(prefix[4..], [0; 4], "no body");
        let mut head = vec![0; u32::from_le_bytes([a, b, c, d]) as usize];
        self.0.read_exact(&mut head).expect("a whole head");
        Some(serde_json::from_slice(&head).expect("JSON"))
    }
}

#[track_caller]
fn dial(dir: &RunDir, role: Role) -> Frames {
    let mut frames = Frames::new(dir.dial().expect("a keeper"));
    let welcome = frames.hello(role, PATIENCE).expect("an answer");
    assert!(matches!(welcome, Tell::Welcome { version: VERSION, .. }), "{welcome:?}");
    frames
}

#[track_caller]
fn wait_started(keeper: &mut Frames) {
    hear(keeper, |tell| matches!(tell, Tell::Started { .. }).then_some(()));
}

/// What a keeper says until it has nothing more to say.
fn rest(keeper: &mut Frames) -> Vec<Tell> {
    std::iter::from_fn(|| keeper.receive::<Tell>(PATIENCE).ok().map(|(tell, _)| tell)).collect()
}

#[test]
fn a_client_of_the_first_version_is_understood_and_hears_nothing_newer() {
    let install = Install::new();
    let (dir, mut peers) = Warm::new(&install).launch(&["cat"], &[HOLDER]);
    wait_started(&mut peers[0]);
    // The old client has no identity, so the keeper accepts it only while nobody holds the run.
    drop(peers);
    let mut old = Old::connect(&dir);
    old.say(HELLO);
    assert_eq!(old.hear(), Some(json!({ "tell": "welcome", "version": 1, "runId": dir.id() })));
    old.say(FOLLOW);
    old.say(STATUS);
    let status = old.hear().expect("a status");
    assert_eq!(
        (&status["tell"], &status["state"], &status["stdinOpen"]),
        (&json!("status"), &json!("running"), &json!(true))
    );
    old.say(CANCEL);
    let heard: Vec<_> = std::iter::from_fn(|| old.hear()).collect();
    let tells: Vec<_> = heard.iter().map(|head| head["tell"].as_str().unwrap_or_default()).collect();
    assert!(tells.iter().all(|tell| TELLS_OF_ONE.contains(tell)), "{tells:?}");
    assert_eq!(tells.last(), Some(&"ended"));
}

#[test]
fn the_holder_is_told_that_the_run_leaves_and_how_it_ended_without_following() {
    let install = Install::new();
    let (dir, mut peers) = Warm::new(&install).launch(&["cat"], &[HOLDER]);
    wait_started(&mut peers[0]);
    let mut later = Frames::new(dir.dial().expect("a keeper"));
    let welcome = later.hello_as(HOLDER, Some(&owner_of(&dir)), PATIENCE).expect("an answer");
    assert!(matches!(welcome, Tell::Welcome { .. }), "{welcome:?}");
    let mut viewer = dial(&dir, Role::Viewer);
    let mut follower = dial(&dir, Role::Viewer);
    follower.send(&Ask::Follow, &[]);
    follower.send(&Ask::Cancel { now: false }, &[]);
    for holder in [&mut peers[0], &mut later] {
        let mut tells = rest(holder);
        // Each time that signals were noted.
        tells.retain(|tell| !matches!(tell, Tell::Noted));
        let [Tell::Leaving { cause: Some(Cause::ManualCancel), detail: None }, Tell::Ended { .. }] =
            &tells[..]
        else {
            panic!("{tells:?}");
        };
    }
    assert!(rest(&mut follower).iter().any(|tell| matches!(tell, Tell::Leaving { .. })));
    assert!(!rest(&mut viewer).iter().any(|tell| matches!(tell, Tell::Leaving { .. } | Tell::Noted)));
}

#[test]
fn a_command_that_ends_by_itself_leaves_without_a_cause() {
    let install = Install::new();
    let (_, mut peers) = Warm::new(&install).launch(&["true"], &[HOLDER]);
    let tells = rest(&mut peers[0]);
    let [Tell::Started { .. }, Tell::Leaving { cause: None, detail: None }, Tell::Ended { .. }] = &tells[..]
    else {
        panic!("{tells:?}");
    };
}

#[test]
fn one_that_no_longer_follows_hears_of_no_growth() {
    let install = Install::new();
    let (dir, mut peers) = Warm::new(&install).launch(&["cat"], &[HOLDER]);
    let holder = &mut peers[0];
    wait_started(holder);
    let mut viewer = dial(&dir, Role::Viewer);
    viewer.send(&Ask::Follow, &[]);
    holder.send(&Ask::Stdin { offset: 0, eof: false }, b"one");
    assert_eq!(hear(&mut viewer, |tell| if let Tell::Grown { to } = tell { Some(to) } else { None }), 3);
    viewer.send(&Ask::Unfollow, &[]);
    viewer.send(&Ask::Status, &[]);
    hear(&mut viewer, |tell| matches!(tell, Tell::Status { .. }).then_some(()));
    holder.send(&Ask::Stdin { offset: 3, eof: true }, b"two");
    assert!(!rest(&mut viewer).iter().any(|tell| matches!(tell, Tell::Grown { .. } | Tell::Leaving { .. })));
}

#[test]
fn a_newer_version_is_refused_and_the_connection_goes_on() {
    let install = Install::new();
    let (dir, mut peers) = Warm::new(&install).launch(&["cat"], &[HOLDER]);
    wait_started(&mut peers[0]);
    let mut newer = Frames::new(dir.dial().expect("a keeper"));
    newer.send(&Ask::Hello { version: VERSION + 1, role: Role::Viewer, holder: None }, &[]);
    hear(&mut newer, |tell| matches!(tell, Tell::Refused { .. }).then_some(()));
    let welcome = newer.hello(Role::Viewer, PATIENCE).expect("an answer");
    assert!(matches!(welcome, Tell::Welcome { .. }), "{welcome:?}");
    newer.send(&Ask::Cancel { now: true }, &[]);
    assert!(matches!(rest(&mut newer).last(), Some(Tell::Ended { .. })));
}

#[test]
fn the_status_says_the_epoch_and_why_the_run_ends() {
    let install = Install::new();
    // It ignores the request to leave and has long to follow it, so there is a moment to ask in.
    let actor = install.actor();
    let mut warm = Warm::new(&install);
    warm.limits.grace = 2 * PATIENCE;
    let (dir, mut peers) = warm.launch(&[&actor, "ignore-all", "sleep"], &[HOLDER]);
    wait_started(&mut peers[0]);
    wait_written(&mut peers[0], "ready ignore-all\n");
    let mut holder = Frames::new(dir.dial().expect("a keeper"));
    let welcome =
        holder.hello_as(Role::Holder { epoch: 5 }, Some(&owner_of(&dir)), PATIENCE).expect("an answer");
    assert!(matches!(welcome, Tell::Welcome { .. }), "{welcome:?}");
    let mut status = || {
        holder.send(&Ask::Status, &[]);
        hear(&mut holder, |tell| {
            if let Tell::Status { cause, epoch, .. } = tell { Some((cause, epoch)) } else { None }
        })
    };
    assert_eq!(status(), (None, Some(5)));
    dial(&dir, Role::Viewer).send(&Ask::Cancel { now: false }, &[]);
    tenure_it::eventually("the cause", || (status().0 == Some(Cause::ManualCancel)).then_some(()));
    dial(&dir, Role::Viewer).send(&Ask::Cancel { now: true }, &[]);
    assert!(matches!(rest(&mut holder).last(), Some(Tell::Ended { .. })));
}
