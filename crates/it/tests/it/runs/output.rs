//! Output is the command's own, byte for byte, live and stored, for any reader at any speed.

use std::io::{IoSliceMut, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::process::Stdio;
use tenure_it::child_program::ChildProgram;
use tenure_it::eventually;
use tenure_it::install::{Install, actor};

/// Every byte value, many times over, never in blocks of a round size.
fn binary(seed: usize) -> Vec<u8> {
    (0..300_007).map(|at| u8::try_from((at * (at / 251 + seed)) % 256).expect("a byte")).collect()
}

/// 64-bit FNV-1a of all input, read in pieces of this size.
fn hash(from: &mut impl Read, piece: usize) -> (usize, u64) {
    let (mut count, mut hash) = (0, 0xcbf2_9ce4_8422_2325_u64);
    let mut buffer = vec![0; piece];
    loop {
        let n = from.read(&mut buffer).expect("readable");
        if n == 0 {
            return (count, hash);
        }
        count += n;
        hash = buffer[..n]
            .iter()
            .fold(hash, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    }
}

/// The hash of the actor's own output.
#[expect(clippy::disallowed_methods, reason = "the same program without Tenure, to compare with")]
fn hash_of_fill(bytes: &str) -> (usize, u64) {
    let mut child = std::process::Command::new(actor())
        .args(["fill", bytes])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the actor");
    let hashed = hash(child.stdout.as_mut().expect("piped"), 1 << 16);
    child.wait().expect("wait");
    hashed
}

#[test]
fn both_streams_are_byte_exact_and_separate() {
    let install = Install::new();
    let (out, err) = (binary(3), binary(7));
    std::fs::write(install.dir().join("out"), &out).expect("write");
    std::fs::write(install.dir().join("err"), &err).expect("write");
    let output = install.tenure(&["run", "--quiet", "--", "sh", "-c", "cat out; cat err >&2"]);
    assert!(output.status.success());
    assert!(output.stdout == out, "{} bytes of {}", output.stdout.len(), out.len());
    assert!(output.stderr == err, "{} bytes of {}", output.stderr.len(), err.len());
    let id = install.only_run();
    assert!(install.logs(&["--stream", "stdout", &id]) == out);
    assert!(install.logs(&["--stream", "stderr", &id]) == err);
}

#[test]
fn half_a_character_is_passed_on_at_once_and_unchanged() {
    let install = Install::new();
    let actor = install.actor();
    let mut command = install.command(&["run", "--quiet", "--", &actor, "half-utf8"]);
    command.stdin(Stdio::piped());
    let mut run = ChildProgram::new(command);
    tenure_it::eventually("two bytes of four", || (run.out_bytes() == "🦀".as_bytes()[..2]).then_some(()));
    run.write(b"\n");
    assert_eq!((run.code(), run.out_bytes()), (0, "🦀".as_bytes().to_vec()));
    assert_eq!(install.logs(&[&install.only_run()]), "🦀".as_bytes());
}

#[test]
fn a_slow_reader_of_fifty_mebibytes_loses_no_byte() {
    // The log keeps less than one hundredth of it, so that the command has to wait for the reader.
    let install =
        Install::new().with_env("TENURE_OUTPUT_HEAD", "65536").with_env("TENURE_OUTPUT_TAIL", "262144");
    let actor = install.actor();
    let mut command = install.command(&["run", "--quiet", "--", &actor, "fill", "52428800"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("tenure starts");
    // Slow: three thousand bytes at a time, from the smallest possible pipe.
    let mut stdout = child.stdout.take().expect("piped");
    rustix::pipe::fcntl_setpipe_size(&stdout, 4096).expect("a small pipe");
    assert_eq!(hash(&mut stdout, 3000), hash_of_fill("52428800"));
    assert!(child.wait().expect("wait").success());
    let record = install.show(&install.only_run());
    let dropped = record["output"]["droppedBytes"].as_u64().expect("a number");
    assert!(dropped > 40 << 20, "the log was not small: {dropped}");
}

#[test]
fn a_reader_that_closes_the_pipe_cancels_the_run() {
    let install = Install::new();
    let actor = install.actor();
    let mut command = install.command(&["run", "--grace", "200ms", "--", &actor, "flood"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("tenure starts");
    let mut some = [0; 5000];
    child.stdout.take().expect("piped").read_exact(&mut some).expect("output");
    let status = tenure_it::eventually("the end of the caller", || child.try_wait().expect("wait"));
    assert_eq!(status.code(), Some(123));
    assert_eq!(install.assert_ended_cleanly(&install.only_run())["reason"], "manual-cancel");
}

#[test]
fn an_unread_run_ends_when_it_is_cancelled() {
    let install = Install::new();
    let actor = install.actor();
    let mut command = install.command(&["run", "--grace", "200ms", "--quiet", "--", &actor, "flood"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("tenure starts");
    let mut some = [0; 5000];
    child.stdout.as_mut().expect("piped").read_exact(&mut some).expect("output");
    // The pipe stays open and full.
    tenure_it::proc::send(child.id().cast_signed(), rustix::process::Signal::TERM);
    let status = tenure_it::eventually("the end of the caller", || child.try_wait().expect("wait"));
    assert_eq!(status.code(), Some(123));
    install.assert_ended_cleanly(&install.only_run());
}

#[test]
fn logs_prints_any_part_of_a_background_runs_output() {
    let install = Install::new();
    let id = install.start_in_background(
        &[],
        &["sh", "-c", "printf 'one\\ntwo\\n'; printf 'three\\n' >&2; printf 'four\\nfive'"],
    );
    assert_eq!(install.wait(&id), 0);
    let all = install.logs(&[&id]);
    assert_eq!(all.len(), 23, "{all:?}");
    for (offset, limit) in [(0, 5), (4, 4), (5, 1), (22, 10), (23, 10), (100, 10), (3, 0)] {
        let part = install.logs(&["--offset", &offset.to_string(), "--limit", &limit.to_string(), &id]);
        let expected: Vec<u8> = all.iter().skip(offset).take(limit).copied().collect();
        assert_eq!(part, expected, "{offset} {limit}");
    }
    assert_eq!(install.logs(&["--stream", "stdout", &id]), b"one\ntwo\nfour\nfive");
    assert_eq!(install.logs(&["--stream", "stderr", &id]), b"three\n");
    assert_eq!(install.logs(&["--stream", "stdout", "--tail", "2", &id]), b"four\nfive");
    assert_eq!(install.logs(&["--stream", "stdout", "--limit", "5", &id]), b"one\nt");
    assert_eq!(install.logs(&["--tail", "0", &id]), b"");
    assert_eq!(install.logs(&["--tail", "99", &id]), all);
}

#[test]
fn followed_logs_come_live_and_end_with_the_run() {
    let install = Install::new();
    let script = "echo one; read line; echo $line; exit 0";
    let id = install.start_in_background(&["--stdin", "open"], &["sh", "-c", script]);
    let mut follower = install.start(&["logs", "-f", &id]);
    follower.wait_for("one\n");
    assert!(install.show(&id)["termination"].is_null(), "the run continues while it is followed");
    assert!(install.tenure(&["write", &id, "two\n"]).status.success());
    assert_eq!(follower.code(), 0);
    assert_eq!(follower.out(), "one\ntwo\n");
    assert_eq!(install.wait(&id), 0);
}

#[test]
fn the_merged_log_keeps_the_order_in_which_lines_were_written() {
    let install = Install::new();
    let script = "echo one; read x; echo two >&2; read x; echo three; read x; echo four >&2";
    let mut command = install.command(&["run", "--quiet", "--", "sh", "-c", script]);
    command.stdin(Stdio::piped());
    let mut run = ChildProgram::new(command);
    run.wait_for("one\n");
    run.write(b"\n");
    eventually("two", || run.err().contains("two\n").then_some(()));
    run.write(b"\n");
    run.wait_for("three\n");
    run.write(b"\n");
    assert_eq!(run.code(), 0);
    assert_eq!(install.logs(&[&install.only_run()]), b"one\ntwo\nthree\nfour\n");
}

#[test]
fn fast_lines_of_both_streams_keep_their_order_within_each_stream() {
    let install = Install::new();
    let actor = install.actor();
    let output = install.tenure(&["run", "--quiet", "--", &actor, "interleave", "2000"]);
    let lines = |name: &str, from: usize| -> String {
        (from..2000).step_by(2).map(|n| format!("{name} {n}\n")).collect::<Vec<_>>().concat()
    };
    assert_eq!(String::from_utf8_lossy(&output.stdout), lines("out", 0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), lines("err", 1));
    let merged = String::from_utf8(install.logs(&[&install.only_run()])).expect("UTF-8");
    let only = |name: &str| -> String {
        merged.lines().filter(|l| l.starts_with(name)).map(|l| format!("{l}\n")).collect::<Vec<_>>().concat()
    };
    assert_eq!((only("out"), only("err")), (lines("out", 0), lines("err", 1)));
    assert_eq!(merged.lines().count(), 2000, "no line was cut in two by the other stream");
}

#[test]
fn a_stranger_that_holds_the_output_open_does_not_delay_the_end() {
    let install = Install::new();
    let path = install.dir().join("stranger");
    let stranger = UnixListener::bind(&path).expect("listen");
    let actor = install.actor();
    let mut run = install.start(&["run", "--", &actor, "pass-output", path.to_str().expect("UTF-8")]);
    let held = receive(&stranger);
    assert_eq!(run.code(), 0);
    let record = install.show(&install.only_run());
    assert_eq!(record["termination"]["outputOpen"], true, "{record}");
    assert_eq!(record["termination"]["reason"], "exit");
    let ms = |field: &str| record[field].as_u64().expect("a time");
    let waited = ms("endedAtMs") - ms("lastOutputAtMs");
    assert!((150..30_000).contains(&waited), "the rest of the output was awaited for {waited} ms");
    assert!(run.err().contains("still holds its output"), "{}", run.err());
    drop(held);
    install.assert_ended_cleanly(&install.only_run());
}

fn receive(listener: &UnixListener) -> OwnedFd {
    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
    let (conn, _) = listener.accept().expect("a connection");
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(&conn, &mut [IoSliceMut::new(&mut byte)], &mut message, RecvFlags::CMSG_CLOEXEC)
        .expect("a message");
    let passed = message.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    passed.expect("a descriptor")
}

#[test]
fn the_json_record_stands_on_a_line_of_its_own_after_the_output() {
    let install = Install::new();
    let output = install.tenure(&["run", "--quiet", "--json", "--", "printf", "no newline"]);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let (out, json) = text.split_once('\n').expect("two lines");
    assert_eq!(out, "no newline");
    let record: serde_json::Value = serde_json::from_str(json).expect("JSON");
    assert_eq!(record, install.show(&install.only_run()));
    assert_eq!(record["output"]["bytes"], 10);
}

#[test]
fn the_ending_is_one_line_on_stderr_unless_quiet() {
    let install = Install::new();
    let output = install.tenure(&["run", "--", "sh", "-c", "exit 3"]);
    let err = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!((err.lines().count(), err.contains("exit 3")), (1, true), "{err}");
    assert_eq!(install.tenure(&["run", "--quiet", "--", "true"]).stderr, b"");
}

#[test]
fn logs_are_printed_as_text_with_times_or_as_json() {
    let install = Install::new();
    let script = r"printf '\033[1mbold\033[0m\007\r\n'; read x; printf 'err\n' >&2; read x; printf '\303'; read x; printf '\251\n'";
    let id = install.start_in_background(&["--stdin", "open"], &["sh", "-c", script]);
    for so_far in [b"bold".as_slice(), b"err\n", b"\xc3"] {
        eventually("its output", || {
            install.logs(&[&id]).windows(so_far.len()).any(|part| part == so_far).then_some(())
        });
        assert!(install.tenure(&["write", &id, "\n"]).status.success());
    }
    assert_eq!(install.wait(&id), 0);
    assert_eq!(String::from_utf8_lossy(&install.logs(&["--text", &id])), "bold\\x07\nerr\né\n");
    assert_eq!(install.logs(&["--text", "--follow", "--tail", "1", &id]), "é\n".as_bytes());
    assert_eq!(install.logs(&["--text", "--stream", "stderr", &id]), b"err\n");
    assert_eq!(install.logs(&["--text", "--offset", "4", "--limit", "2", &id]), b"bo");
    let stamped = install.logs(&["--timestamps", "--utc", "--stream", "stderr", &id]);
    let stamped = String::from_utf8(stamped).expect("text");
    let (time, rest) = stamped.split_once(' ').expect("a time");
    assert_eq!((time.len(), &time[10..11], &time[23..], rest), (24, "T", "Z", "err\n"));
    let pieces = install.logs(&["--json", &id]);
    let pieces: Vec<serde_json::Value> = pieces
        .split_inclusive(|&b| b == b'\n')
        .map(|line| serde_json::from_slice(line).expect("JSON"))
        .collect();
    assert_eq!(pieces[0]["offset"], 0);
    assert_eq!(pieces[0]["text"], "\u{1b}[1mbold\u{1b}[0m\u{7}\r\n");
    assert_eq!((&pieces[1]["stream"], &pieces[1]["text"]), (&"stderr".into(), &"err\n".into()));
    assert!(pieces.iter().all(|piece| piece["atMs"].as_u64().is_some_and(|at| at > 1_600_000_000_000)));
}
