use crate::file::Dir;
use crate::socket::{Conn, Got, Listener, Passing};

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
    assert_eq!(ours.peer_uid().unwrap(), rustix::process::geteuid().as_raw());
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
    let mut waiting = Vec::new();
    let error = loop {
        match Conn::connect(&dir, "s") {
            Ok(conn) => waiting.push(conn),
            Err(error) => break error,
        }
        assert!(waiting.len() < 1000, "the queue of callers is bounded");
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
    assert!(
        rustix::io::fcntl_getfd(&passed).unwrap().contains(rustix::io::FdFlags::CLOEXEC),
        "it is for us alone"
    );
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
    // What was never read makes the end a reset, which is an end all the same.
    assert_eq!(a.read(&mut [0; 8]).unwrap(), Got::End);
}
