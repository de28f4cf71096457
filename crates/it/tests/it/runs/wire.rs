//! The keeper's socket, tested in bytes: messages of the first version are understood for ever, and its clients get
//! nothing newer.

use serde_json::{Value, json};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use tenure_core::ending::Cause;
use tenure_core::wire::{KeeperMessage, KeeperRequest, Role, VERSION};
use tenure_it::WAIT_LIMIT;
use tenure_it::install::Install;
use tenure_it::nursery_fixture::{WarmNursery, hear, owner_of, wait_written};
use tenure_keeper::frames::Frames;
use tenure_keeper::rundir::RunDir;

const HOLDER: Role = Role::Holder { epoch: 1 };

// As the first version sent them: these bytes are never edited.
const HELLO: &[u8] = b"\x35\0\0\0\0\0\0\0{\"ask\":\"hello\",\"version\":1,\"role\":\"holder\",\"epoch\":1}";
const FOLLOW: &[u8] = b"\x10\0\0\0\0\0\0\0{\"ask\":\"follow\"}";
const STATUS: &[u8] = b"\x10\0\0\0\0\0\0\0{\"ask\":\"status\"}";
const CANCEL: &[u8] = b"\x1c\0\0\0\0\0\0\0{\"ask\":\"cancel\",\"now\":false}";
/// The messages of the first version, except those that need a terminal, a full disk or an empty command.
const TELLS_OF_ONE: [&str; 5] = ["welcome", "status", "done", "grown", "ended"];

/// A client of the first version only.
struct Old(UnixStream);

impl Old {
    #[track_caller]
    fn connect(dir: &RunDir) -> Self {
        let stream = UnixStream::from(dir.connect().expect("a keeper").into_fd());
        stream.set_nonblocking(false).expect("it may wait");
        stream.set_read_timeout(Some(WAIT_LIMIT)).expect("a time limit");
        Self(stream)
    }

    #[track_caller]
    fn say(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).expect("the keeper listens");
    }

    /// Reads the next head; `None` at the end.
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
    let mut frames = Frames::new(dir.connect().expect("a keeper"));
    let welcome = frames.hello(role, WAIT_LIMIT).expect("an answer");
    assert!(matches!(welcome, KeeperMessage::Welcome { version: VERSION, .. }), "{welcome:?}");
    frames
}

#[track_caller]
fn wait_started(keeper: &mut Frames) {
    hear(keeper, |tell| matches!(tell, KeeperMessage::Started { .. }).then_some(()));
}

/// Reads a keeper's messages to the end.
fn rest(keeper: &mut Frames) -> Vec<KeeperMessage> {
    std::iter::from_fn(|| keeper.receive::<KeeperMessage>(WAIT_LIMIT).ok().map(|(tell, _)| tell)).collect()
}

#[test]
fn a_version_1_client_is_understood_and_gets_no_newer_messages() {
    let install = Install::new();
    let (dir, mut peers) = WarmNursery::new(&install).launch(&["cat"], &[HOLDER]);
    wait_started(&mut peers[0]);
    // The old client has no identity, so the keeper accepts it only while the run has no holder.
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
fn a_holder_that_does_not_follow_still_gets_the_stop_and_the_ending() {
    let install = Install::new();
    let (dir, mut peers) = WarmNursery::new(&install).launch(&["cat"], &[HOLDER]);
    wait_started(&mut peers[0]);
    let mut later = Frames::new(dir.connect().expect("a keeper"));
    let welcome = later.hello_as(HOLDER, Some(&owner_of(&dir)), WAIT_LIMIT).expect("an answer");
    assert!(matches!(welcome, KeeperMessage::Welcome { .. }), "{welcome:?}");
    let mut viewer = dial(&dir, Role::Viewer);
    let mut follower = dial(&dir, Role::Viewer);
    follower.send(&KeeperRequest::Follow, &[]);
    follower.send(&KeeperRequest::Cancel { now: false }, &[]);
    for holder in [&mut peers[0], &mut later] {
        let mut tells = rest(holder);
        // Sent each time that signals were noted.
        tells.retain(|tell| !matches!(tell, KeeperMessage::Noted));
        let [
            KeeperMessage::Leaving { cause: Some(Cause::ManualCancel), detail: None },
            KeeperMessage::Ended { .. },
        ] = &tells[..]
        else {
            panic!("{tells:?}");
        };
    }
    assert!(rest(&mut follower).iter().any(|tell| matches!(tell, KeeperMessage::Leaving { .. })));
    assert!(
        !rest(&mut viewer)
            .iter()
            .any(|tell| matches!(tell, KeeperMessage::Leaving { .. } | KeeperMessage::Noted))
    );
}

#[test]
fn a_command_that_exits_by_itself_stops_without_a_cause() {
    let install = Install::new();
    let (_, mut peers) = WarmNursery::new(&install).launch(&["true"], &[HOLDER]);
    let tells = rest(&mut peers[0]);
    let [
        KeeperMessage::Started { .. },
        KeeperMessage::Leaving { cause: None, detail: None },
        KeeperMessage::Ended { .. },
    ] = &tells[..]
    else {
        panic!("{tells:?}");
    };
}

#[test]
fn a_client_that_stopped_following_gets_no_growth_messages() {
    let install = Install::new();
    let (dir, mut peers) = WarmNursery::new(&install).launch(&["cat"], &[HOLDER]);
    let holder = &mut peers[0];
    wait_started(holder);
    let mut viewer = dial(&dir, Role::Viewer);
    viewer.send(&KeeperRequest::Follow, &[]);
    holder.send(&KeeperRequest::Stdin { offset: 0, eof: false }, b"one");
    assert_eq!(
        hear(&mut viewer, |tell| if let KeeperMessage::Grown { to } = tell { Some(to) } else { None }),
        3
    );
    viewer.send(&KeeperRequest::Unfollow, &[]);
    viewer.send(&KeeperRequest::Status, &[]);
    hear(&mut viewer, |tell| matches!(tell, KeeperMessage::Status { .. }).then_some(()));
    holder.send(&KeeperRequest::Stdin { offset: 3, eof: true }, b"two");
    assert!(
        !rest(&mut viewer)
            .iter()
            .any(|tell| matches!(tell, KeeperMessage::Grown { .. } | KeeperMessage::Leaving { .. }))
    );
}

#[test]
fn a_newer_version_is_refused_and_the_connection_stays_open() {
    let install = Install::new();
    let (dir, mut peers) = WarmNursery::new(&install).launch(&["cat"], &[HOLDER]);
    wait_started(&mut peers[0]);
    let mut newer = Frames::new(dir.connect().expect("a keeper"));
    newer.send(&KeeperRequest::Hello { version: VERSION + 1, role: Role::Viewer, holder: None }, &[]);
    hear(&mut newer, |tell| matches!(tell, KeeperMessage::Refused { .. }).then_some(()));
    let welcome = newer.hello(Role::Viewer, WAIT_LIMIT).expect("an answer");
    assert!(matches!(welcome, KeeperMessage::Welcome { .. }), "{welcome:?}");
    newer.send(&KeeperRequest::Cancel { now: true }, &[]);
    assert!(matches!(rest(&mut newer).last(), Some(KeeperMessage::Ended { .. })));
}

#[test]
fn the_status_names_the_epoch_and_the_reason_of_the_stop() {
    let install = Install::new();
    // The actor ignores SIGTERM and has a long grace, so there is time for a request.
    let actor = install.actor();
    let mut warm = WarmNursery::new(&install);
    warm.limits.grace = 2 * WAIT_LIMIT;
    let (dir, mut peers) = warm.launch(&[&actor, "ignore-all", "sleep"], &[HOLDER]);
    wait_started(&mut peers[0]);
    wait_written(&mut peers[0], "ready ignore-all\n");
    let mut holder = Frames::new(dir.connect().expect("a keeper"));
    let welcome =
        holder.hello_as(Role::Holder { epoch: 5 }, Some(&owner_of(&dir)), WAIT_LIMIT).expect("an answer");
    assert!(matches!(welcome, KeeperMessage::Welcome { .. }), "{welcome:?}");
    let mut status = || {
        holder.send(&KeeperRequest::Status, &[]);
        hear(&mut holder, |tell| {
            if let KeeperMessage::Status { cause, epoch, .. } = tell { Some((cause, epoch)) } else { None }
        })
    };
    assert_eq!(status(), (None, Some(5)));
    dial(&dir, Role::Viewer).send(&KeeperRequest::Cancel { now: false }, &[]);
    tenure_it::eventually("the cause", || (status().0 == Some(Cause::ManualCancel)).then_some(()));
    dial(&dir, Role::Viewer).send(&KeeperRequest::Cancel { now: true }, &[]);
    assert!(matches!(rest(&mut holder).last(), Some(KeeperMessage::Ended { .. })));
}
