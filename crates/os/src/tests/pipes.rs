use super::job::{SOON, end_of, own_plan, start, unbounded};
use crate::io_result::{Got, Put};
use crate::poll::{self, Interest};
use crate::root::Root;
use crate::stdio::{Ours, Sink, Source, Stdio};
use tenure_core::ending::Exit;

/// Reads what is available; `false` at the end.
fn drain(from: &Source, into: &mut Vec<u8>) -> bool {
    let mut buffer = vec![0; 10_000];
    loop {
        match from.read(&mut buffer) {
            Got::Bytes(n) => into.extend_from_slice(&buffer[..n]),
            Got::Nothing => return true,
            Got::End => return false,
        }
    }
}

/// Starts a role, and returns our ends of its pipes.
fn play(role: &str, fed: bool) -> (Root, Option<Sink>, Source, Source) {
    let stdio = Stdio::pipes(fed).expect("pipes");
    let (job, plan) = (unbounded(), own_plan(role));
    let root = start(&plan, &stdio, &job).expect("a root").release().expect("it runs").0;
    let Ours::Pipes { stdin, stdout, stderr } = stdio.into_ours() else { unreachable!() };
    (root, stdin, stdout, stderr)
}

#[test]
fn a_megabyte_goes_through_a_root_and_back_and_nobody_waits_for_the_other() {
    let (root, mut input, stdout, stderr) = play("echo", true);
    let sent: Vec<u8> = (0_u32..1 << 20).map(|n| (n % 251).to_le_bytes()[0]).collect();
    let mut rest = &sent[..];
    let (mut said, mut back) = (Vec::new(), Vec::new());
    let deadline = crate::clock::awake() + SOON;
    let (mut out, mut err) = (true, true);
    while out || err {
        assert!(crate::clock::awake() < deadline, "{} of {} came back", back.len(), sent.len());
        (out, err) = (out && drain(&stdout, &mut said), err && drain(&stderr, &mut back));
        while let Some(sink) = &input {
            match sink.write(rest) {
                Put::Bytes(0) if rest.is_empty() => input = None,
                Put::Bytes(0) => break,
                Put::Bytes(n) => rest = &rest[n..],
                Put::Closed => panic!("it reads"),
            }
        }
        let mut interests = Vec::new();
        interests.extend(out.then(|| Interest::reading(&stdout)));
        interests.extend(err.then(|| Interest::reading(&stderr)));
        interests.extend(input.as_ref().map(Interest::writing));
        poll::wait(&interests, Some(SOON)).expect("a wait");
    }
    assert!(back == sent, "{} of {} bytes came back as they went", back.len(), sent.len());
    assert_eq!(end_of(&root), Exit::Code(0));
}

#[test]
fn an_input_that_nobody_writes_is_empty() {
    let (root, _none, _out, _err) = play("wait", false);
    assert_eq!(end_of(&root), Exit::Code(0), "it has seen the end of its input");
}

#[test]
fn a_reader_that_is_gone_is_told_to_the_writer() {
    let stdio = Stdio::pipes(true).expect("pipes");
    let Ours::Pipes { stdin, stdout, .. } = stdio.into_ours() else { unreachable!() };
    assert_eq!(stdin.expect("a sink").write(b"x"), Put::Closed);
    assert_eq!(stdout.read(&mut [0; 8]), Got::End);
}
