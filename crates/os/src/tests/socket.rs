use crate::file::Dir;
use crate::poll::{self, Interest};
use crate::socket::{Conn, Got, Listener, Passing};
use std::time::Duration;

const PATIENCE: Option<Duration> = Some(Duration::from_secs(20));

fn bytes(conn: &Conn) -> Vec<u8> {
    let mut buffer = [0; 64];
    match conn.read(&mut buffer).unwrap() {
        Got::Bytes(n) => buffer[..n].to_vec(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_socket_lives_in_a_directory_whose_path_is_longer_than_an_address() {
    let base = tempfile::tempdir().unwrap();
    let long = base.path().join("x".repeat(100)).join("y".repeat(100));
    std::fs::create_dir_all(&long).unwrap();
    assert!(long.as_os_str().len() > 108);
    let dir = Dir::open(&long).unwrap();
    let listener = Listener::bind(&dir, "ctl.sock").unwrap();
    assert!(listener.accept().unwrap().is_none(), "nobody called");
    let theirs = Conn::connect(&dir, "ctl.sock").unwrap();
    let ours = listener.accept().unwrap().expect("a caller");
    assert_eq!(theirs.write(b"hello").unwrap(), 5);
    assert_eq!(bytes(&ours), b"hello");
}

#[test]
fn a_socket_without_a_listener_refuses() {
    let base = tempfile::tempdir().unwrap();
    let dir = Dir::open(base.path()).unwrap();
    assert_eq!(Conn::connect(&dir, "s").unwrap_err().kind(), std::io::ErrorKind::NotFound);
    drop(Listener::bind(&dir, "s").unwrap());
    assert_eq!(Conn::connect(&dir, "s").unwrap_err().kind(), std::io::ErrorKind::ConnectionRefused);
}

#[test]
fn a_listener_that_takes_nobody_in_keeps_nobody_waiting() {
    let base = tempfile::tempdir().unwrap();
    let dir = Dir::open(base.path()).unwrap();
    let _listener = Listener::bind(&dir, "s").unwrap();
    crate::descriptors::raise_limit();
    let mut waiting = Vec::new();
    let error = loop {
        match Conn::connect(&dir, "s") {
            Ok(conn) => waiting.push(conn),
            Err(error) => break error,
        }
        assert!(waiting.len() < 5000, "the queue of callers is bounded");
    };
    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
    assert!(error.to_string().contains("does not answer"), "{error}");
}

#[test]
fn a_connection_comes_with_the_first_byte() {
    let (a, b) = Conn::pair().unwrap();
    let (near, far) = Conn::pair().unwrap();
    let own = std::process::id().cast_signed();
    assert_eq!(Passing::to(a, own).send(b"take it", Some(&far)).unwrap(), 7);
    drop(far);
    let mut buffer = [0; 64];
    let (got, passed) = Passing::from(b).receive(&mut buffer).unwrap();
    assert_eq!((got, &buffer[..7]), (Got::Bytes(7), &b"take it"[..]));
    let passed = passed.expect("a connection");
    passed.write(b"x").unwrap();
    assert_eq!(bytes(&near), b"x");
    drop(passed);
    assert_eq!(near.read(&mut buffer).unwrap(), Got::End, "no other copy of it is open");
}

#[test]
fn reading_and_writing_never_wait_and_a_gone_reader_is_an_error() {
    let (a, b) = Conn::pair().unwrap();
    assert_eq!(a.read(&mut [0; 8]).unwrap(), Got::Nothing);
    let chunk = vec![7; 1 << 16];
    let mut sent = 0;
    loop {
        match a.write(&chunk).unwrap() {
            0 => break,
            n => sent += n,
        }
    }
    assert!(sent > 0);
    drop(b);
    assert!(a.write(b"x").is_err());
    // Unread data turns the end into a reset, which is an end all the same.
    assert_eq!(a.read(&mut [0; 8]).unwrap(), Got::End);
}

/// Returns true if there is something to read within this time.
fn readable(conn: &Conn, patience: Option<Duration>) -> bool {
    poll::wait(&[Interest::reading(conn)], patience).unwrap()[0].read
}

#[test]
fn what_comes_wakes_whoever_waits_for_as_long_as_it_is_not_read() {
    let (a, b) = Conn::pair().unwrap();
    let now = Some(Duration::ZERO);
    assert!(!readable(&b, now), "nothing was written");
    let writer = std::thread::spawn(move || {
        a.write(b"one").unwrap();
        a
    });
    assert!(readable(&b, PATIENCE));
    let a = writer.join().unwrap();
    let mut some = [0; 2];
    assert_eq!(b.read(&mut some).unwrap(), Got::Bytes(2));
    assert!(readable(&b, now), "one byte is left");
    assert_eq!((bytes(&b), some), (b"e".to_vec(), *b"on"));
    assert!(!readable(&b, now), "everything was read");
    assert_eq!(b.read(&mut some).unwrap(), Got::Nothing);
    a.write(b"two").unwrap();
    drop(a);
    assert!(readable(&b, PATIENCE));
    assert_eq!(bytes(&b), b"two", "what was written before the end is there");
    assert!(readable(&b, PATIENCE), "the end is something to read");
    assert_eq!(b.read(&mut some).unwrap(), Got::End);
}

#[test]
fn a_full_connection_wakes_the_writer_when_there_is_room_and_loses_nothing() {
    let (a, b) = Conn::pair().unwrap();
    let all: Vec<u8> = (0..1_000_000_u32).map(|n| n.to_le_bytes()[0] ^ n.to_le_bytes()[1]).collect();
    let sent = all.clone();
    let writer = std::thread::spawn(move || {
        let mut at = 0;
        while at < sent.len() {
            match a.write(&sent[at..]).unwrap() {
                0 => {
                    let ready = poll::wait(&[Interest::writing(&a)], PATIENCE).unwrap();
                    assert!(ready[0].write, "nobody reads");
                }
                n => at += n,
            }
        }
    });
    let (mut got, mut buffer) = (Vec::new(), vec![0; 10_000]);
    loop {
        match b.read(&mut buffer).unwrap() {
            Got::Bytes(n) => got.extend_from_slice(&buffer[..n]),
            Got::Nothing => assert!(readable(&b, PATIENCE), "nobody writes"),
            Got::End => break,
        }
    }
    writer.join().unwrap();
    assert!(got == all);
}

#[test]
fn a_caller_wakes_the_listener_and_is_who_it_says() {
    let base = tempfile::tempdir().unwrap();
    let dir = Dir::open(base.path()).unwrap();
    let listener = Listener::bind(&dir, "s").unwrap();
    let awaited = |patience| poll::wait(&[Interest::reading(&listener)], patience).unwrap()[0].read;
    assert!(!awaited(Some(Duration::ZERO)), "nobody called");
    let callers: Vec<Conn> = (0..3).map(|_| Conn::connect(&dir, "s").unwrap()).collect();
    for caller in &callers {
        assert!(awaited(PATIENCE));
        let ours = listener.accept().unwrap().expect("a caller");
        ours.write(b"hello").unwrap();
        assert!(readable(caller, PATIENCE), "they are taken in as they came");
        let peer = peer_of(&ours);
        assert!(!peer.is_foreign());
        assert_eq!(peer.pid, Some(std::process::id().cast_signed()));
        assert!(peer.ancestors().expect("it lives").contains(&std::process::id().cast_signed()));
    }
    assert!(listener.accept().unwrap().is_none());
    assert!(!awaited(Some(Duration::ZERO)), "everybody was taken in");
}

#[cfg(unix)]
#[test]
fn a_caller_that_exited_before_it_was_identified_has_no_ancestors_to_be_judged_by() {
    let base = tempfile::tempdir().unwrap();
    let listener = Listener::bind(&Dir::open(base.path()).unwrap(), "s").unwrap();
    let mut caller = super::role::start(&format!("call {}", base.path().display()));
    caller.child.wait().expect("it exits by itself");
    let ours = listener.accept().unwrap().expect("a caller");
    let why = peer_of(&ours).ancestors().unwrap_err();
    assert!(why.contains("exited before the daemon could identify it"), "{why}");
}

#[cfg(unix)]
fn peer_of(conn: &Conn) -> crate::socket::Peer {
    use rustix::fd::AsFd;
    crate::socket::peer(conn.as_fd()).unwrap()
}

#[cfg(windows)]
fn peer_of(conn: &Conn) -> crate::socket::Peer {
    crate::socket::peer(conn).unwrap()
}

#[test]
fn a_name_that_is_taken_is_refused() {
    let base = tempfile::tempdir().unwrap();
    let dir = Dir::open(base.path()).unwrap();
    let _listener = Listener::bind(&dir, "s").unwrap();
    assert_eq!(Listener::bind(&dir, "s").unwrap_err().kind(), std::io::ErrorKind::AddrInUse);
}

#[test]
fn connections_pass_in_order_each_with_its_piece_however_the_bytes_are_cut() {
    let (a, b) = Conn::pair().unwrap();
    let (to, from) = (Passing::to(a, std::process::id().cast_signed()), Passing::from(b));
    let pairs: Vec<(Conn, Conn)> = (0..3).map(|_| Conn::pair().unwrap()).collect();
    for (at, (_, far)) in (b'0'..).zip(&pairs) {
        assert_eq!(to.send(&[at, b'a', b'b'], Some(far)).unwrap(), 3);
    }
    assert_eq!(to.send(b"end", None).unwrap(), 3);
    let (mut text, mut passed) = (Vec::new(), Vec::new());
    while text.len() < 12 {
        assert!(readable(from.conn(), PATIENCE), "{text:?}");
        let mut two = [0; 2];
        if let (Got::Bytes(n), conn) = from.receive(&mut two).unwrap() {
            text.extend_from_slice(&two[..n]);
            passed.extend(conn);
        }
    }
    assert_eq!(text, b"0ab1ab2abend");
    assert_eq!(passed.len(), 3);
    for ((near, far), passed) in pairs.into_iter().zip(passed) {
        drop(far);
        passed.write(b"x").unwrap();
        assert_eq!(bytes(&near), b"x");
        drop(passed);
        assert_eq!(near.read(&mut [0; 1]).unwrap(), Got::End);
    }
}

#[test]
fn what_does_not_fit_is_passed_once_when_it_is_sent_again() {
    let (a, b) = Conn::pair().unwrap();
    let (to, from) = (Passing::to(a, std::process::id().cast_signed()), Passing::from(b));
    let chunk = vec![7; 1 << 14];
    let mut sent = 0;
    loop {
        match to.send(&chunk, None).unwrap() {
            0 => break,
            n => sent += n,
        }
    }
    // The unsent rest is sent again unchanged, and then the connection follows.
    let (near, far) = Conn::pair().unwrap();
    let (mut got, mut passed, mut buffer) = (0, Vec::new(), vec![0; 1 << 13]);
    let mut rest: Vec<(&[u8], Option<&Conn>)> = vec![(&chunk, None), (b"x", Some(&far))];
    while got < sent + chunk.len() + 1 {
        if let Some((bytes, conn)) = rest.first().copied() {
            match to.send(bytes, conn).unwrap() {
                0 => {}
                n if n == bytes.len() => drop(rest.remove(0)),
                n => rest[0].0 = &bytes[n..],
            }
        }
        if let (Got::Bytes(n), conn) = from.receive(&mut buffer).unwrap() {
            got += n;
            passed.extend(conn);
        }
    }
    assert_eq!(passed.len(), 1);
    drop((far, passed));
    assert_eq!(near.read(&mut [0; 1]).unwrap(), Got::End, "there was one copy");
}
