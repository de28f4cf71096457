use super::job::{SOON, own_plan, unbounded};
use crate::flow::{Got, Put};
use crate::spawn::start_root;
use crate::stdio::{Source, Stdio, wait};
use std::os::windows::io::AsHandle;
use tenure_core::ending::Exit;

/// Reads what there is now; `false` at its end.
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

#[test]
fn a_megabyte_goes_through_a_root_and_back_and_nobody_waits_for_the_other() {
    let job = unbounded();
    let stdio = Stdio::pipes(true).expect("pipes");
    let root =
        start_root(&own_plan("echo"), stdio.theirs(), &job).expect("a root").release().expect("it runs");
    let ours = stdio.into_ours();
    let sent: Vec<u8> = (0_u32..1 << 20).map(|n| (n % 251).to_le_bytes()[0]).collect();
    let (mut rest, mut input) = (&sent[..], ours.stdin);
    let (mut said, mut back) = (Vec::new(), Vec::new());
    let deadline = crate::clock::awake() + SOON;
    let (mut out, mut err) = (true, true);
    while out || err {
        assert!(crate::clock::awake() < deadline, "{} of {} came back", back.len(), sent.len());
        (out, err) = (out && drain(&ours.stdout, &mut said), err && drain(&ours.stderr, &mut back));
        if let Some(sink) = &input {
            match sink.write(rest) {
                Put::Bytes(n) => rest = &rest[n..],
                Put::Closed => panic!("it reads"),
            }
            if rest.is_empty() && sink.is_idle() {
                input = None;
            }
        }
        let mut sets = Vec::new();
        sets.extend(out.then(|| ours.stdout.waitable().expect("a handle")));
        sets.extend(err.then(|| ours.stderr.waitable().expect("a handle")));
        sets.extend(input.as_ref().map(|sink| sink.waitable().expect("a handle")));
        let sets: Vec<_> = sets.iter().map(AsHandle::as_handle).collect();
        if !sets.is_empty() {
            wait(&sets, SOON).expect("a wait").expect("something happens");
        }
    }
    assert!(back == sent, "{} of {} bytes came back as they went", back.len(), sent.len());
    assert!(root.wait(SOON).expect("a wait"));
    assert_eq!(root.exit().expect("an exit"), Some(Exit::Code(0)));
}

#[test]
fn an_input_that_nobody_writes_is_empty() {
    let job = unbounded();
    let stdio = Stdio::pipes(false).expect("pipes");
    let root =
        start_root(&own_plan("wait"), stdio.theirs(), &job).expect("a root").release().expect("it runs");
    let _ours = stdio.into_ours();
    assert!(root.wait(SOON).expect("a wait"), "it has seen the end of its input");
}

#[test]
fn a_reader_that_is_gone_is_told_to_the_writer() {
    let stdio = Stdio::pipes(true).expect("pipes");
    let ours = stdio.into_ours();
    assert_eq!(ours.stdin.expect("a sink").write(b"x"), Put::Closed);
    assert_eq!(ours.stdout.read(&mut [0; 8]), Got::End);
}
