//! Tests of asynchronous connections and listeners.

use crate::file::Dir;
use crate::socket::{Conn, Listener};
use crate::stream::{Door, Stream};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Runs a future on several threads, with a deadline.
fn run<T>(what: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let within = async { tokio::time::timeout(Duration::from_secs(30), what).await };
    runtime.block_on(within).expect("it is done in time")
}

fn pair() -> (Stream, Stream) {
    let (a, b) = Conn::pair().unwrap();
    (Stream::new(a).unwrap(), Stream::new(b).unwrap())
}

#[test]
fn what_goes_there_comes_back_and_nothing_is_lost() {
    run(async {
        let (mut a, mut b) = pair();
        let all: Vec<u8> = (0..3_000_000_u32).map(|n| n.to_le_bytes()[0] ^ n.to_le_bytes()[1]).collect();
        let echo = tokio::spawn(async move {
            let mut buffer = vec![0; 7_000];
            loop {
                match b.read(&mut buffer).await.unwrap() {
                    0 => return,
                    n => b.write_all(&buffer[..n]).await.unwrap(),
                }
            }
        });
        for piece in all.chunks(20_000) {
            a.write_all(piece).await.unwrap();
            let mut got = vec![0; piece.len()];
            a.read_exact(&mut got).await.unwrap();
            assert!(got == piece);
        }
        drop(a);
        echo.await.unwrap();
    });
}

#[test]
fn a_full_connection_holds_the_writer_up_until_it_is_read() {
    run(async {
        let (mut a, mut b) = pair();
        let writer = tokio::spawn(async move {
            a.write_all(&vec![7; 1_000_000]).await.unwrap();
            a.shutdown().await.unwrap();
        });
        let mut got = Vec::new();
        while b.read_onto(&mut got).await.unwrap() {}
        writer.await.unwrap();
        assert!(got.len() == 1_000_000 && got.iter().all(|&byte| byte == 7));
    });
}

#[test]
fn an_end_is_noticed_by_who_reads_and_by_who_only_waits_for_it() {
    run(async {
        let (a, mut b) = pair();
        let reader = tokio::spawn(async move { b.read(&mut [0; 8]).await.unwrap() });
        drop(a);
        assert_eq!(reader.await.unwrap(), 0);
        let (mut a, b) = pair();
        a.write_all(b"unread").await.unwrap();
        let waiting = tokio::spawn(async move {
            b.gone().await;
            b
        });
        tokio::task::yield_now().await;
        drop(a);
        let mut b = waiting.await.unwrap();
        let mut text = Vec::new();
        b.read_to_end(&mut text).await.unwrap();
        assert_eq!(text, b"unread", "nothing of it was read by waiting");
        let (a, b) = pair();
        let waiting = tokio::spawn(async move { b.gone().await });
        tokio::task::yield_now().await;
        drop(a);
        waiting.await.unwrap();
    });
}

#[test]
fn callers_are_taken_in_and_a_copy_goes_on_with_the_same_connection() {
    let base = tempfile::tempdir().unwrap();
    let dir = Dir::open(base.path()).unwrap();
    run(async {
        let door = Door::new(Listener::bind(&dir, "s").unwrap()).unwrap();
        let calling = tokio::spawn(async move {
            let mut callers = Vec::new();
            for at in 0..20_u8 {
                let mut caller = loop {
                    match Conn::connect(&dir, "s") {
                        Ok(conn) => break Stream::new(conn).unwrap(),
                        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock),
                    }
                };
                caller.write_all(&[at]).await.unwrap();
                callers.push(caller);
            }
            callers
        });
        let mut taken = Vec::new();
        for _ in 0..20 {
            let mut one = door.accept().await.unwrap();
            let peer = one.peer().unwrap();
            assert!(!peer.is_foreign() && !peer.user().is_empty() && !peer.to_string().is_empty());
            let who = one.read_u8().await.unwrap();
            let copy = one.copy().unwrap();
            drop(one);
            let mut again = Stream::new(copy).unwrap();
            again.write_all(&[who]).await.unwrap();
            taken.push(again);
        }
        for (at, mut caller) in (0..).zip(calling.await.unwrap()) {
            assert_eq!(caller.read_u8().await.unwrap(), at);
        }
    });
}
